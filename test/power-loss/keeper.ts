// Stores result files, and kills itself as soon as the first one is reported as stored.
import { mkdirSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createLocalStorage, pathOfFile } from "../../src/files/local.ts";

const [dir = "", how = ""] = process.argv.slice(2);

/** Ids whose files lie in one directory. */
const ids = ["gen_0abcd0", "gen_0abcd1", "gen_0abcd2", "gen_0abcd3", "gen_0abcd4", "gen_0abcd5"];

// What a process leaves when it is killed between creating the directories and syncing them.
if (how === "left") mkdirSync(join(dir, "files", dirname(pathOfFile("gen_0abcd0", 1))), { recursive: true });
const files = await createLocalStorage(join(dir, "files"));
const keep = async (id: string) => {
  const incoming = await files.receive(id, 1);
  await incoming.write(new TextEncoder().encode(`the file of ${id}`));
  await incoming.keep();
  writeSync(1, `kept ${join("files", pathOfFile(id, 1))} with the file of ${id}\n`);
  process.kill(process.pid, "SIGKILL");
};
await Promise.all((how === "together" ? ids : ids.slice(0, 1)).map(keep));
