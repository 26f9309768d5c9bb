// The supervisor: it admits generations to the run queue, hosts, restores and drains them.

import { ChunkedMap } from "../../src/collections/chunked-map.ts";
import type { OpenGeneration } from "../../src/domain/transition.ts";
import type { Deadline, GenerationRecord } from "../../src/domain/types.ts";
import { deadlineOf, eventOf, type GenerationSnapshot, isSameCommand, leafOf, queueRouteOf } from "../generation/snapshot.ts";
import type { Effect, GenerationEvent } from "../generation/types.ts";
import { ActorHost, type HostDeps } from "./actor-host.ts";
import { createDeadlineGrace } from "./deadline-grace.ts";
import { createDeadlineTimers, type Deadlines } from "./deadline-timers.ts";
import { countHosted, type HostedGeneration, isRunning, newHostedGeneration, stateAfter } from "./hosted-generation.ts";
import { begunOn, choose, lineOf, newLine, type QueuedCandidate } from "./next-route.ts";
import { createPassivation, type LiveActors } from "./passivation.ts";
import { interruptedBy, type RestoredGeneration, readUnfinished, restoreGeneration } from "./restore.ts";
import { createResumeQueue, type Resuming, remainingEffects } from "./resume-queue.ts";
import { createRunQueue, type RunQueue } from "./run-queue.ts";
import type { Queued, SupervisorDeps } from "./types.ts";

export class Supervisor {
  private readonly deps: SupervisorDeps;
  private readonly runQueue: RunQueue;
  private readonly deadlines: Deadlines;
  private readonly resuming: Resuming;
  private readonly hostParts: HostDeps;
  private readonly inLine = new ChunkedMap<QueuedCandidate>();
  private readonly held = new ChunkedMap<HostedGeneration>();
  private readonly liveActors: LiveActors;
  private isDraining = false;
  private sendingCount = 0;
  /** Generations whose attempt is about to become `sending`. */
  private readonly readying = new Set<number>();

  constructor(deps: SupervisorDeps) {
    this.deps = deps;
    this.runQueue = createRunQueue({ all: deps.limits.maxRunning, of: deps.limits.maxRunningOf });
    this.liveActors = createPassivation(deps.limits.maxLiveActors, deps.clock.nowMs);
    this.resuming = createResumeQueue(deps);
    const { clock, limits, post, space } = deps;
    const due = (seq: number, command: Deadline) => this.report(seq, eventOf(command, clock.nowMs()));
    this.deadlines = createDeadlineTimers({ clock, due, putOffUntilMs: createDeadlineGrace(deps) });
    this.hostParts = {
      ...{ collectMs: limits.collectMs, keepFilesMs: limits.keepFilesMs, post, space, nowMs: clock.nowMs },
      reread: async (seq) => (await deps.unfinished(seq - 1, 1)).find((found) => found.seq === seq),
      unread: deps.unread,
      woke: (host) => this.liveActors.add(host),
      rested: (host) => this.liveActors.rested(host),
      stepped: (host, before, after, effects, record) => this.stepped(host, before, after, effects, record),
      dealtWith: (seq, event) => deps.dealtWith?.(seq, event),
      lost: (host, reason) => this.lose(host, reason),
      // A drain may have begun while the event waited for disk space. The attempt stays an intent.
      isWanted: (seq, event) => {
        const isWanted = event.type !== "slotTaken" || !this.isDraining;
        if (event.type === "slotTaken" && !isWanted) deps.freeSlot(seq, event.n);
        return isWanted;
      },
      unused: (seq, event, leaf) => this.freeSlotOf(seq, event, leaf),
      late: (seq, event) => {
        this.freeSlotOf(seq, event, null);
        deps.lateReport(seq, event);
      },
    };
  }

  /** Adds a generation whose admission is committed. */
  admitted(queued: Queued): void {
    this.deadlines.set(queued.seq, { kind: "start", n: 0, dueAtMs: queued.waitEndsAtMs });
    this.place(newLine(queued));
  }

