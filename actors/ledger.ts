// The ledger: one mailbox for everything that is written, committed in groups; nobody is answered before the commit.
import { type Actor, createActor, setup } from "xstate";
import type { Clock } from "../src/clock.ts";
import { type Deed, type DeedOutcome, type OutcomeOf, StoreFull } from "../src/deeds.ts";

/** The ledger's own chart: what its mailbox is doing. One event per batch, never one per deed. */
export const ledgerMachine = setup({
  types: {
    events: {} as { type: "deedsArrived" | "begun" | "committed" | "emptied" | "disk full" | "outcomeUnknown" | "retried" },
  },
}).createMachine({
  id: "ledger",
  initial: "idle",
  states: {
    idle: { description: "Nothing to write.", on: { deedsArrived: "gathering" } },
    gathering: { description: "Deeds of this turn are gathered into one batch.", on: { begun: "committing" } },
    committing: {
      description: "One transaction is under way; what arrives meanwhile waits for the next.",
      on: { committed: "gathering", emptied: "idle", "disk full": "full", outcomeUnknown: "stopped" },
    },
    full: {
      description: "The disk is full: submissions are turned away, everything else waits and is tried again.",
      on: { retried: "gathering" },
    },
    stopped: { type: "final", description: "A commit's outcome is unknown: nothing more is written, the process ends." },
  },
});

export type Ledger = {
  /** Resolves after the commit. @throws StoreFull for submissions when the disk is full. @throws when the outcome is unknown. */
  post<D extends Deed>(deed: D): Promise<OutcomeOf<D>>;
  load(): { waiting: number; committingForMs: number; isFull: boolean };
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
  actor: Actor<typeof ledgerMachine>;
};

export type LedgerParts = {
  commit: (deeds: readonly Deed[]) => Promise<DeedOutcome[]>;
  clock: Clock;
  /** Calls back at the end of this turn of the event loop, so that all that arrive together share one commit. */
  soon: (then: () => void) => void;
  /** Told of each deed once it is on disk, before its poster is. */
  committed: (deed: Deed, outcome: DeedOutcome) => void;
  /** Told once, when a commit ended in doubt: the process must stop. */
  unknown: (fault: unknown) => void;
  full: () => void;
};

type Letter = { deed: Deed; resolve: (outcome: DeedOutcome) => void; reject: (fault: unknown) => void };

/** Deeds per transaction: above it the wait of the first costs more than the shared commit gains. */
const BATCH_LIMIT = 1000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;

export const openLedger = (parts: LedgerParts): Ledger => {
  const actor = createActor(ledgerMachine).start();
  let mailbox: Letter[] = [];
  let idlers: (() => void)[] = [];
  let committingSinceMs: number | null = null;
  let retryMs = FIRST_RETRY_MS;
  let isFull = false;
  let stoppedBy: unknown = null;

  const settle = async (batch: Letter[]): Promise<void> => {
    if (batch.length === 0) return;
    const outcomes = await parts.commit(batch.map((letter) => letter.deed));
    retryMs = FIRST_RETRY_MS;
    isFull = false;
    batch.forEach((letter, at) => {
      const outcome = outcomes[at];
      if (!outcome) throw new Error("the store answered fewer deeds than it was given");
      parts.committed(letter.deed, outcome);
      letter.resolve(outcome);
    });
  };

  const stop = (fault: unknown, batch: Letter[]) => {
    stoppedBy = fault;
    actor.send({ type: "outcomeUnknown" });
    parts.unknown(fault);
    for (const letter of [...batch, ...mailbox]) letter.reject(fault);
    mailbox = [];
  };

  const waitForSpace = (batch: Letter[]) => {
    isFull = true;
    parts.full();
    // A submission can be turned away safely; an event of a running generation cannot.
    const kept = batch.filter((letter) => letter.deed.deed !== "admit");
    for (const letter of batch) if (letter.deed.deed === "admit") letter.reject(new StoreFull("the disk is full"));
    mailbox = [...kept, ...mailbox];
    actor.send({ type: "disk full" });
    parts.clock.after(retryMs, () => {
      actor.send({ type: "retried" });
      parts.soon(flush);
    });
    retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2);
  };

  const next = () => {
    if (mailbox.length > 0) {
      actor.send({ type: "committed" });
      parts.soon(flush);
      return;
    }
    actor.send({ type: "emptied" });
    const waiters = idlers;
    idlers = [];
    for (const wake of waiters) wake();
  };

  const flush = () => {
    actor.send({ type: "begun" });
    const batch = mailbox.splice(0, BATCH_LIMIT);
    committingSinceMs = parts.clock.nowMs();
    settle(batch).then(
      () => {
        committingSinceMs = null;
        next();
      },
      (fault: unknown) => {
        committingSinceMs = null;
        if (fault instanceof StoreFull) waitForSpace(batch);
        else stop(fault, batch);
      },
    );
  };

  return {
    actor,
    post: <D extends Deed>(deed: D) => {
      if (stoppedBy !== null) return Promise.reject(stoppedBy);
      if (isFull && deed.deed === "admit") return Promise.reject(new StoreFull("the disk is full"));
      return new Promise<OutcomeOf<D>>((resolve, reject) => {
        mailbox.push({ deed, resolve: resolve as (outcome: DeedOutcome) => void, reject });
        if (actor.getSnapshot().value === "idle") {
          actor.send({ type: "deedsArrived" });
          parts.soon(flush);
        }
      });
    },
    load: () => ({
      waiting: mailbox.length,
      committingForMs: committingSinceMs === null ? 0 : parts.clock.nowMs() - committingSinceMs,
      isFull,
    }),
    idle: () =>
      mailbox.length === 0 && committingSinceMs === null && actor.getSnapshot().value === "idle"
        ? Promise.resolve()
        : new Promise((wake) => idlers.push(wake)),
  };
};
