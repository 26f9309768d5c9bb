// Holds provider responses from their arrival until their transition is committed.
//
// A response that the store does not commit soon is spooled to this node's disk, so that an unavailable store loses no paid job.
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Outcome, OutcomeSpool, SpooledOutcome } from "../files/outcome-spool.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

/** Time in milliseconds after which an uncommitted response is spooled; a commit takes milliseconds. */
const SPOOL_AFTER_MS = 250;
/** Pause in milliseconds before a retry on a disk that rejects writes. */
const REFUSED_PAUSE_MS = 1000;

export type PendingOutcomesDeps = {
  spool: OutcomeSpool;
  clock: Clock;
  log: Log;
  /** Whether the store is known to be unavailable. */
  isUnavailable: () => boolean;
  /** Whether a lookup at this provider is a re-send of the request. */
  looksUpByKey: (provider: string) => boolean;
};

export type PendingOutcomes = {
  /** A response has arrived for an attempt of generation `seq`. */
  arrived(seq: number, spooled: SpooledOutcome): void;
  /** The transition of an event is committed, and with it the response that it brought. */
  dealtWith(seq: number, event: GenerationEvent): void;
  /** A generation has ended. @returns responses that are not in the store; a rejection has no meaning any more */
  ended(seq: number): Outcome[];
  /** A response is stored for the owner of its generation: it is removed from this node's disk and stays in memory. */
  passedOn(left: LeftOutcome): void;
  /** The response to attempt `n` is no longer needed. */
  drop(seq: number, n: number): void;
  /** The held response to a send of an attempt; without a send, to any of them. */
  find(seq: number, n: number, send?: AwaitedSend): Outcome | undefined;
  /**
   * Reads the spool of a former process, except jobs that belong to another attempt.
   * @returns the responses that are still valid, whatever was queried since
   */
  open(reads: Pick<StoreReads, "jobOwner">): Promise<LeftOutcome[]>;
};

/** A response that a former process left: its generation, the send that it answers, and the response. */
export type LeftOutcome = { seq: number; sentAtMs: number | null; outcome: Outcome };
/** The last send of an attempt. `canBeLookedUp`: its provider may have been queried for the job since. */
export type AwaitedSend = { sentAtMs: number | null; canBeLookedUp: boolean };

/** A held rejection proves that an attempt that is being confirmed is absent. */
const BRINGS_ANSWER: ReadonlySet<GenerationEvent["type"]> = new Set(["accepted", "announced", "rejected", "provedAbsent"]);

type Entry = { spooled: SpooledOutcome; isDropped: boolean; isKept: boolean; cancel: () => void };
const entryOf = (spooled: SpooledOutcome, isKept: boolean): Entry => ({
  spooled,
  isKept,
  isDropped: false,
  cancel: () => undefined,
});
const generationOf = (ref: string): string => `gen_${ref.replace(/-\d+$/, "")}`;

export const createPendingOutcomes = ({
  spool,
  clock,
  log,
  isUnavailable,
  looksUpByKey,
}: PendingOutcomesDeps): PendingOutcomes => {
  const held = new Map<number, Entry[]>();
  /** A rejection proves nothing after a lookup that re-sends the request, because that one may have been accepted. */
  const isOutdone = ({ provider, outcome }: SpooledOutcome) => outcome.type === "rejected" && looksUpByKey(provider);
  const failed =
    (event: string, { ref }: SpooledOutcome) =>
    (fault: unknown) =>
      log("outcome spool failed", {
        event,
        generation_id: generationOf(ref),
        reason: fault instanceof Error ? fault.message : String(fault),
      });

  /**
   * Whether a response decides an attempt that waits for the response to this send. A job belongs to the attempt, whichever send
   * created it. A rejection of an earlier send says nothing about a later one, which may have been accepted.
   */
  const answers = (spooled: SpooledOutcome, { sentAtMs, canBeLookedUp }: AwaitedSend): boolean =>
    spooled.outcome.type !== "rejected" ||
    (spooled.sentAtMs === sentAtMs && sentAtMs !== null && !(canBeLookedUp && isOutdone(spooled)));

  const dropFile = (spooled: SpooledOutcome) => void spool.drop(spooled).catch(failed("dropping an outcome", spooled));
  const keep = async (entry: Entry): Promise<void> => {
    try {
      await spool.keep(entry.spooled);
      entry.isKept = true;
      if (entry.isDropped) dropFile(entry.spooled);
    } catch (fault) {
      failed("spooling an outcome", entry.spooled)(fault);
      if (!entry.isDropped) entry.cancel = clock.after(REFUSED_PAUSE_MS, () => void keep(entry));
    }
  };
  const add = (seq: number, entry: Entry) => held.set(seq, [...(held.get(seq) ?? []), entry]);
  const letGo = (seq: number, isOver: (entry: Entry) => boolean) => {
    const entries = held.get(seq);
    if (!entries) return;
    const left = entries.filter((entry) => !isOver(entry));
    if (left.length === 0) held.delete(seq);
    else held.set(seq, left);
    for (const entry of entries.filter(isOver)) {
      entry.isDropped = true;
      entry.cancel();
      if (entry.isKept) dropFile(entry.spooled);
    }
  };

  const drop = (seq: number, n: number) => letGo(seq, ({ spooled }) => spooled.outcome.n === n);

  return {
    arrived: (seq, spooled) => {
      const entry = entryOf(spooled, false);
      add(seq, entry);
      if (isUnavailable()) void keep(entry);
      else entry.cancel = clock.after(SPOOL_AFTER_MS, () => void keep(entry));
    },
    dealtWith: (seq, event) => {
      if ("n" in event && BRINGS_ANSWER.has(event.type)) drop(seq, event.n);
    },
    ended: (seq) => {
      letGo(seq, ({ spooled }) => spooled.outcome.type === "rejected");
      return (held.get(seq) ?? []).map(({ spooled }) => spooled.outcome);
    },
    drop,
    passedOn: ({ seq, sentAtMs, outcome: { n } }) => {
      for (const entry of held.get(seq) ?? []) {
        if (entry.spooled.outcome.n !== n || entry.spooled.sentAtMs !== sentAtMs || !entry.isKept) continue;
        entry.isKept = false;
        dropFile(entry.spooled);
      }
    },
    find: (seq, n, send) => {
      const ofAttempt = (held.get(seq) ?? []).filter(({ spooled }) => spooled.outcome.n === n);
      return ofAttempt.find(({ spooled }) => send === undefined || answers(spooled, send))?.spooled.outcome;
    },
    open: async ({ jobOwner }) => {
      const found: LeftOutcome[] = [];
      for (const spooled of await spool.read()) {
        const { ref, sentAtMs, provider, outcome } = spooled;
        const seq = seqOfGenerationId(generationOf(ref));
        if (seq === undefined) continue;
        const owner = outcome.type === "rejected" || !outcome.job ? undefined : await jobOwner(provider, outcome.job.jobId);
        if (owner && !(owner.seq === seq && owner.n === outcome.n)) {
          dropFile(spooled);
          continue;
        }
        add(seq, entryOf(spooled, true));
        if (!isOutdone(spooled)) found.push({ seq, sentAtMs, outcome });
      }
      return found;
    },
  };
};
