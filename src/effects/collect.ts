// Downloads results: it requests fresh links after errors and waits while the disk is full.

import type { GenerationEvent } from "../../actors/generation/types.ts";
import { describeMismatch, type Mismatch } from "../domain/delivery-check.ts";
import type { Attempt, ResultFile } from "../domain/types.ts";
import { isSpooled, StorageRefused } from "../files/port.ts";
import type { CollectOutcome } from "../media/port.ts";
import { createCollectRetries, type ResultTries } from "./collect-retries.ts";
import { type EffectsDeps, namesOf, readAttempt, STORAGE_PAUSE_MS, spreadMs, toPollable } from "./deps.ts";
import type { Task, TaskRunner } from "./task-runner.ts";

/** Maximum downloads of an unavailable result, each with fresh links; a file that returns the same bytes has fewer. */
const TRIES = 5;
const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 60_000;
/**
 * How long an announced result waits for its files, ms, to be committed together with their delivery. Most pictures arrive within
 * this time; a clip is announced alone, so that a restart knows its links.
 */
const TOGETHER_MS = 300;
/** Longest pause in milliseconds before a retry of a file that storage rejects although it accepts others. */
const MAX_STORAGE_PAUSE_MS = 60_000;

type Collected = Extract<CollectOutcome, { kind: "collected" }>;
type Refused = Extract<CollectOutcome, { kind: "storage-refused" }>;

export type Collecting = ReturnType<typeof createCollect>;

