// The host of one live generation: it applies one event at a time.
//
// It holds the next event until the commit of the current one is acknowledged.
import { type Actor, createActor } from "xstate";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import type { ApplyTransition, TransitionResult } from "../../src/domain/transition.ts";
import type { GenerationRecord, PlannedRoute } from "../../src/domain/types.ts";
import { applyEvents, type Taken } from "../generation/apply-event.ts";
import { generationMachine, type Leaf } from "../generation/machine.ts";
import { type GenerationSnapshot, isStaleDeadline, leafOf, thaw } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent, MachineOutput } from "../generation/types.ts";

/** The stored state of a generation that is sufficient to continue it. */
export type PersistedGeneration = {
  version: number;
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  snapshot: string | null;
};

/** Dependencies that all hosts share. */
export type HostDeps = {
  collectMs: number;
  keepFilesMs: number;
  post: (mutation: ApplyTransition) => Promise<TransitionResult>;
  /** Resolves when disk space may be available. */
  space: () => Promise<void>;
  nowMs: () => number;
  /** Reads the stored state; undefined if the generation has ended. */
  reread: (seq: number) => Promise<PersistedGeneration | undefined>;
  /** Called after the `times`th consecutive read error. Resolves when the read should be retried. */
  unread: (of: { seq: number; id: string }, times: number, fault: unknown) => Promise<void>;
  /** Called when the actor is in memory. */
  woke: (host: ActorHost) => void;
  /** Called when the mailbox is empty, so that the actor may be passivated. */
  rested: (host: ActorHost) => void;
  /** Called after the commit with the new state and its effects. `before` is the state before the event. */
  stepped: (
    host: ActorHost,
    before: GenerationSnapshot,
    after: GenerationSnapshot,
    effects: Effect[],
    record: GenerationRecord,
  ) => void;
  /** Called when the transition of an event is committed. */
  dealtWith: (seq: number, event: GenerationEvent) => void;
  /** Called when this host cannot continue the generation; `reason` is null if the generation has ended. */
  lost: (host: ActorHost, reason: string | null) => void;
  /** Whether an event is applied. Called directly before. */
  isWanted: (seq: number, event: GenerationEvent) => boolean;
  /** Called with an event that is not applied: the statechart ignores it in its state, or the stored state is newer (null). */
  unused: (seq: number, event: GenerationEvent, leaf: ReturnType<typeof leafOf> | null) => void;
  /** Called with an event that arrived after the end. */
  late: (seq: number, event: GenerationEvent) => void;
};

/** States with a pending request or download whose response is expected soon. */
const AWAITS_ANSWER: ReadonlySet<Leaf> = new Set([
  "running.submitting.sending",
  "running.collecting.fetching",
  "running.confirming.result",
]);

/** Shared, because most hosts wait. */
const RESTED = Promise.resolve();

type Living = { actor: Actor<typeof generationMachine>; outputs: MachineOutput[] };

export class ActorHost {
  readonly seq: number;
  readonly id: string;
  readonly accountSeq: number;
  private readonly deps: HostDeps;
  private readonly mailbox: (readonly GenerationEvent[])[] = [];
  private living: Living | null = null;
  private version = 0;
  private isBusy = false;
  private working: Promise<void> = RESTED;
  private isOver = false;

  constructor(of: { seq: number; id: string; accountSeq: number }, deps: HostDeps) {
    this.seq = of.seq;
    this.id = of.id;
    this.accountSeq = of.accountSeq;
    this.deps = deps;
  }

  /** Whether the actor is in memory. */
  get isLive(): boolean {
    return this.living !== null;
  }

  /** Restores the actor from the stored state. A generation that never ran starts in `queued`. */
  wake(resting: PersistedGeneration): GenerationSnapshot {
    const { plan, waitEndsAtMs, snapshot } = resting;
    const actor = createActor(generationMachine, {
      input: { plan, waitEndsAtMs, collectMs: this.deps.collectMs },
      ...(snapshot === null ? {} : { snapshot: thaw(snapshot, plan) }),
    });
    const living: Living = { actor, outputs: [] };
    // An error without a listener would end the process in a timer. This listener makes it surface where the event is handled.
    actor.subscribe({ error: () => undefined });
    actor.start();
    // The supervisor performs the entry effect of the first state itself.
    actor.on("*", (output) => living.outputs.push(output));
    this.living = living;
    this.version = resting.version;
    this.deps.woke(this);
    return actor.getSnapshot();
  }

  /** Passivates the actor if nothing is pending; the next event restores it. */
  passivate(): boolean {
    const { living } = this;
    if (this.isBusy || this.mailbox.length > 0 || !living || AWAITS_ANSWER.has(leafOf(living.actor.getSnapshot()))) return false;
    living.actor.stop();
    this.living = null;
    return true;
  }

