// Answers of providers from the moment they arrive until their step is in the store. One that the store does not take soon is kept on
// this node's disk, so that a store that is away costs no job that is paid for, whatever becomes of the process.
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Outcome, OutcomeSpool, SpooledOutcome } from "../files/outcome-spool.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

/** A commit takes milliseconds: an answer whose step is not in the store after so long is kept on disk. */
const SPOOL_AFTER_MS = 250;
/** A disk that refuses is tried again after so long. */
const REFUSED_PAUSE_MS = 1000;

export type PendingOutcomesDeps = {
  spool: OutcomeSpool;
  clock: Clock;
  log: Log;
  /** Whether the store is known not to answer. */
  isAway: () => boolean;
  /** Whether asking this provider about a request is sending it again. */
  asksByKey: (provider: string) => boolean;
};

export type PendingOutcomes = {
  /** An answer has arrived for an attempt of generation `seq`. */
  arrived(seq: number, spooled: SpooledOutcome): void;
  /** The step of an event is in the store, and with it the answer that it brought. */
  dealtWith(seq: number, event: GenerationEvent): void;
  /** A generation has ended. @returns answers of which nothing is in the store; a refusal means nothing any more */
  ended(seq: number): Outcome[];
  /** The answer to attempt `n` is where its owner finds it: this node's disk need not keep it, what is in memory stays. */
  passedOn(seq: number, n: number): void;
  /** Whatever became of the answer of attempt `n`, it is not needed any more. */
  drop(seq: number, n: number): void;
  /** The answer that is held for an attempt. `mayBeAsked`: its provider may have been asked about it since. */
  find(seq: number, n: number, mayBeAsked: boolean): Outcome | undefined;
  /**
   * Takes up what a former process has left, but for jobs that belong to another attempt.
   * @returns what was found and holds, whatever has been asked since
   */
  open(reads: Pick<StoreReads, "jobOwner">): Promise<{ seq: number; outcome: Outcome }[]>;
};

/** Told of a refusal that was in hand, an attempt that is being confirmed is proved absent. */
const BRINGS_ANSWER: ReadonlySet<GenerationEvent["type"]> = new Set(["accepted", "announced", "rejected", "provedAbsent"]);

type Entry = { spooled: SpooledOutcome; isDropped: boolean; isKept: boolean; cancel: () => void };
const entryOf = (spooled: SpooledOutcome, isKept: boolean): Entry => ({
  spooled,
  isKept,
  isDropped: false,
  cancel: () => undefined,
});
const generationOf = (ref: string): string => `gen_${ref.replace(/-\d+$/, "")}`;

export const createPendingOutcomes = ({ spool, clock, log, isAway, asksByKey }: PendingOutcomesDeps): PendingOutcomes => {
  const held = new Map<number, Entry[]>();
  /** A refusal proves nothing any more once the request may have been sent again, to ask about it: that may have been accepted. */
  const isOutdone = ({ provider, outcome }: SpooledOutcome) => outcome.type === "rejected" && asksByKey(provider);
  const failed =
    (event: string, { ref }: SpooledOutcome) =>
    (fault: unknown) =>
      log("outcome spool failed", {
        event,
        generation_id: generationOf(ref),
        reason: fault instanceof Error ? fault.message : String(fault),
      });

  const dropFile = (spooled: SpooledOutcome) => void spool.drop(spooled.ref).catch(failed("dropping an outcome", spooled));
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
      if (isAway()) void keep(entry);
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
    passedOn: (seq, n) => {
      for (const entry of held.get(seq) ?? []) {
        if (entry.spooled.outcome.n !== n || !entry.isKept) continue;
        entry.isKept = false;
        dropFile(entry.spooled);
      }
    },
    find: (seq, n, mayBeAsked) => {
      const spooled = held.get(seq)?.find((entry) => entry.spooled.outcome.n === n)?.spooled;
      return spooled && mayBeAsked && isOutdone(spooled) ? undefined : spooled?.outcome;
    },
    open: async ({ jobOwner }) => {
      const found: { seq: number; outcome: Outcome }[] = [];
      for (const spooled of await spool.read()) {
        const { ref, provider, outcome } = spooled;
        const seq = seqOfGenerationId(generationOf(ref));
        if (seq === undefined) continue;
        const owner = outcome.type === "rejected" || !outcome.job ? undefined : await jobOwner(provider, outcome.job.jobId);
        if (owner && !(owner.seq === seq && owner.n === outcome.n)) {
          dropFile(spooled);
          continue;
        }
        add(seq, entryOf(spooled, true));
        if (!isOutdone(spooled)) found.push({ seq, outcome });
      }
      return found;
    },
  };
};
