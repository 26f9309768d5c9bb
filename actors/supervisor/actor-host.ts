// The host of one live generation: one event at a time, the next only when the one before is on disk.
import { type Actor, createActor } from "xstate";
import type { GenerationRecord, PlannedRoute } from "../../src/domain/types.ts";
import { type ApplyTransition, StoreFull, type TransitionResult } from "../../src/store/mutations.ts";
import { applyEvent } from "../generation/apply-event.ts";
import { generationMachine, type Leaf } from "../generation/machine.ts";
import { type GenerationSnapshot, isStaleDeadline, leafOf, thaw } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent, MachineOutput } from "../generation/types.ts";

/** What is on disk of a generation, enough to go on from. */
export type Resting = { version: number; plan: readonly PlannedRoute[]; waitEndsAtMs: number; snapshot: string | null };

/** What all hosts share. */
export type HostDeps = {
  collectMs: number;
  keepFilesMs: number;
  post: (mutation: ApplyTransition) => Promise<TransitionResult>;
  /** Resolves when there may be space again. */
  space: () => Promise<void>;
  nowMs: () => number;
  /** Reads what is on disk; undefined when the generation has ended. */
  reread: (seq: number) => Promise<Resting | undefined>;
  /** Reading failed, for the `times`th time in a row. Resolves when it is worth another try. */
  unread: (of: { seq: number; id: string }, times: number, fault: unknown) => Promise<void>;
  /** The actor is in memory from now on. */
  woke: (host: ActorHost) => void;
  /** It has dealt with everything it was told: it may be put away. */
  rested: (host: ActorHost) => void;
  /** After the commit: the new state, what it asks for. `before` is the state the event found. */
  stepped: (
    host: ActorHost,
    before: GenerationSnapshot,
    after: GenerationSnapshot,
    asks: Effect[],
    record: GenerationRecord,
  ) => void;
  /** The step of an event is on disk. */
  dealtWith: (seq: number, event: GenerationEvent) => void;
  /** It cannot be continued here; `reason` null: it has ended. */
  lost: (host: ActorHost, reason: string | null) => void;
  /** What came in after the end. */
  late: (seq: number, event: GenerationEvent) => void;
};

/** Something is out whose answer comes soon: a request, or a file. */
const AWAITS_ANSWER: ReadonlySet<Leaf> = new Set([
  "running.submitting.sending",
  "running.collecting.fetching",
  "running.confirming.result",
]);

type Living = { actor: Actor<typeof generationMachine>; sayings: MachineOutput[] };

export class ActorHost {
  readonly seq: number;
  readonly id: string;
  readonly accountSeq: number;
  private readonly deps: HostDeps;
  private readonly mailbox: GenerationEvent[] = [];
  private living: Living | null = null;
  private version = 0;
  private isBusy = false;
  private working: Promise<void> = Promise.resolve();
  private isOver = false;

  constructor(of: { seq: number; id: string; accountSeq: number }, deps: HostDeps) {
    this.seq = of.seq;
    this.id = of.id;
    this.accountSeq = of.accountSeq;
    this.deps = deps;
  }

  /** Whether its actor is in memory. */
  get isAwake(): boolean {
    return this.living !== null;
  }

  /** Wakes the actor from what is on disk. A generation that never had a seat starts in `queued`. */
  wake(resting: Resting): GenerationSnapshot {
    const { plan, waitEndsAtMs, snapshot } = resting;
    const actor = createActor(generationMachine, {
      input: { plan, waitEndsAtMs, collectMs: this.deps.collectMs },
      ...(snapshot === null ? {} : { snapshot: thaw(snapshot, plan) }),
    });
    const living: Living = { actor, sayings: [] };
    // An error nobody listens to would end the process in a timer; here it surfaces where the event is handled.
    actor.subscribe({ error: () => undefined });
    actor.start();
    // What the first state asks for on creation is asked by the supervisor, which is giving the answer already.
    actor.on("*", (saying) => living.sayings.push(saying));
    this.living = living;
    this.version = resting.version;
    this.deps.woke(this);
    return actor.getSnapshot();
  }

