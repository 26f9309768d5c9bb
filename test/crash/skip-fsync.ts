// The service on a disk that forgets: at every start what was committed since the last checkpoint is gone, synced or not.
import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";

const log = join(process.env.GENROUTER_DATA__DIR ?? "", "genrouter.db-wal");
if (process.argv[2] === "serve" && existsSync(log)) truncateSync(log, 0);
await import("../../src/main.ts");
