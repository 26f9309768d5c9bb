// The ledger actor: the single writer, which commits queued mutations in groups.
//
// It answers a poster only after the commit of its mutation.
import { type Actor, createActor, setup } from "xstate";
import type { Clock } from "../src/domain/clock.ts";
import { StoreFull } from "../src/domain/commit-errors.ts";
import type { Mutation, MutationResult, ResultOf } from "../src/domain/mutations.ts";

/**
 * Statechart of the ledger actor. A transition costs as much as several mutations, so the chart follows periods of writing and
 * not single commits. It returns to idle after a pause.
 */
export const ledgerMachine = setup({
  types: { events: {} as { type: "mutationsArrived" | "emptied" | "diskFilled" | "retried" | "outcomeUnknown" } },
}).createMachine({
  id: "ledger",
  initial: "idle",
  states: {
    idle: { description: "No mutation is queued.", on: { mutationsArrived: "committing" } },
    committing: {
      description: "Transactions are committed in sequence. Mutations that arrive during a commit join the next transaction.",
      on: { emptied: "idle", diskFilled: "full", outcomeUnknown: "stopped" },
    },
    full: {
      description: "The disk is full. Submissions are rejected, and the commit is retried with increasing delays.",
      on: { retried: "committing" },
    },
    stopped: { type: "final", description: "The outcome of a commit is unknown. Nothing more is written and the process exits." },
  },
});

export type Ledger = {
  /**
   * Resolves after the commit. @throws StoreFull if the disk is full and nothing was written; the poster must decide again,
   * because times in the mutation would be outdated. Mutations without times wait instead. @throws any other error if the outcome
   * of the commit is unknown.
   */
  post<D extends Mutation>(mutation: D): Promise<ResultOf<D>>;
  /** Resolves when disk space may be available: immediately, unless the last commit found the disk full. */
  space(): Promise<void>;
  /** `waiting`: submissions whose commit has not started. `fullAtMs`: last time at which the disk was full; null if never. */
  load(): { waiting: number; committingForMs: number; isFull: boolean; fullAtMs: number | null };
  /**
   * Resolves when nothing is queued or being written, or when the queue cannot be written. A stop must not wait for disk space.
   */
  idle(): Promise<void>;
  actor: Actor<typeof ledgerMachine>;
};

export type LedgerDeps = {
  commit: (mutations: readonly Mutation[]) => Promise<MutationResult[]>;
  clock: Clock;
  /** Calls back in the next turn of the event loop, so that mutations posted until then share the commit. */
  soon: (then: () => void) => void;
  /** Called for each mutation after its commit and before its poster is answered. */
  committed: (mutation: Mutation, outcome: MutationResult) => void;
  /** Called once if the outcome of a commit is unknown. The process must exit. */
  unknown: (fault: unknown) => void;
  full: () => void;
  /** Called after the first commit that succeeds after a full disk. */
  onSpace?: () => void;
  /** Called if work after a commit throws. The commit itself is certain. */
  defect: (fault: unknown) => void;
};

type PendingWrite = { mutation: Mutation; resolve: (outcome: MutationResult) => void; reject: (fault: unknown) => void };

/** Mutations that are independent of the time of their commit and whose posters do not retry. */
const AGELESS: ReadonlySet<Mutation["mutation"]> = new Set(["mark-attempt", "save-route-health", "record-webhook-tries"]);
/** Maximum mutations per transaction. Above it, the first mutation waits longer than the shared commit saves. */
const BATCH_LIMIT = 1000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/**
 * After a batch of more than FEW mutations, the next one gathers: a commit costs as much as about ten mutations. It ends after so
 * many turns of the event loop or milliseconds, after so many turns without another mutation, or with so many mutations.
 */
const FEW = 4;
const GATHER_TURNS = 16;
const GATHER_MS = 3;
const EMPTY_TURNS = 3;
const GATHERED = 128;
/** Pause after which the statechart is idle. */
const IDLE_AFTER_MS = 50;

export const createLedger = (deps: LedgerDeps): Ledger => {
  const actor = createActor(ledgerMachine).start();
  let mailbox: PendingWrite[] = [];
  let submissions = 0;
  let idlers: (() => void)[] = [];
  let committingSinceMs: number | null = null;
  let retryMs = FIRST_RETRY_MS;
  let isFull = false;
  /** True from a full disk until the next successful commit. */
  let isDiskFull = false;
  let fullAtMs: number | null = null;
  let spaceSeekers: (() => void)[] = [];
  let stoppedBy: unknown = null;
  /** True while a batch is gathered, written or waits for disk space. */
  let isBusy = false;
  /** True if the last batch had many mutations, so that the next one is expected to have many, too. */
  let isBetweenMany = false;
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

  const settle = async (batch: PendingWrite[]): Promise<void> => {
    if (batch.length === 0) return;
    const outcomes = await deps.commit(batch.map((write) => write.mutation));
    retryMs = FIRST_RETRY_MS;
    if (isDiskFull) {
      isDiskFull = false;
      deps.onSpace?.();
    }
    batch.forEach((write, at) => {
      const outcome = outcomes[at];
      if (!outcome) throw new Error("the store returned fewer results than mutations");
      try {
        deps.committed(write.mutation, outcome);
      } catch (fault) {
        // The mutation is committed and its poster must be answered, although later work threw.
        deps.defect(fault);
      }
      write.resolve(outcome);
    });
  };

  const stop = (fault: unknown, batch: PendingWrite[]) => {
    stoppedBy = fault;
    show("outcomeUnknown");
    deps.unknown(fault);
    for (const write of [...batch, ...mailbox]) write.reject(fault);
    mailbox = [];
    submissions = 0;
    wakeSeekers();
    rest();
  };

  const waitForSpace = (batch: PendingWrite[]) => {
    isFull = true;
    fullAtMs = deps.clock.nowMs();
    if (!isDiskFull) deps.full();
    isDiskFull = true;
    const all = [...batch, ...mailbox];
    mailbox = all.filter(({ mutation }) => AGELESS.has(mutation.mutation));
    submissions = 0;
    for (const write of all) if (!AGELESS.has(write.mutation.mutation)) write.reject(new StoreFull("the disk is full"));
    show("diskFilled");
    deps.clock.after(retryMs, () => {
      show("retried");
      // All posters may post again; the next commit shows whether there is disk space.
      fullAtMs = deps.clock.nowMs();
      isFull = false;
      wakeSeekers();
      deps.soon(flush);
    });
    retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    wakeIdlers();
  };

  const gather = (endsAtMs = deps.clock.nowMs() + GATHER_MS, turns = 1, emptyTurns = 0): void => {
    const before = mailbox.length;
    deps.soon(() => {
      const empty = mailbox.length === before ? emptyTurns + 1 : 0;
      const isOver = turns >= GATHER_TURNS || empty >= EMPTY_TURNS || deps.clock.nowMs() >= endsAtMs;
      if (isOver || mailbox.length >= GATHERED) flush();
      else gather(endsAtMs, turns + 1, empty);
    });
  };
  const next = () => {
    if (mailbox.length > 0) return gather();
    rest();
    showIdle();
  };

  const flush = () => {
    const batch = mailbox.splice(0, BATCH_LIMIT);
    isBetweenMany = batch.length > FEW;
    for (const write of batch) if (write.mutation.mutation === "admit") submissions -= 1;
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
        if (isBetweenMany) gather();
        else queueMicrotask(flush);
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
