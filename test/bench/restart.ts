// Bench of a restart with 100,000 in flight: time to the first poll response, and time until all deadlines are set.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { freePort } from "../../src/torture/crash/processes.ts";
import { type Bench, hold, spreadOf } from "./bench.ts";
import { onServerCore } from "./machine.ts";
import { RESTING } from "./provided.ts";
import { startService } from "./service.ts";
import { endStocked, makeStocked, type Stocked } from "./stock.ts";

const IN_FLIGHT = 100_000;
const ANSWERED_MS = 2_000;
const LOOK_MS = 1;
/** The pause between polls after the first response: responses take CPU time from the recovery. */
const POLL_EACH_MS = 25;
const READER = join(import.meta.dir, "rungs/read-rows.ts");

/**
 * Polls sequentially until recovery is over. @returns the time from exec to the first response, and the longest time between two
 * later responses. @throws for a response other than the correct one or "not ready".
 */
const pollThroughStart = async (url: string, seen: readonly Stocked[], isOver: () => boolean) => {
  const fromMono = performance.now();
  let firstMs: number | undefined;
  let answeredMono = fromMono;
  let longestMs = 0;
  for (let n = 0; !isOver(); n += 1) {
    const { id, key } = seen[n % seen.length] as Stocked;
    const headers = { authorization: `Bearer ${key}`, connection: "close" };
    const response = await fetch(`${url}/v1/generations/${id}`, { headers }).catch(() => undefined);
    if (response?.status === 200) {
      const { status } = (await response.json()) as { status: string };
      if (status !== "running") throw new Error(`a generation in flight was said to be ${status}`);
      const now = performance.now();
      if (firstMs === undefined) firstMs = now - fromMono;
      else longestMs = Math.max(longestMs, now - answeredMono);
      answeredMono = now;
    } else if (response !== undefined && response.status !== 503) throw new Error(`a poll was answered ${response.status}`);
    await Bun.sleep(firstMs === undefined ? LOOK_MS : POLL_EACH_MS);
  }
  return { firstMs: firstMs ?? Number.POSITIVE_INFINITY, longestMs };
};

/** The recovery figures of the service's log. */
const recoveryIn = (log: string): { count: number; dur_ms: number } => {
  const line = readFileSync(log, "utf8")
    .split("\n")
    .findLast((text) => text.includes('"recovery finished"'));
  if (line === undefined) throw new Error("the service did not say that its recovery was over");
  return JSON.parse(line) as { count: number; dur_ms: number };
};

/** Runs a process that only reads the rows of a recovery. @returns the time from opening the file, ms. */
const readRows = async (dir: string): Promise<number> => {
  const words = onServerCore([process.execPath, READER, join(dir, DATABASE_FILE)]);
  const child = Bun.spawn(words, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const said = await child.stdout.text();
  const [, ms, rows] = /^read ([\d.]+) (\d+)$/m.exec(said) ?? [];
  if (ms === undefined || Number(rows) !== IN_FLIGHT) throw new Error(`the reader said ${JSON.stringify(said)}`);
  return Number(ms);
};

export const restart: Bench = {
  name: "restart",
  compares: "100,000 running at the start: polls within 2 s; every deadline in the heap / SQLite reading the same rows",
  run: async (env) => {
    const home = await makeStocked(IN_FLIGHT, "running", { report: env.report });
    const seen = { waits: [] as number[], recoveries: [] as number[], readies: [] as number[], reads: [] as number[] };
    for (let round = 0; round < env.starts; round += 1) {
      seen.reads.push(await readRows(home.dir));
      const port = await freePort();
      let isOver = false;
      // Ignores the log of the previous process.
      rmSync(`${home.dir}.log`, { force: true });
      const polled = pollThroughStart(`http://127.0.0.1:${port}`, home.seen, () => isOver);
      const service = await startService({ dir: home.dir, env: RESTING, port, lookMs: POLL_EACH_MS }).finally(() => {
        isOver = true;
      });
      const { firstMs, longestMs } = await polled;
      const { running, deadlines } = await fetchStats(home.dir, { collect: false });
      // Log lines are written at the end of a turn, so all are complete after the exit.
      await service.stop();
      const { count, dur_ms } = recoveryIn(`${home.dir}.log`);
      if (count !== IN_FLIGHT || running !== IN_FLIGHT || deadlines !== IN_FLIGHT)
        throw new Error(`${count} were taken up, ${running} run and ${deadlines} have a deadline, of ${IN_FLIGHT}`);
      seen.waits.push(Math.max(firstMs, longestMs));
      seen.recoveries.push(dur_ms);
      seen.readies.push(service.readyMs);
      env.report(
        `round ${round + 1} of ${env.starts}: polls after ${firstMs.toFixed(0)} ms, later ones within ${longestMs.toFixed(0)} ms; recovery ${dur_ms} ms`,
      );
    }
    await endStocked(home);
    const { waits, recoveries, readies, reads } = seen;
    const most = { unit: "ms", target: 1, wants: "at most" } as const;
    const rows = { ...most, sides: "the service / SQLite reading the rows" };
    return [
      hold(
        { ...most, name: "restart, polls", sides: "longest wait for a poll from exec on / 2 s" },
        Math.max(...waits),
        ANSWERED_MS,
      ),
      hold({ ...rows, name: "restart, heap", target: 10 }, spreadOf(recoveries), spreadOf(reads)),
      hold(
        { ...rows, name: "restart, ready", sides: "from exec to ready / SQLite reading the rows", isNote: true },
        spreadOf(readies),
        spreadOf(reads),
      ),
    ];
  },
};
