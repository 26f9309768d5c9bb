// Collecting results: fetched into our files, asked for again when they cannot be read, and held while our disk is full.
import { isSpooled } from "../files/port.ts";
import type { CollectOutcome } from "../media/port.ts";
import type { Attempt, Output, ResultFile } from "../terms.ts";
import type { Errand, Errands } from "./errands.ts";
import { askable, type EffectsParts, readAttempt, STORAGE_PAUSE_MS, spreadMs } from "./parts.ts";

/** Tries at a result that could not be read, each with fresh links from the provider. */
const TRIES = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

export const openCollecting = (parts: EffectsParts, errands: Errands) => {
  /** Generations whose files are in, and by which attempt: no other attempt may write over them before the end. */
  const keptBy = new Map<number, number>();
  const turns = new Map<number, Promise<unknown>>();

  const fetchFiles = async (attempt: Attempt, results: readonly ResultFile[], signal: AbortSignal): Promise<CollectOutcome> => {
    const before = turns.get(attempt.seq);
    const turn = (async () => {
      await before?.catch(() => undefined);
      const owner = keptBy.get(attempt.seq);
      if (owner !== undefined && owner !== attempt.n)
        return { kind: "unreadable", detail: "another attempt has delivered" } as const;
      const outcome = await collectNow(attempt, results, signal);
      if (outcome.kind === "collected" && !signal.aborted) keptBy.set(attempt.seq, attempt.n);
      return outcome;
    })();
    turns.set(attempt.seq, turn);
    return turn;
  };
  const collectNow = (attempt: Attempt, results: readonly ResultFile[], signal: AbortSignal): Promise<CollectOutcome> =>
    parts.media.collect(
      {
        // The reference is the body of the generation's id and the number of the attempt.
        generationId: `gen_${attempt.ref.slice(0, attempt.ref.lastIndexOf("-"))}`,
        attempt: attempt.n,
        kind: attempt.route.kind,
        results,
        provider: attempt.route.provider,
      },
      signal,
    );

  /** Only a result that is in our files is a delivery; an announcement may be empty. */
  const deliver = ({ seq, n, route: { routeId }, sentAtMs }: Attempt, output: Output, atMs: number) => {
    parts.judge(routeId, "delivered");
    parts.delivered(routeId, atMs - (sentAtMs ?? atMs));
    parts.report(seq, { type: "collected", n, output, atMs });
  };

  const collect = async ({ seq, n, signal }: Errand) => {
    const attempt = await readAttempt(parts, seq, n);
    const outcome = await fetchFiles(attempt, attempt.results ?? [], signal);
    const atMs = parts.clock.nowMs();
    if (signal.aborted) return;
    if (outcome.kind === "collected") deliver(attempt, outcome.output, atMs);
    else if (outcome.kind === "storage-refused") parts.report(seq, { type: "storageRefused", n, detail: outcome.detail, atMs });
    else parts.report(seq, { type: "resultUnreadable", n, detail: outcome.detail, atMs });
  };

  /** Asks the provider for the result again before each try: a link may have expired, a file may have been late. */
  const collectAgain = async (errand: Errand) => {
    const { seq, n, signal } = errand;
    const work = askable(await readAttempt(parts, seq, n));
    let failure: { class: "result_unreadable" | "result_expired"; detail: string } = {
      class: "result_unreadable",
      detail: "the result could not be read",
    };
    for (let turn = 0; turn < TRIES; turn += 1) {
      await errand.pause(turn === 0 ? 0 : spreadMs(parts, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, turn * 2, 10));
      const seen = work.attempt.job ? await parts.providers.poll(work, signal) : null;
      if (signal.aborted) return;
      if (seen?.kind === "failed" && seen.failure.class !== "result_unreadable") {
        parts.report(seq, { type: "jobFailed", n, failure: seen.failure, atMs: parts.clock.nowMs() });
        return;
      }
      const results = seen?.kind === "announced" ? seen.results : (work.attempt.results ?? []);
      const outcome = await fetchFiles(work.attempt, results, signal);
      const atMs = parts.clock.nowMs();
      if (signal.aborted) return;
      if (outcome.kind === "collected") {
        deliver(work.attempt, outcome.output, atMs);
        return;
      }
      if (outcome.kind === "storage-refused") {
        parts.report(seq, { type: "storageRefused", n, detail: outcome.detail, atMs });
        return;
      }
      // What is on our own disk stays what it is.
      const isAsItWas = seen?.kind !== "announced" && results.length > 0 && results.every(({ url }) => isSpooled(url));
      failure = { class: outcome.kind === "expired" ? "result_expired" : "result_unreadable", detail: outcome.detail };
      if (isAsItWas) break;
    }
    parts.judge(work.attempt.route.routeId, "failed", failure);
    parts.report(seq, { type: "resultLost", n, failure, atMs: parts.clock.nowMs() });
  };

  const awaitStorage = async (errand: Errand) => {
    await errand.pause(STORAGE_PAUSE_MS / parts.pace);
    parts.report(errand.seq, { type: "storageReturned", n: errand.n, atMs: parts.clock.nowMs() });
  };

  return {
    /** The attempt is given up: what it may have kept is no obstacle to another. */
    letGo: (seq: number, n: number) => {
      if (keptBy.get(seq) === n) keptBy.delete(seq);
    },
    /** The generation has ended: nothing is collected for it any more. */
    ended: (seq: number) => {
      keptBy.delete(seq);
      turns.delete(seq);
    },
    collect: (seq: number, n: number) => errands.run(seq, n, "collect", collect),
    collectAgain: (seq: number, n: number) => errands.run(seq, n, "collect", collectAgain),
    awaitStorage: (seq: number, n: number) => errands.run(seq, n, "storage", awaitStorage),
  };
};