  /** Queues outcomes or a deadline event for a generation. Several are committed together. */
  report(seq: number, ...events: readonly GenerationEvent[]): void {
    // In a restored database the generation may be queued although the response to its attempt is on this node's disk. It keeps its
    // place, and its first attempt looks for the job if the provider can be asked.
    if (!this.held.has(seq) && this.inLine.has(seq) && events.every((event) => "n" in event)) return;
    const held = this.held.get(seq) ?? this.hostQueued(seq);
    const taken = events.find((event) => event.type === "slotTaken");
    if (!held) for (const event of events) this.deps.lateReport(seq, event);
    else if (!taken) held.host.send(...events);
    // During a drain nothing is sent. The attempt stays an intent that the next start may send.
    else if (this.isDraining) this.deps.perform(seq, { type: "effect.letGo", n: taken.n });
    else this.makeReady(held, ...events);
  }

  /** Frees the slot that was taken for an attempt that does not send. */
  private freeSlotOf(seq: number, event: GenerationEvent, leaf: ReturnType<typeof leafOf> | null): void {
    if (event.type !== "begun" && event.type !== "slotTaken") return;
    if (leaf !== "running.submitting.sending") this.deps.freeSlot(seq, event.n);
  }

  /** Applies events that make an attempt `sending`. A drain waits for it. */
  private makeReady({ host }: HostedGeneration, ...events: readonly GenerationEvent[]): void {
    this.readying.add(host.seq);
    host.send(...events);
    void host.idle().then(() => this.readying.delete(host.seq));
  }

  /** Places generations again that wait for a closed route, after routes changed or the catalogue was replaced. */
  routesChanged(routeIds: Iterable<string>): void {
    for (const routeId of routeIds) {
      if (this.deps.gate(routeId).kind === "open") continue;
      for (const waiting of this.runQueue.drainRoute(routeId)) {
        const line = this.inLine.get(waiting.seq);
        if (line) this.place(line);
      }
    }
    this.startWaiting();
  }

  /**
   * Restores every open generation, or those in `unfinished`. Resolves with their number.
   * @param waiting decisions and responses that a generation takes before it does anything else
   */
  async recover(
    unfinished = this.deps.unfinished,
    waiting: ReadonlyMap<number, readonly GenerationEvent[]> = new Map(),
  ): Promise<number> {
    const toPlace: QueuedCandidate[] = [];
    let isPlacing = false;
    const found = await readUnfinished({ unfinished, breathe: this.deps.breathe }, (unfinished) =>
      this.deps.takingUp(unfinished, () => {
        // Each generation has one host, also if a decision for it arrives while a start restores it.
        if (this.has(unfinished.seq)) return;
        const line = this.restore(unfinished);
        // From here on the generation is counted and can be found.
        if (line) this.inLine.set(line.seq, line);
        for (const event of waiting.get(unfinished.seq) ?? []) this.report(unfinished.seq, event);
        if (line && isPlacing) this.place(line);
        else if (line) toPlace.push(line);
      }),
    );
    isPlacing = true;
    // Running generations take their places before queued ones.
    for (const line of toPlace) if (this.inLine.get(line.seq) === line) this.place(line);
    return found;
  }

  /** Starts the deadlines and performs the effects of restored generations when the service is open. */
  resume(): void {
    this.deadlines.open();
    this.resuming.open();
  }
  /** Stops new attempts; running work continues. */
  drain(): void {
    this.isDraining = true;
  }
  /** Number of attempts whose request may be in transit. */
  readonly sending = (): number => this.sendingCount + this.readying.size;
  readonly has = (seq: number): boolean => this.held.has(seq) || this.inLine.has(seq);
  /** Resolves when a generation has applied every event that was queued so far. */
  readonly idle = (seq: number): Promise<void> => this.held.get(seq)?.host.idle() ?? Promise.resolve();
  readonly isLive = (seq: number): boolean => this.held.get(seq)?.host.isLive ?? false;
  readonly runningOnRoute = (routeId: string): number => this.runQueue.onRoute(routeId);
  counts(): { queued: number; running: number; live: number; deadlines: number } {
    const hosted = countHosted(this.inLine.values(), (seq) => this.held.get(seq));
    const counts = { queued: this.inLine.size, running: this.held.size - hosted };
    return { ...counts, live: this.liveActors.size(), deadlines: this.deadlines.size() };
  }
  stop(): void {
    this.isDraining = true;
    this.deadlines.stop();
    this.resuming.stop();
    for (const { host } of this.held.values()) host.end();
    this.held.clear();
    this.inLine.clear();
  }

