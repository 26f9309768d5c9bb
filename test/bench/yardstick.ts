// Compares the ceiling rung with that of another ladder in a given directory, whose rung `bestk` does the same work.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/torture/crash/processes.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { spawnHeard } from "./child.ts";
import { onServerCore } from "./machine.ts";
import type { Side } from "./rounds.ts";
import { ACCOUNTS } from "./rungs/parts.ts";
import { submissions } from "./sides.ts";

const RUNG = "bestk";
/** In the project's node_modules, so that both ladders use the same Elysia. */
const PLACE = join(import.meta.dir, "../../dist/yardstick");
const KEYS = "lib/payload.ts";

/** Whether a directory contains such a ladder. */
export const isLadder = (dir: string): boolean =>
  [join("ladder", "server.ts"), KEYS].every((name) => existsSync(join(dir, name)));

/** Starts its rung on the measured core. */
export const startYardstick = async (dir: string): Promise<Side & { stop(): void }> => {
  dropScratch(PLACE);
  cpSync(dir, PLACE, { recursive: true, dereference: true });
  // Each account in a batch writes a page: both ladders have the same number of accounts.
  const keys = readFileSync(join(dir, KEYS), "utf8").replace(/\bACCOUNTS = \d+/, `ACCOUNTS = ${ACCOUNTS}`);
  rmSync(join(PLACE, KEYS));
  writeFileSync(join(PLACE, KEYS), keys);
  const { keyOf } = (await import(join(PLACE, KEYS))) as { keyOf: (account: number) => string };
  const port = await freePort();
  const data = makeScratch("bench-yardstick-");
  const set = { RUNG, PORT: String(port), DIR: data };
  const { pid, hear, stop } = spawnHeard(onServerCore([process.execPath, join(PLACE, "ladder", "server.ts")]), set);
  await hear();
  return {
    ...{ name: `another's ceiling, ${RUNG}`, port, pids: [pid] },
    streams: [submissions(Array.from({ length: ACCOUNTS }, (_, account) => keyOf(account)))],
    stop: () => {
      stop();
      dropScratch(data);
    },
  };
};