  /** Puts the actor away; it wakes from disk at the next event. Only when nothing is under way, here or outside. */
  putAway(): boolean {
    const { living } = this;
    if (this.isBusy || this.mailbox.length > 0 || !living || AWAITS_ANSWER.has(leafOf(living.actor.getSnapshot()))) return false;
    living.actor.stop();
    this.living = null;
    return true;
  }

  /** Takes an event; events of one generation are handled one by one, in order of arrival. */
  tell(event: GenerationEvent): void {
    if (this.isOver) return;
    this.mailbox.push(event);
    if (!this.isBusy) this.working = this.work();
  }

  /** Resolves when every event told so far has been dealt with. */
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
      for (let event = this.mailbox.shift(); event && !this.isOver; event = this.mailbox.shift()) await this.take(event);
    } catch (fault) {
      // The commit's outcome is unknown or the machine is broken: this process may not go on with the generation.
      this.end();
      this.deps.lost(this, fault instanceof Error ? fault.message : String(fault));
    } finally {
      this.isBusy = false;
    }
    if (this.living) this.deps.rested(this);
  }

  private async take(event: GenerationEvent): Promise<void> {
    if (!this.living && !(await this.rewake())) {
      this.deps.late(this.seq, event);
      return;
    }
    const { living } = this;
    if (!living) return;
    const before = living.actor.getSnapshot();
    if (isStaleDeadline(before, event)) return;
    living.actor.send(event);
    const after = living.actor.getSnapshot();
    const sayings = living.sayings.splice(0);
    if (after.status === "error") throw after.error;
    const step = applyEvent(this.seq, this.version + 1, event, before, after, sayings, this.deps.keepFilesMs);
    if (!step) return;
    const outcome = await this.write(step.mutation);
    switch (outcome.kind) {
      case "stepped":
        this.version = step.mutation.version;
        if (step.hasEnded) this.finish(() => this.deps.stepped(this, before, after, step.asks, outcome.record));
        else this.deps.stepped(this, before, after, step.asks, outcome.record);
        return this.deps.dealtWith(this.seq, event);
      case "full":
        // Nothing was written: the event is taken from what is on disk when there is space, and its time is that.
        this.forsake(living);
        await this.deps.space();
        if (!this.isOver) this.mailbox.unshift({ ...event, atMs: this.deps.nowMs() });
        return;
      case "refused":
        // The mutation was rolled back: back to what is on disk, and there to a person.
        this.forsake(living);
        if (event.type === "parked") throw new Error(`parking was refused: ${outcome.reason}`);
        this.mailbox.unshift({ type: "parked", reason: outcome.reason, atMs: event.atMs });
        return;
      case "stale":
        // Somebody else moved on; what they wrote is what counts.
        this.forsake(living);
        return;
    }
  }

  /** A full disk is no fault of the generation: it is told as an outcome. */
  private write(mutation: ApplyTransition): Promise<TransitionResult | { kind: "full" }> {
    return this.deps.post(mutation).catch((fault: unknown) => {
      if (fault instanceof StoreFull) return { kind: "full" } as const;
      throw fault;
    });
  }

  /** The actor is ahead of the disk: what is on disk counts, and is woken from there. */
  private forsake(living: Living): void {
    living.actor.stop();
    this.living = null;
  }

  /** Ends the host; what still waits in the mailbox is about a generation that has ended. */
  private finish(tell: () => void): void {
    const left = this.mailbox.splice(0);
    this.end();
    tell();
    for (const event of left) this.deps.late(this.seq, event);
  }

  /** False when the generation has ended. */
  private async rewake(): Promise<boolean> {
    const resting = await this.reread();
    if (this.isOver) return true;
    if (resting) this.wake(resting);
    else this.finish(() => this.deps.lost(this, null));
    return resting !== undefined;
  }

  /** A read that fails strands nothing: it is tried until it succeeds, or the host is ended. */
  private async reread(): Promise<Resting | undefined> {
    for (let times = 1; !this.isOver; times += 1)
      try {
        return await this.deps.reread(this.seq);
      } catch (fault) {
        await this.deps.unread(this, times, fault);
      }
    return undefined;
  }
}
