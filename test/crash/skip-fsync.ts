// The service on a disk that loses data: each start drops all commits since the last checkpoint, even synced ones.
import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";

const log = join(process.env.GENROUTER_DATA__DIR ?? "", "genrouter.db-wal");
if (process.argv[2] === "serve" && existsSync(log)) truncateSync(log, 0);
await import("../../src/main.ts");
