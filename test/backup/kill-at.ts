// Creates or restores a backup in a process that kills itself with SIGKILL at the first matching progress line.
import { createBackup } from "../../src/backup/create.ts";
import { restoreBackup } from "../../src/backup/restore.ts";
import { askFor } from "./fixture.ts";

const [what = "", from = "", to = "", pattern = ""] = process.argv.slice(2);
const at = new RegExp(pattern);
const going = {
  report: (line: string) => {
    if (at.test(line)) process.kill(process.pid, "SIGKILL");
  },
  throwIfStopped: () => undefined,
};
if (what === "create") createBackup(askFor(from, to, { aheadMs: 0 }), going);
else restoreBackup({ path: from, to, dryRun: false, networkDisk: false }, going);