  /**
   * Queues an event, or several that are committed together. Transitions of one generation are applied one by one in order of
   * arrival.
   */
  send(...events: readonly GenerationEvent[]): void {
    if (this.isOver) return;
    this.mailbox.push(events);
    if (!this.isBusy) this.working = this.work();
  }

  /** Resolves when every queued event has been applied. */
  async idle(): Promise<void> {
    await this.working;
  }

  end(): void {
    this.isOver = true;
    this.mailbox.length = 0;
    this.living?.actor.stop();
    this.living = null;
  }

  private async work(): Promise<void> {
    this.isBusy = true;
    try {
      for (let events = this.mailbox.shift(); events && !this.isOver; events = this.mailbox.shift()) await this.take(events);
    } catch (fault) {
      // The outcome of the commit is unknown or the statechart threw, so this process must not continue the generation.
      this.end();
      this.deps.lost(this, fault instanceof Error ? fault.message : String(fault));
    } finally {
      this.isBusy = false;
    }
    if (this.living) this.deps.rested(this);
  }

  /** Applies events to the actor in order, each to the state after the one before. */
  private apply({ actor, outputs }: Living, events: readonly GenerationEvent[]): Taken[] {
    const taken: Taken[] = [];
    for (const event of events) {
      const before = actor.getSnapshot();
      if (before.status === "done" || isStaleDeadline(before, event)) continue;
      actor.send(event);
      const after = actor.getSnapshot();
      const emitted = outputs.splice(0);
      if (after.status === "error") throw after.error;
      if (after !== before || emitted.length > 0) taken.push({ event, after, outputs: emitted });
      else this.deps.unused(this.seq, event, leafOf(before));
    }
    return taken;
  }

  private async take(group: readonly GenerationEvent[]): Promise<void> {
    const events = group.filter((event) => this.deps.isWanted(this.seq, event));
    if (events.length === 0) return;
    if (!this.living && !(await this.rewake())) {
      for (const event of events) this.deps.late(this.seq, event);
      return;
    }
    const { living } = this;
    if (!living) return;
    const before = living.actor.getSnapshot();
    const taken = this.apply(living, events);
    const step = applyEvents(this.seq, this.version, before, taken, this.deps.keepFilesMs);
    if (!step) return;
    const after = living.actor.getSnapshot();
    const outcome = await this.write(step.mutation);
    switch (outcome.kind) {
      case "stepped":
        this.version = step.mutation.version;
        if (step.hasEnded) this.finish(() => this.deps.stepped(this, before, after, step.effects, outcome.record));
        else this.deps.stepped(this, before, after, step.effects, outcome.record);
        for (const event of events) this.deps.dealtWith(this.seq, event);
        return;
      case "full":
        // Nothing was written. The events are applied to the stored state when there is disk space, with the time of that moment.
        this.forsake(living);
        await this.deps.space();
        if (!this.isOver) this.mailbox.unshift(events.map((event) => ({ ...event, atMs: this.deps.nowMs() })));
        return;
      case "refused":
        // The mutation was rolled back. The host restores the stored state, applies the events before the last alone, and parks the
        // generation.
        this.forsake(living);
        if (events.some(({ type }) => type === "parked")) throw new Error(`parking was refused: ${outcome.reason}`);
        this.mailbox.unshift(...events.slice(0, -1).map((event) => [event]), [
          { type: "parked", reason: outcome.reason, atMs: events[0]?.atMs ?? this.deps.nowMs() },
        ]);
        return;
      case "stale":
        // Another writer changed the generation, so the stored state wins.
        this.forsake(living);
        for (const event of events) this.deps.unused(this.seq, event, null);
        return;
    }
  }

  /** Returns a full disk as an outcome, because it is not an error of the generation. */
  private write(mutation: ApplyTransition): Promise<TransitionResult | { kind: "full" }> {
    return this.deps.post(mutation).catch((fault: unknown) => {
      if (fault instanceof StoreFull) return { kind: "full" } as const;
      throw fault;
    });
  }

  /** Drops the actor, which is ahead of the disk, and restores it from the stored state. */
  private forsake(living: Living): void {
    living.actor.stop();
    this.living = null;
  }

  /** Ends the host. Events that remain in the mailbox are about an ended generation. */
  private finish(report: () => void): void {
    const left = this.mailbox.splice(0);
    this.end();
    report();
    for (const event of left.flat()) this.deps.late(this.seq, event);
  }

  /** Returns false if the generation has ended. */
  private async rewake(): Promise<boolean> {
    const resting = await this.reread();
    if (this.isOver) return true;
    if (resting) this.wake(resting);
    else this.finish(() => this.deps.lost(this, null));
    return resting !== undefined;
  }

  /** Retries the read until it succeeds or the host ends. */
  private async reread(): Promise<PersistedGeneration | undefined> {
    for (let times = 1; !this.isOver; times += 1)
      try {
        return await this.deps.reread(this.seq);
      } catch (fault) {
        await this.deps.unread(this, times, fault);
      }
    return undefined;
  }
}