export const createCollect = (deps: EffectsDeps, tasks: TaskRunner) => {
  /** Generations with stored files, by attempt. No other attempt may overwrite them before the end. */
  const storedCount = new Map<number, number>();
  const turns = new Map<number, Promise<unknown>>();
  let isStopped = false;
  /** Downloads that began before the announcement of their result was stored, by generation. */
  const early = new Map<number, { n: number; signal: AbortSignal; outcome: Promise<CollectOutcome> }>();
  /** Next retry and number of consecutive rejections by storage, by generation. */
  const retries = new Map<number, { n: number; times: number; againAtMs: number }>();
  /** Download history of each result, by generation and attempt. */
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
      const owner = storedCount.get(attempt.seq);
      if (owner !== undefined && owner !== attempt.n)
        return { kind: "unreadable", detail: "another attempt has delivered" } as const;
      const outcome = await collectNow(attempt, results, signal);
      if (outcome.kind === "collected" && !signal.aborted) storedCount.set(attempt.seq, attempt.n);
      return outcome;
    })();
    turns.set(attempt.seq, turn);
    return turn;
  };
  const collectNow = async (attempt: Attempt, results: readonly ResultFile[], signal: AbortSignal): Promise<CollectOutcome> => {
    // A provider that returns results inline has returned them again in the new response.
    const storedInline = await deps.media.keepInline(attempt.ref, results).catch((fault: unknown) => {
      if (fault instanceof StorageRefused) return fault;
      throw fault;
    });
    if (storedInline instanceof StorageRefused) return { kind: "storage-refused", detail: storedInline.message };
    return deps.media.collect(
      {
        // The attempt reference consists of the generation id without its prefix and the attempt number.
        generationId: `gen_${attempt.ref.slice(0, attempt.ref.lastIndexOf("-"))}`,
        attempt: attempt.n,
        kind: attempt.route.kind,
        results: storedInline,
        provider: attempt.route.provider,
        tries: openTriesOf(attempt),
        ordered: await deps.reads.orderedOf(attempt.seq),
      },
      signal,
    );
  };

  /** Only stored files are a delivery; an announced result may be empty. */
  const deliveryOf = (attempt: Attempt, { output, lost, odd }: Collected, atMs: number): GenerationEvent => {
    const { n, route, sentAtMs } = attempt;
    const { routeId } = route;
    if (lost)
      deps.log("result incomplete", { ...namesOf(attempt), route_id: routeId, count: lost.length, detail: lost.join("; ") });
    deps.judge(routeId, "delivered");
    deps.delivered(routeId, atMs - (sentAtMs ?? atMs));
    return { type: "collected", n, output, ...(odd ? { odd } : {}), atMs };
  };

  /** The delivery does not match the order, and a further download would return the same. */
  const rejectionOf = ({ n, route: { routeId } }: Attempt, mismatch: Mismatch, atMs: number): GenerationEvent => {
    deps.judge(routeId, "failed", { class: "mismatched", detail: describeMismatch(mismatch) });
    const atMost = deps.maxMismatched;
    return { type: "mismatched", n, mismatch, ...(atMost ? { atMost } : {}), atMs };
  };

  const refusalOf = ({ seq, n }: Attempt, { detail, againAtMs }: Refused, atMs: number): GenerationEvent => {
    const before = retries.get(seq);
    const times = before?.n === n ? before.times + 1 : 0;
    const ownMs = atMs + spreadMs(deps, STORAGE_PAUSE_MS, MAX_STORAGE_PAUSE_MS, times);
    retries.set(seq, { n, times, againAtMs: againAtMs ?? ownMs });
    return { type: "storageRefused", n, detail, atMs };
  };
  const notBefore = ({ seq, n }: Task): number => {
    const known = retries.get(seq);
    return known?.n === n ? known.againAtMs : 0;
  };

  const eventOf = (attempt: Attempt, outcome: CollectOutcome): GenerationEvent => {
    const atMs = deps.clock.nowMs();
    switch (outcome.kind) {
      case "collected":
        return deliveryOf(attempt, outcome, atMs);
      case "mismatched":
        return rejectionOf(attempt, outcome.mismatch, atMs);
      case "storage-refused":
        return refusalOf(attempt, outcome, atMs);
      case "expired":
      case "unreadable":
        return { type: "resultUnreadable", n: attempt.n, detail: outcome.detail, atMs };
    }
  };

  /** The outcome of a download if it comes within `TOGETHER_MS`; undefined if it does not, or if the download broke off. */
  const soonOf = (outcome: Promise<CollectOutcome>, signal: AbortSignal): Promise<CollectOutcome | undefined> =>
    new Promise((resolve) => {
      const end = (came?: CollectOutcome) => {
        cancel();
        signal.removeEventListener("abort", late);
        resolve(came);
      };
      const late = () => end();
      const cancel = deps.clock.after(TOGETHER_MS, late);
      signal.addEventListener("abort", late, { once: true });
      outcome.then(end, late);
    });
  /** The download is not awaited if the time of the attempt could end meanwhile: the result would come too late. */
  const isNearItsEnd = ({ endsAtMs }: Attempt): boolean => endsAtMs !== null && deps.clock.nowMs() + 2 * TOGETHER_MS >= endsAtMs;
  /** Every other outcome is followed by further tries, which begin after the announcement is stored. */
  const endsCollecting = (outcome: CollectOutcome | undefined): outcome is CollectOutcome =>
    outcome?.kind === "collected" || outcome?.kind === "mismatched";

  /**
   * Reports a result that a poll has shown, together with its delivery if the download ends soon. A crash before that loses nothing:
   * the next poll shows the result again. If the attempt is given up or cancelled meanwhile, the result is reported all the same.
   * The caller's task lasts as long as the download.
   */
  const announce = async ({ seq, n, signal }: Task, attempt: Attempt, results: readonly ResultFile[]): Promise<void> => {
    const announced: GenerationEvent = { type: "announced", n, results: [...results], atMs: deps.clock.nowMs() };
    if (isNearItsEnd(attempt)) return deps.report(seq, announced);
    const outcome = fetchFiles(attempt, results, signal);
    const soon = await soonOf(outcome, signal);
    if (isStopped) return;
    if (endsCollecting(soon) && !signal.aborted) {
      const event = eventOf(attempt, soon);
      deps.report(seq, { ...announced, atMs: event.atMs }, event);
      return;
    }
    if (!signal.aborted) early.set(seq, { n, signal, outcome });
    deps.report(seq, announced);
    await outcome.catch(() => undefined);
  };
  /** Takes over a download that began before the announcement was stored, unless it was cancelled. */
  const takeEarly = (seq: number, n: number): Promise<CollectOutcome> | undefined => {
    const one = early.get(seq);
    early.delete(seq);
    return one?.n === n && !one.signal.aborted ? one.outcome : undefined;
  };

  const collect = async ({ seq, n, signal }: Task) => {
    const attempt = await readAttempt(deps, seq, n);
    const outcome = await (takeEarly(seq, n) ?? fetchFiles(attempt, attempt.results ?? [], signal));
    if (!signal.aborted) deps.report(seq, eventOf(attempt, outcome));
  };

  /**
   * Requests fresh links from the provider before each download, because a link may have expired or a file may have been late.
   */
  const retryCollect = async (task: Task) => {
    const { seq, n, signal } = task;
    const work = toPollable(await readAttempt(deps, seq, n));
    if (signal.aborted) return;
    let failure: { class: "result_unreadable" | "result_expired"; detail: string } = {
      class: "result_unreadable",
      detail: "the result could not be read",
    };
    const tries = openTriesOf(work.attempt);
    let last: Extract<CollectOutcome, { kind: "unreadable" | "expired" }> | null = null;
    for (let turn = 0; turn < TRIES; turn += 1) {
      await task.pause(turn === 0 ? 0 : spreadMs(deps, FIRST_PAUSE_MS, MAX_PAUSE_MS, turn * 2, 10));
      const seen = work.attempt.job ? await deps.providers.poll(work, signal) : null;
      if (signal.aborted) return;
      if (seen?.kind === "failed" && seen.failure.class !== "result_unreadable") {
        deps.report(seq, { type: "jobFailed", n, failure: seen.failure, atMs: deps.clock.nowMs() });
        return;
      }
      const results = seen?.kind === "announced" ? seen.results : (work.attempt.results ?? []);
      // Files on our own disk do not change.
      const isAsItWas = seen?.kind !== "announced" && results.length > 0 && results.every(({ url }) => isSpooled(url));
      if (isAsItWas || turn === TRIES - 1) tries.last();
      const outcome = await fetchFiles(work.attempt, results, signal);
      if (signal.aborted) return;
      if (outcome.kind !== "unreadable" && outcome.kind !== "expired") {
        deps.report(seq, eventOf(work.attempt, outcome));
        return;
      }
      last = outcome;
      failure = { class: outcome.kind === "expired" ? "result_expired" : "result_unreadable", detail: outcome.detail };
      if (results.length > 0 && tries.lost() >= results.length) break;
    }
    const atMs = deps.clock.nowMs();
    const unread = last?.kind === "unreadable" ? last : null;
    // A delivery without a usable file is a mismatch if deliveries are checked.
    if (unread?.isUnusable && (await deps.reads.orderedOf(seq)) !== null) {
      const mismatch: Mismatch = { what: "files", ordered: "a file that can be used", came: `none (${unread.detail})` };
      deps.report(seq, rejectionOf(work.attempt, mismatch, atMs));
      return;
    }
    // A complete file that only our reader cannot parse says nothing about the route.
    if (!unread?.isOurs) deps.judge(work.attempt.route.routeId, "failed", failure);
    deps.report(seq, { type: "resultLost", n, failure, atMs });
  };

  const awaitStorage = async (task: Task) => {
    // Waiting downloads do not retry. Storage is probed on its own, because each retry would store two events.
    do await task.pause(STORAGE_PAUSE_MS / deps.pace);
    while (deps.isStorageUnavailable() || deps.clock.nowMs() < notBefore(task));
    deps.report(task.seq, { type: "storageReturned", n: task.n, atMs: deps.clock.nowMs() });
  };

  return {
    /** The attempt is given up, so its stored files do not block another attempt. */
    letGo: (seq: number, n: number) => {
      if (storedCount.get(seq) === n) storedCount.delete(seq);
      if (early.get(seq)?.n === n) early.delete(seq);
      triesOf.get(seq)?.delete(n);
    },
    /** The process stops, so nothing is reported any more. */
    stop: () => {
      isStopped = true;
    },
    /** The generation has ended, so no download continues. */
    ended: (seq: number) => {
      storedCount.delete(seq);
      retries.delete(seq);
      early.delete(seq);
      turns.delete(seq);
      triesOf.delete(seq);
    },
    announce,
    collect: (seq: number, n: number) => tasks.run(seq, n, "collect", collect),
    collectAgain: (seq: number, n: number) => tasks.run(seq, n, "collect", retryCollect),
    awaitStorage: (seq: number, n: number) => tasks.run(seq, n, "storage", awaitStorage),
  };
};