  private place(line: QueuedCandidate): void {
    this.inLine.set(line.seq, line);
    const hasPlace = isRunning(this.held.get(line.seq));
    const choice = choose(line, this.deps.gate);
    const atMs = this.deps.clock.nowMs();
    // §2.5: the deadline may be overdue before its timer fires, for example after a restart.
    if (atMs >= line.waitEndsAtMs) this.report(line.seq, { type: "waitEnded", atMs });
    else if (line.awaitsPins) this.resuming.later(line.seq, () => this.pinOf(line));
    else if (choice.route === null) this.report(line.seq, { type: "skipped", passed: choice.passed, atMs });
    else if (!this.isDraining && this.runQueue.tryTake(choice.routeId, hasPlace)) this.begin(line, choice.routeId);
    else this.runQueue.wait({ seq: line.seq, accountSeq: line.accountSeq, routeId: choice.routeId, isRunning: hasPlace });
  }

  /** Inputs are pinned only while the service is open, never during a drain. */
  private pinOf(line: QueuedCandidate): Effect | null {
    return this.inLine.get(line.seq) === line && !this.isDraining ? { type: "effect.pin" } : null;
  }

  /** Begins the next attempt on `routeId`, whose place is taken, unless the route closed meanwhile. */
  private begin(line: QueuedCandidate, routeId: string): void {
    const choice = choose(line, this.deps.gate);
    if (choice.route === null || choice.routeId !== routeId || this.deps.clock.nowMs() >= line.waitEndsAtMs) {
      this.runQueue.giveBack(routeId);
      if (!isRunning(this.held.get(line.seq))) this.runQueue.endRunning();
      this.place(line);
      return;
    }
    const held = this.held.get(line.seq) ?? this.hostQueued(line.seq);
    if (!held) return;
    this.inLine.delete(line.seq);
    // The granted place was not used, because the generation is busy with a late result.
    if (held.queueRoute !== null) this.runQueue.giveBack(held.queueRoute);
    held.queueRoute = routeId;
    held.isGranted = true;
    held.isCounted = true;
    const begun = begunOn(line, choice, this.deps.clock.nowMs());
    const price = line.plan[choice.route]?.priceCredits ?? 0;
    const slotTaken = this.deps.prepare(line.seq, begun, price);
    if (slotTaken === null) held.host.send(begun);
    else this.makeReady(held, begun, slotTaken);
  }

  /** Creates the actor of a queued generation. The entry is registered first, so that each generation has one host. */
  private hostQueued(seq: number): HostedGeneration | undefined {
    const line = this.inLine.get(seq);
    if (!line) return undefined;
    this.inLine.delete(seq);
    this.runQueue.leave(seq);
    const host = new ActorHost(line, this.hostParts);
    const held = newHostedGeneration(host, { queueRoute: null, isCounted: false, watched: [] });
    this.held.set(seq, held);
    host.wake({ version: 0, plan: line.plan, waitEndsAtMs: line.waitEndsAtMs, snapshot: null });
    return held;
  }

  private startWaiting(): void {
    if (this.isDraining) return;
    for (let next = this.runQueue.nextGranted(); next; next = this.runQueue.nextGranted()) {
      const line = this.inLine.get(next.seq);
      if (line) this.begin(line, next.routeId);
      else {
        this.runQueue.giveBack(next.routeId);
        if (!next.isRunning) this.runQueue.endRunning();
      }
    }
  }

  private stepped(
    host: ActorHost,
    before: GenerationSnapshot,
    after: GenerationSnapshot,
    effects: Effect[],
    record: GenerationRecord,
  ): void {
    const held = this.held.get(host.seq);
    if (!held) return;
    const leaf = leafOf(after);
    if (after.context.tried !== before.context.tried) held.isGranted = false;
    held.standing = stateAfter(held, before, after, effects);
    this.countSending(held, leaf === "running.submitting.sending");
    if (!isSameCommand(deadlineOf(before), deadlineOf(after))) this.deadlines.set(host.seq, deadlineOf(after));
    const hasEnded = after.status === "done";
    if (leaf !== "running.awaitingSlot") {
      this.inLine.delete(host.seq);
      this.runQueue.leave(host.seq);
    }
    if (hasEnded) {
      this.held.delete(host.seq);
      this.liveActors.remove(host);
    }
    this.leaveQueue(held, after, hasEnded);
    this.deps.stepped(record, after);
    for (const effect of effects) {
      if (effect.type === "effect.beginAttempt") this.place(lineOf(host, after));
      else this.deps.perform(host.seq, effect);
    }
    this.startWaiting();
  }

