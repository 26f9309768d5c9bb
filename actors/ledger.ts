// The ledger: one mailbox for everything that is written, committed in groups; nobody is answered before the commit.
import { type Actor, createActor, setup } from "xstate";
import type { Clock } from "../src/domain/clock.ts";
import { type Mutation, type MutationResult, type ResultOf, StoreFull } from "../src/store/mutations.ts";

/**
 * The ledger's own chart. A transition costs as much as writing a few mutations, so it follows the stretches of writing and not each
 * commit: the ledger is idle again when nothing came for a while.
 */
export const ledgerMachine = setup({
  types: { events: {} as { type: "mutationsArrived" | "emptied" | "diskFilled" | "retried" | "outcomeUnknown" } },
}).createMachine({
  id: "ledger",
  initial: "idle",
  states: {
    idle: { description: "Nothing to write.", on: { mutationsArrived: "committing" } },
    committing: {
      description: "One transaction after another; what arrives during one is the next.",
      on: { emptied: "idle", diskFilled: "full", outcomeUnknown: "stopped" },
    },
    full: {
      description: "The disk is full: submissions are refused, and the commit is retried with increasing delays.",
      on: { retried: "committing" },
    },
    stopped: { type: "final", description: "A commit's outcome is unknown: nothing more is written, the process ends." },
  },
});

export type Ledger = {
  /**
   * Resolves after the commit. @throws StoreFull when the disk is full, and nothing was written: what a mutation says of a time would be
   * old by when there is space, so whoever posted it decides anew. Notes that do not age wait. @throws when the outcome is unknown.
   */
  post<D extends Mutation>(mutation: D): Promise<ResultOf<D>>;
  /** Resolves when there may be space again: at once, unless the disk was full at the last try. */
  space(): Promise<void>;
  /** `waiting`: submissions whose commit has not begun. `fullAtMs`: when the disk was last known to be full; null: never. */
  load(): { waiting: number; committingForMs: number; isFull: boolean; fullAtMs: number | null };
  /** Resolves when nothing waits and nothing is under way, or when what waits cannot be written: a stop must not wait for space. */
  idle(): Promise<void>;
  actor: Actor<typeof ledgerMachine>;
};

export type LedgerDeps = {
  commit: (mutations: readonly Mutation[]) => Promise<MutationResult[]>;
  clock: Clock;
  /** Calls back in the next turn of the event loop: what is on its way by then shares the commit. */
  soon: (then: () => void) => void;
  /** Told of each mutation once it is on disk, before its poster is. */
  committed: (mutation: Mutation, outcome: MutationResult) => void;
  /** Told once, when a commit ended in doubt: the process must stop. */
  unknown: (fault: unknown) => void;
  full: () => void;
  /** Called with the first commit that a disk takes after it was full. */
  hasRoom?: () => void;
  /** What follows a commit threw: a bug to be looked at, not a doubt about the commit. */
  defect: (fault: unknown) => void;
};

type Letter = { mutation: Mutation; resolve: (outcome: MutationResult) => void; reject: (fault: unknown) => void };

/** Mutations that say the same whenever they are written, and whose posters do not ask again. */
const AGELESS: ReadonlySet<Mutation["mutation"]> = new Set(["mark-attempt", "save-route-health"]);
/** Mutations per transaction: above it the wait of the first costs more than the shared commit gains. */
const BATCH_LIMIT = 1000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;
/**
 * Turns of the event loop that a commit right behind another waits for company, and how many mutations are company enough: a commit costs as
 * much as writing some ten mutations, and those who are on their way to the ledger are there within microseconds.
 */
const GATHER_TURNS = 4;
const GATHERED = 40;
/** Nothing to write for this long is what the chart calls idle. */
const IDLE_AFTER_MS = 50;

