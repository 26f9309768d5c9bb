// Verifies a large file on several threads, which each take the next clause.
import { availableParallelism } from "node:os";
import type { JsonObject } from "../../../domain/types.ts";
import { judge, judgeSoFar } from "../../sql/verify/report.ts";
import type { CheckResult, LongReads } from "../../store.ts";
import { CHECKS, CLAUSES } from "./all.ts";
import type { Runnable } from "./check.ts";
import type { FromVerifier, ToVerifier } from "./verify.worker.ts";

/** Further threads would wait for the same disk. */
const MAX_THREADS = 8;
/** A running service keeps half of the cores. */
const threadsFor = (isRunning: boolean): number =>
  Math.max(1, Math.min(MAX_THREADS, Math.floor(availableParallelism() / (isRunning ? 2 : 1))));

type Verifier = { run(message: ToVerifier): Promise<Exclude<FromVerifier, { fault: string }>>; end(): void };

const startVerifier = (): Verifier => {
  const worker = new Worker(new URL("./verify.worker.ts", import.meta.url).href);
  return {
    run: (message) =>
      new Promise((done, lost) => {
        const fail = (why: string) => lost(new Error(`a thread that verifies stopped: ${why}`));
        worker.onmessage = ({ data }: MessageEvent<FromVerifier>) => ("fault" in data ? fail(data.fault) : done(data));
        worker.onerror = (event) => fail(event.message);
        worker.postMessage(message);
      }),
    end: () => worker.terminate(),
  };
};

/** Sends one request to a new thread, which ends afterwards. @throws Error if the thread fails. */
const runOnce = async (message: ToVerifier) => {
  const verifier = startVerifier();
  try {
    return await verifier.run(message);
  } finally {
    verifier.end();
  }
};

/** Runs every check, each clause on the current state of the database. @throws Error if a clause could not run. */
export const verifyOnThreads = async (
  path: string,
  nowMs: number | null,
  report?: (done: number, of: number, soFar: CheckResult[]) => void,
): Promise<CheckResult[]> => {
  const waiting = [...CLAUSES.entries()].toSorted(([, a], [, b]) => Number(b.isLong ?? false) - Number(a.isLong ?? false));
  const offenders = new Map<Runnable, JsonObject[]>();
  const verifiers = Array.from({ length: threadsFor(nowMs !== null) }, startVerifier);
  const work = async ({ run }: Verifier): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, clause] = next;
      const reported = await run({ path, nowMs, clause: at });
      offenders.set(clause, "offenders" in reported ? reported.offenders : []);
      report?.(offenders.size, CLAUSES.length, judgeSoFar(CHECKS, offenders));
    }
  };
  try {
    await Promise.all(verifiers.map(work));
    return judge(CHECKS, offenders);
  } finally {
    for (const { end } of verifiers) end();
  }
};

/** Full scans of a database that another process may be writing to, without blocking a thread of the service. */
export const createParallelReads = (path: string): LongReads => ({
  verify: (nowMs, report) => verifyOnThreads(path, nowMs, report),
  sums: async () => {
    const reported = await runOnce({ path, sums: true });
    if ("sums" in reported) return reported.sums;
    throw new Error("a thread that adds up answered something else");
  },
  orphans: async (sinceMs, submittedSinceMs = 0) => {
    const reported = await runOnce({ path, orphansSinceMs: sinceMs, submittedSinceMs });
    if ("orphans" in reported) return reported.orphans;
    throw new Error("a thread that reads orphans answered something else");
  },
});
