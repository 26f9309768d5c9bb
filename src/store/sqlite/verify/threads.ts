// Verifies a large file on several cores: every clause is a query by itself, so each thread takes the next one.
import { availableParallelism } from "node:os";
import type { JsonObject } from "../../../terms.ts";
import type { CheckResult } from "../../store.ts";
import { CLAUSES, judge } from "./all.ts";
import type { Clause } from "./check.ts";
import type { FromVerifier, ToVerifier } from "./verify.worker.ts";

/** More would wait for the same disk. */
const MOST_THREADS = 8;
/** While a service runs half of the cores are left to it. */
const threadsFor = (isRunning: boolean): number =>
  Math.max(1, Math.min(MOST_THREADS, Math.floor(availableParallelism() / (isRunning ? 2 : 1))));

type Verifier = { run(message: ToVerifier): Promise<JsonObject[]>; end(): void };

const startVerifier = (): Verifier => {
  const worker = new Worker(new URL("./verify.worker.ts", import.meta.url).href);
  return {
    run: (message) =>
      new Promise((done, lost) => {
        const fail = (why: string) => lost(new Error(`a thread that verifies stopped: ${why}`));
        worker.onmessage = ({ data }: MessageEvent<FromVerifier>) => ("fault" in data ? fail(data.fault) : done(data.offenders));
        worker.onerror = (event) => fail(event.message);
        worker.postMessage(message);
      }),
    end: () => worker.terminate(),
  };
};

/** Runs every check, each clause on the state of the database that it finds. @throws Error when one could not be run. */
export const verifyOnThreads = async (
  path: string,
  nowMs: number | null,
  tell?: (done: number, of: number) => void,
): Promise<CheckResult[]> => {
  const waiting = [...CLAUSES.entries()].toSorted(([, a], [, b]) => Number(b.isLong ?? false) - Number(a.isLong ?? false));
  const offenders = new Map<Clause, JsonObject[]>();
  const verifiers = Array.from({ length: threadsFor(nowMs !== null) }, startVerifier);
  const work = async ({ run }: Verifier): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, clause] = next;
      offenders.set(clause, await run({ path, nowMs, clause: at }));
      tell?.(offenders.size, CLAUSES.length);
    }
  };
  try {
    await Promise.all(verifiers.map(work));
    return judge(offenders);
  } finally {
    for (const { end } of verifiers) end();
  }
};