export const createLedger = (deps: LedgerDeps): Ledger => {
  const actor = createActor(ledgerMachine).start();
  let mailbox: Letter[] = [];
  let submissions = 0;
  let idlers: (() => void)[] = [];
  let committingSinceMs: number | null = null;
  let retryMs = FIRST_RETRY_MS;
  let isFull = false;
  /** Full, and no commit since: a retry proves nothing before it is taken. */
  let isWithoutRoom = false;
  let fullAtMs: number | null = null;
  let spaceSeekers: (() => void)[] = [];
  let stoppedBy: unknown = null;
  /** A batch is being gathered, written, or waits for space. */
  let isBusy = false;
  let isShownIdle = true;
  let isIdleDue = false;

  const show = (type: Parameters<typeof actor.send>[0]["type"]) => actor.send({ type });
  const showIdle = () => {
    if (isIdleDue) return;
    isIdleDue = true;
    deps.clock.after(IDLE_AFTER_MS, () => {
      isIdleDue = false;
      if (isBusy || isShownIdle || stoppedBy !== null) return;
      isShownIdle = true;
      show("emptied");
    });
  };

  const wakeIdlers = () => {
    const waiters = idlers;
    idlers = [];
    for (const wake of waiters) wake();
  };
  const wakeSeekers = () => {
    const seekers = spaceSeekers;
    spaceSeekers = [];
    for (const wake of seekers) wake();
  };
  const rest = () => {
    isBusy = false;
    wakeIdlers();
  };

  const settle = async (batch: Letter[]): Promise<void> => {
    if (batch.length === 0) return;
    const outcomes = await deps.commit(batch.map((letter) => letter.mutation));
    retryMs = FIRST_RETRY_MS;
    if (isWithoutRoom) {
      isWithoutRoom = false;
      deps.hasRoom?.();
    }
    batch.forEach((letter, at) => {
      const outcome = outcomes[at];
      if (!outcome) throw new Error("the store answered fewer mutations than it was given");
      try {
        deps.committed(letter.mutation, outcome);
      } catch (fault) {
        // A defect of what follows; the mutation itself is on disk and its poster has to know.
        deps.defect(fault);
      }
      letter.resolve(outcome);
    });
  };

  const stop = (fault: unknown, batch: Letter[]) => {
    stoppedBy = fault;
    show("outcomeUnknown");
    deps.unknown(fault);
    for (const letter of [...batch, ...mailbox]) letter.reject(fault);
    mailbox = [];
    submissions = 0;
    wakeSeekers();
    rest();
  };

  const waitForSpace = (batch: Letter[]) => {
    isFull = true;
    fullAtMs = deps.clock.nowMs();
    if (!isWithoutRoom) deps.full();
    isWithoutRoom = true;
    const all = [...batch, ...mailbox];
    mailbox = all.filter(({ mutation }) => AGELESS.has(mutation.mutation));
    submissions = 0;
    for (const letter of all) if (!AGELESS.has(letter.mutation.mutation)) letter.reject(new StoreFull("the disk is full"));
    show("diskFilled");
    deps.clock.after(retryMs, () => {
      show("retried");
      // Everybody is let in again: the next commit tells whether there is space.
      fullAtMs = deps.clock.nowMs();
      isFull = false;
      wakeSeekers();
      deps.soon(flush);
    });
    retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2);
    wakeIdlers();
  };

  const gather = (turns: number): void => deps.soon(() => (turns > 1 && mailbox.length < GATHERED ? gather(turns - 1) : flush()));
  const next = () => {
    if (mailbox.length > 0) return gather(GATHER_TURNS);
    rest();
    showIdle();
  };

  const flush = () => {
    const batch = mailbox.splice(0, BATCH_LIMIT);
    for (const letter of batch) if (letter.mutation.mutation === "admit") submissions -= 1;
    committingSinceMs = deps.clock.nowMs();
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
    post: <D extends Mutation>(mutation: D) => {
      if (stoppedBy !== null) return Promise.reject(stoppedBy);
      if (isFull && !AGELESS.has(mutation.mutation)) return Promise.reject(new StoreFull("the disk is full"));
      return new Promise<ResultOf<D>>((resolve, reject) => {
        mailbox.push({ mutation, resolve: resolve as (outcome: MutationResult) => void, reject });
        if (mutation.mutation === "admit") submissions += 1;
        if (isBusy) return;
        isBusy = true;
        if (isShownIdle) show("mutationsArrived");
        isShownIdle = false;
        queueMicrotask(flush);
      });
    },
    load: () => ({
      waiting: submissions,
      committingForMs: committingSinceMs === null ? 0 : deps.clock.nowMs() - committingSinceMs,
      isFull,
      fullAtMs: isFull ? deps.clock.nowMs() : fullAtMs,
    }),
    space: () => (isFull && stoppedBy === null ? new Promise((wake) => spaceSeekers.push(wake)) : Promise.resolve()),
    idle: () => (!isBusy || isFull ? Promise.resolve() : new Promise((wake) => idlers.push(wake))),
  };
};
