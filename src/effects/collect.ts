// Collecting results: fetched into our files, asked for again when they cannot be read, and held while our disk is full.

import { describeMismatch, type Mismatch } from "../domain/delivery-check.ts";
import type { Attempt, ResultFile } from "../domain/types.ts";
import { isSpooled, StorageRefused } from "../files/port.ts";
import type { CollectOutcome } from "../media/port.ts";
import { createCollectRetries, type ResultTries } from "./collect-retries.ts";
import { type EffectsDeps, namesOf, readAttempt, STORAGE_PAUSE_MS, spreadMs, toPollable } from "./deps.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** Tries at a result that could not be had, each with fresh links from the provider; for a file that stays as it is there are fewer. */
const TRIES = 5;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/** Storage that refuses one generation again and again, and others not, is tried at growing pauses. */
const LONGEST_STORAGE_PAUSE_MS = 60_000;

type Collected = Extract<CollectOutcome, { kind: "collected" }>;
type Refused = Extract<CollectOutcome, { kind: "storage-refused" }>;

export const createCollect = (deps: EffectsDeps, tasks: TaskRunner) => {
  /** Generations whose files are in, and by which attempt: no other attempt may write over them before the end. */
  const keptBy = new Map<number, number>();
  const turns = new Map<number, Promise<unknown>>();
  /** When storage is tried again that refused, and how often it did in a row, by generation. */
  const againOf = new Map<number, { n: number; times: number; againAtMs: number }>();
  /** What came of the tries at each result, by generation and attempt, from the first one on. */
  const triesOf = new Map<number, Map<number, ResultTries>>();
  const openTriesOf = ({ seq, n }: Attempt): ResultTries => {
    const ofAll = triesOf.get(seq) ?? new Map<number, ResultTries>();
    triesOf.set(seq, ofAll);
    const tries = ofAll.get(n) ?? createCollectRetries();
    ofAll.set(n, tries);
    return tries;
  };

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
  const collectNow = async (attempt: Attempt, results: readonly ResultFile[], signal: AbortSignal): Promise<CollectOutcome> => {
    // Asked again, a provider that puts what it made into its answers has done so again.
    const kept = await deps.media.keepInline(attempt.ref, results).catch((fault: unknown) => {
      if (fault instanceof StorageRefused) return fault;
      throw fault;
    });
    if (kept instanceof StorageRefused) return { kind: "storage-refused", detail: kept.message };
    return deps.media.collect(
      {
        // The reference is the body of the generation's id and the number of the attempt.
        generationId: `gen_${attempt.ref.slice(0, attempt.ref.lastIndexOf("-"))}`,
        attempt: attempt.n,
        kind: attempt.route.kind,
        results: kept,
        provider: attempt.route.provider,
        tries: openTriesOf(attempt),
        ordered: await deps.reads.orderedOf(attempt.seq),
      },
      signal,
    );
  };

  /** Only a result that is in our files is a delivery; an announcement may be empty. */
  const deliver = (attempt: Attempt, { output, lost, odd }: Collected, atMs: number) => {
    const { seq, n, route, sentAtMs } = attempt;
    const { routeId } = route;
    if (lost)
      deps.log("result incomplete", { ...namesOf(attempt), route_id: routeId, count: lost.length, detail: lost.join("; ") });
    deps.judge(routeId, "delivered");
    deps.delivered(routeId, atMs - (sentAtMs ?? atMs));
    deps.report(seq, { type: "collected", n, output, ...(odd ? { odd } : {}), atMs });
  };

  /** What came is not what was ordered: asking again would bring the same. */
  const turnDown = ({ seq, n, route: { routeId } }: Attempt, mismatch: Mismatch, atMs: number) => {
    deps.judge(routeId, "failed", { class: "mismatched", detail: describeMismatch(mismatch) });
    const atMost = deps.maxMismatched;
    deps.report(seq, { type: "mismatched", n, mismatch, ...(atMost ? { atMost } : {}), atMs });
  };

  const refuse = ({ seq, n }: Task, { detail, againAtMs }: Refused, atMs: number) => {
    const before = againOf.get(seq);
    const times = before?.n === n ? before.times + 1 : 0;
    const ownMs = atMs + spreadMs(deps, STORAGE_PAUSE_MS, LONGEST_STORAGE_PAUSE_MS, times);
    againOf.set(seq, { n, times, againAtMs: againAtMs ?? ownMs });
    deps.report(seq, { type: "storageRefused", n, detail, atMs });
  };
  const notBefore = ({ seq, n }: Task): number => {
    const known = againOf.get(seq);
    return known?.n === n ? known.againAtMs : 0;
  };

  const collect = async (task: Task) => {
    const { seq, n, signal } = task;
    const attempt = await readAttempt(deps, seq, n);
    const outcome = await fetchFiles(attempt, attempt.results ?? [], signal);
    const atMs = deps.clock.nowMs();
    if (signal.aborted) return;
    if (outcome.kind === "collected") deliver(attempt, outcome, atMs);
    else if (outcome.kind === "mismatched") turnDown(attempt, outcome.mismatch, atMs);
    else if (outcome.kind === "storage-refused") refuse(task, outcome, atMs);
    else deps.report(seq, { type: "resultUnreadable", n, detail: outcome.detail, atMs });
  };

  /** Asks the provider for the result again before each try: a link may have expired, a file may have been late. */
  const collectAgain = async (task: Task) => {
    const { seq, n, signal } = task;
    const work = toPollable(await readAttempt(deps, seq, n));
    let failure: { class: "result_unreadable" | "result_expired"; detail: string } = {
      class: "result_unreadable",
      detail: "the result could not be read",
    };
    const tries = openTriesOf(work.attempt);
    let last: Extract<CollectOutcome, { kind: "unreadable" | "expired" }> | null = null;
    for (let turn = 0; turn < TRIES; turn += 1) {
      await task.pause(turn === 0 ? 0 : spreadMs(deps, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, turn * 2, 10));
      const seen = work.attempt.job ? await deps.providers.poll(work, signal) : null;
      if (signal.aborted) return;
      if (seen?.kind === "failed" && seen.failure.class !== "result_unreadable") {
        deps.report(seq, { type: "jobFailed", n, failure: seen.failure, atMs: deps.clock.nowMs() });
        return;
      }
      const results = seen?.kind === "announced" ? seen.results : (work.attempt.results ?? []);
      // What is on our own disk stays what it is.
      const isAsItWas = seen?.kind !== "announced" && results.length > 0 && results.every(({ url }) => isSpooled(url));
      if (isAsItWas || turn === TRIES - 1) tries.last();
      const outcome = await fetchFiles(work.attempt, results, signal);
      const atMs = deps.clock.nowMs();
      if (signal.aborted) return;
      if (outcome.kind === "collected") {
        deliver(work.attempt, outcome, atMs);
        return;
      }
      if (outcome.kind === "mismatched") {
        turnDown(work.attempt, outcome.mismatch, atMs);
        return;
      }
      if (outcome.kind === "storage-refused") {
        refuse(task, outcome, atMs);
        return;
      }
      last = outcome;
      failure = { class: outcome.kind === "expired" ? "result_expired" : "result_unreadable", detail: outcome.detail };
      if (results.length > 0 && tries.lost() >= results.length) break;
    }
    const atMs = deps.clock.nowMs();
    const unread = last?.kind === "unreadable" ? last : null;
    // No usable file is another thing than what was ordered, as far as that is known.
    if (unread?.isUnusable && (await deps.reads.orderedOf(seq)) !== null) {
      turnDown(work.attempt, { what: "files", ordered: "a file that can be used", came: `none (${unread.detail})` }, atMs);
      return;
    }
    // What came whole and only we cannot read says nothing of the route.
    if (!unread?.isOurs) deps.judge(work.attempt.route.routeId, "failed", failure);
    deps.report(seq, { type: "resultLost", n, failure, atMs });
  };

  const awaitStorage = async (task: Task) => {
    // Of all that wait none tries: storage asks for itself, and each try is two rows of the journal.
    do await task.pause(STORAGE_PAUSE_MS / deps.pace);
    while (deps.isStorageAway() || deps.clock.nowMs() < notBefore(task));
    deps.report(task.seq, { type: "storageReturned", n: task.n, atMs: deps.clock.nowMs() });
  };

  return {
    /** The attempt is given up: what it may have kept is no obstacle to another. */
    letGo: (seq: number, n: number) => {
      if (keptBy.get(seq) === n) keptBy.delete(seq);
      triesOf.get(seq)?.delete(n);
    },
    /** The generation has ended: nothing is collected for it any more. */
    ended: (seq: number) => {
      keptBy.delete(seq);
      againOf.delete(seq);
      turns.delete(seq);
      triesOf.delete(seq);
    },
    collect: (seq: number, n: number) => tasks.run(seq, n, "collect", collect),
    collectAgain: (seq: number, n: number) => tasks.run(seq, n, "collect", collectAgain),
    awaitStorage: (seq: number, n: number) => tasks.run(seq, n, "storage", awaitStorage),
  };
};