  /**
   * Called before the effect of a restored generation is performed. If the generation has not moved, its deadline grace starts
   * now.
   */
  private turnOf(ask: Effect, held: HostedGeneration, { deadlineFrom, snapshot }: RestoredGeneration): Effect | null {
    const { seq } = held.host;
    const isHeld = this.held.get(seq) === held;
    if (!isHeld && !held.standing.hasEnded) return null;
    const { hasLeft, hasNewDeadline } = held.standing;
    if (isHeld && !hasLeft && !hasNewDeadline) this.deadlines.set(seq, deadlineFrom(this.deps.clock.nowMs()));
    return remainingEffects(ask, snapshot.context.watched, held.standing);
  }

  private leaveQueue(held: HostedGeneration, after: GenerationSnapshot, hasEnded: boolean): void {
    const isOver = hasEnded || leafOf(after) === "running.parked";
    if (held.queueRoute !== null && (isOver || (!held.isGranted && queueRouteOf(after) !== held.queueRoute))) {
      this.runQueue.giveBack(held.queueRoute);
      held.queueRoute = null;
    }
    if (held.isCounted && isOver) {
      this.runQueue.endRunning();
      held.isCounted = false;
    }
  }

  private countSending(held: HostedGeneration, isSending: boolean): void {
    if (held.isSending !== isSending) this.sendingCount += isSending ? 1 : -1;
    held.isSending = isSending;
  }

  private lose(host: ActorHost, reason: string | null): void {
    const held = this.held.get(host.seq);
    if (!held) return;
    this.held.delete(host.seq);
    this.inLine.delete(host.seq);
    this.runQueue.leave(host.seq);
    this.liveActors.remove(host);
    this.deadlines.set(host.seq, null);
    this.countSending(held, false);
    if (held.queueRoute !== null) this.runQueue.giveBack(held.queueRoute);
    if (held.isCounted) this.runQueue.endRunning();
    if (reason !== null) this.deps.stopped(host.seq, host.id, reason);
    this.startWaiting();
  }

  /** Restores a generation from the stored state. Returns its entry for the run queue if it waits for a route. */
  private restore(found: OpenGeneration): QueuedCandidate | null {
    const { seq, id, accountSeq, snapshot } = found;
    if (snapshot === null) {
      this.deadlines.set(seq, { kind: "start", n: 0, dueAtMs: found.waitEndsAtMs });
      return newLine(found);
    }
    let taken: RestoredGeneration;
    try {
      taken = restoreGeneration(found, snapshot, this.deps.clock.nowMs(), this.deps.lastAliveMs);
    } catch (fault) {
      this.deps.stopped(seq, id, fault instanceof Error ? fault.message : String(fault));
      return null;
    }
    const { leaf, queueRoute } = taken;
    const host = new ActorHost({ seq, id, accountSeq }, this.hostParts);
    const isParked = leaf === "running.parked";
    const isQueued = leaf === "queued";
    const held = newHostedGeneration(host, {
      queueRoute,
      isCounted: !isParked && !isQueued,
      watched: taken.snapshot.context.watched,
    });
    this.held.set(seq, held);
    if (isParked) this.deps.foundParked(seq, id);
    if (queueRoute !== null) this.runQueue.take(queueRoute, false);
    else if (held.isCounted) this.runQueue.enter();
    this.deadlines.set(seq, taken.deadlineFrom(this.deps.clock.nowMs()));
    const unanswered = interruptedBy(seq, taken, this.deps);
    if (unanswered) host.send(unanswered);
    for (const effect of taken.effects) this.resuming.later(seq, () => this.turnOf(effect, held, taken));
    return isQueued || leaf === "running.awaitingSlot" ? lineOf(host, taken.snapshot) : null;
  }
}
