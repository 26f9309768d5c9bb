// Queue of one endpoint, or of one account's addresses of submissions: it sends due deliveries with bounded concurrency.
//
// Only deliveries that are due are in memory, and at most a page of them. The store has the others, and a timer wakes the queue
// when the next one is due.
import type { Clock } from "../../src/domain/clock.ts";
import type { EndpointCondition, PendingDelivery, TryResult, WebhookTry } from "../../src/domain/webhooks.ts";
import { type Condition, createCondition, type EndpointVerdict } from "./condition.ts";
import type { EndpointContext } from "./machine.ts";
import { PROMPT_MS, type ReceiverSpeed, type ReceiverSpeeds } from "./receiver-speed.ts";
import { afterFailure } from "./schedule.ts";

/**
 * `dropped`: the event is outdated, or its endpoint is deleted. `held`: the endpoint is disabled. `called-off`: the signal aborted
 * the try.
 */
export type SendOutcome = { kind: "made"; made: WebhookTry } | { kind: "dropped" } | { kind: "held" } | { kind: "called-off" };

/** A place among concurrent tries. `giveToOthers`: the try continues, and the place is free for another one. */
export type Place = { leave: () => void; giveToOthers: () => void };
/** Waits for a place among the tries of receivers with this speed; undefined if the signal ends the wait. */
export type TakePlace = (accountSeq: number, speed: ReceiverSpeed, signal: AbortSignal) => Promise<Place | undefined>;

export type LaneDeps = {
  clock: Clock;
  /** The next pending deliveries of a queue by due time. */
  next: (lane: number, limit: number) => Promise<readonly PendingDelivery[]>;
  /** The stored condition of an endpoint; undefined if it is disabled or deleted. */
  conditionOf: (endpointSeq: number) => Promise<EndpointContext | undefined>;
  send: (delivery: PendingDelivery, signal: AbortSignal) => Promise<SendOutcome>;
  takePlace: TakePlace;
  speeds: ReceiverSpeeds;
  /** Resolves after the commit of a result. */
  record: (result: TryResult, condition: EndpointCondition | undefined) => Promise<void>;
  /** Called after each try. */
  tried: (delivery: PendingDelivery, made: WebhookTry, result: TryResult) => void;
  /** Called for a fault of the service, such as an unavailable store. The queue continues after a pause. */
  failed: (fault: unknown) => void;
  /** Called after the end of each try, its commit included. */
  settled: () => void;
  /** Called when the queue has nothing to do. */
  idle: (lane: number) => void;
  /** Aborted when the service stops. */
  signal: AbortSignal;
  /** Whether no new try begins. */
  isDraining: () => boolean;
};

/** Maximum concurrent tries of one queue, of one whose receiver is unknown, and of one whose last try failed. */
const IN_FLIGHT = 32;
const IN_FLIGHT_UNKNOWN = 2;
const IN_FLIGHT_FAILING = 1;
/** Deliveries in memory beside those in flight. */
const PAGE = 64;
/** Pause after a fault of the service. */
const FAULT_PAUSE_MS = 5000;
const GONE = 410;

const verdictOf = ({ status }: WebhookTry): EndpointVerdict => {
  if (status === GONE) return "gone";
  return status !== null && status >= 200 && status < 300 ? "delivered" : "failed";
};

const resultOf = ({ seq, tries, retryNo }: PendingDelivery, made: WebhookTry, verdict: EndpointVerdict): TryResult => {
  const tried = { seq, triesBefore: tries, made };
  if (verdict === "delivered") return { ...tried, state: "delivered", retryNo, dueAtMs: null };
  if (verdict === "gone") return { ...tried, state: "failed", retryNo, dueAtMs: null };
  return { ...tried, ...afterFailure(retryNo, made.atMs) };
};

const dropped = ({ seq, tries, retryNo }: PendingDelivery): TryResult => ({
  ...{ seq, triesBefore: tries, made: null, state: "dropped", retryNo, dueAtMs: null },
});

/** Runs a function at the earliest of the times that were set. */
class Wake {
  private next: { atMs: number; takeBack: () => void } | undefined;
  private readonly clock: Clock;
  private readonly due: () => void;

  constructor(clock: Clock, due: () => void) {
    this.clock = clock;
    this.due = due;
  }

  get isSet(): boolean {
    return this.next !== undefined;
  }

  at(atMs: number): void {
    if (this.next !== undefined && this.next.atMs <= atMs) return;
    this.next?.takeBack();
    const takeBack = this.clock.after(Math.max(0, atMs - this.clock.nowMs()), () => {
      this.next = undefined;
      this.due();
    });
    this.next = { atMs, takeBack };
  }

  clear(): void {
    this.next?.takeBack();
    this.next = undefined;
  }
}

export class Lane {
  private readonly id: number;
  private readonly accountSeq: number;
  private readonly deps: LaneDeps;
  private readonly wake: Wake;
  private buffer: PendingDelivery[] = [];
  private readonly inFlight = new Set<number>();
  /** Deliveries that ended while the store was read, whose rows may be outdated. */
  private ended = new Set<number>();
  private condition: Condition | undefined;
  /** The store may have deliveries that are due and not in memory. */
  private hasMore = false;
  private isReading = false;
  /** The endpoint is disabled or deleted. */
  private isHeld = false;

  /** @param id row number of the endpoint, or the negative one of the account for addresses of submissions */
  constructor(id: number, accountSeq: number, deps: LaneDeps) {
    this.id = id;
    this.accountSeq = accountSeq;
    this.deps = deps;
    this.wake = new Wake(deps.clock, () => {
      this.hasMore = true;
      this.pump();
    });
  }

  /** Adds a delivery that was committed just now. The store may have returned it already, before this process knew of its commit. */
  add(delivery: PendingDelivery): void {
    if (this.isHeld || this.isKnown(delivery)) return;
    if (this.hasMore || this.buffer.length >= PAGE) this.hasMore = true;
    else this.buffer.push(delivery);
    this.pump();
  }

  private isKnown({ seq }: PendingDelivery): boolean {
    return this.inFlight.has(seq) || this.buffer.some((one) => one.seq === seq);
  }

  /** Reads the queue again after a change of deliveries or of the endpoint. */
  refresh(): void {
    this.isHeld = false;
    this.hasMore = true;
    this.buffer = [];
    this.pump();
  }

  /** Number of tries in flight, and since when the oldest delivery in memory is due; null: none. */
  load(): { inFlight: number; dueSinceMs: number | null; isFailing: boolean } {
    return {
      inFlight: this.inFlight.size,
      dueSinceMs: this.buffer[0]?.dueAtMs ?? null,
      isFailing: this.condition?.isFailing() ?? false,
    };
  }

  stop(): void {
    this.wake.clear();
    this.condition?.stop();
  }

  /** A failing endpoint is slow also after a restart, which forgets speeds. */
  private speed(): ReceiverSpeed {
    return this.condition?.isFailing() === true ? "slow" : this.deps.speeds.of(this.id);
  }

  private mostInFlight(): number {
    if (this.condition?.isFailing() === true) return IN_FLIGHT_FAILING;
    return this.speed() === "unknown" ? IN_FLIGHT_UNKNOWN : IN_FLIGHT;
  }

  private isStopped(): boolean {
    return this.deps.signal.aborted || this.deps.isDraining();
  }

  /** Starts what may start now, reads what is missing, or reports that nothing is left. */
  private pump(): void {
    const { id, deps, buffer, inFlight } = this;
    if (this.isStopped() || this.isReading) return;
    if (this.isHeld) {
      if (inFlight.size === 0) deps.idle(id);
      return;
    }
    if (this.condition === undefined && id > 0 && (buffer.length > 0 || this.hasMore)) return void this.read();
    const most = this.mostInFlight();
    while (inFlight.size < most) {
      const next = buffer.shift();
      if (next === undefined) break;
      void this.take(next);
    }
    if (buffer.length > 0) return;
    if (this.hasMore) return void this.read();
    if (inFlight.size === 0 && !this.wake.isSet) deps.idle(id);
  }

  private async read(): Promise<void> {
    this.isReading = true;
    this.ended = new Set();
    try {
      await this.readCondition();
      if (!this.isHeld && this.hasMore) await this.readPage();
    } catch (fault) {
      this.pause(fault);
    } finally {
      this.isReading = false;
    }
    this.pump();
  }

  private async readCondition(): Promise<void> {
    if (this.condition !== undefined || this.id < 0) return;
    const saved = await this.deps.conditionOf(this.id);
    if (saved === undefined) this.hold();
    else this.condition = createCondition(this.id, saved);
  }

  private async readPage(): Promise<void> {
    this.hasMore = false;
    const most = PAGE + this.inFlight.size;
    const rows = await this.deps.next(this.id, most);
    const known = new Set([...this.inFlight, ...this.ended, ...this.buffer.map(({ seq }) => seq)]);
    const others = rows.filter(({ seq }) => !known.has(seq));
    const nowMs = this.deps.clock.nowMs();
    const due = others.filter(({ dueAtMs }) => dueAtMs <= nowMs);
    this.buffer.push(...due);
    const later = others[due.length];
    if (later !== undefined) this.wake.at(later.dueAtMs);
    else if (rows.length === most) this.hasMore = true;
  }

  /** Sends nothing until the next refresh. The deliveries stay in the store. */
  private hold(): void {
    this.isHeld = true;
    this.buffer = [];
    this.forgetCondition();
    this.wake.clear();
  }

  private pause(fault: unknown): void {
    const { deps } = this;
    deps.failed(fault);
    this.wake.at(deps.clock.nowMs() + FAULT_PAUSE_MS);
  }

  /** One turn of a delivery: it waits for a place, is sent, and its result is committed. */
  private async take(delivery: PendingDelivery): Promise<void> {
    const { deps, inFlight } = this;
    inFlight.add(delivery.seq);
    try {
      const place = await this.takePlace();
      if (place) await this.finish(delivery, await this.sendFrom(delivery, place));
    } catch (fault) {
      if (!deps.signal.aborted) this.pause(fault);
    } finally {
      inFlight.delete(delivery.seq);
      if (this.isReading) this.ended.add(delivery.seq);
      deps.settled();
      this.pump();
    }
  }

  /** Waits again if the receiver became slow during the wait. */
  private async takePlace(): Promise<Place | undefined> {
    const { deps } = this;
    for (;;) {
      const speed = this.speed();
      const place = await deps.takePlace(this.accountSeq, speed, deps.signal);
      if (speed === "slow" || this.speed() !== "slow") return place;
      place?.leave();
    }
  }

  private async sendFrom(delivery: PendingDelivery, place: Place): Promise<SendOutcome> {
    const { deps, id } = this;
    if (this.isStopped()) {
      place.leave();
      return { kind: "called-off" };
    }
    let isLate = false;
    const takeBack = deps.clock.after(PROMPT_MS, () => {
      isLate = true;
      deps.speeds.note(id, false);
      place.giveToOthers();
    });
    try {
      const outcome = await deps.send(delivery, deps.signal);
      if (outcome.kind === "made") deps.speeds.note(id, !isLate && verdictOf(outcome.made) === "delivered");
      return outcome;
    } finally {
      takeBack();
      place.leave();
    }
  }

  private async finish(delivery: PendingDelivery, outcome: SendOutcome): Promise<void> {
    if (outcome.kind === "held") return this.hold();
    if (outcome.kind === "dropped") return await this.deps.record(dropped(delivery), undefined);
    if (outcome.kind === "made") await this.judge(delivery, outcome.made);
  }

  private async judge(delivery: PendingDelivery, made: WebhookTry): Promise<void> {
    const { deps } = this;
    const verdict = verdictOf(made);
    const result = resultOf(delivery, made, verdict);
    const after = this.condition?.judge(verdict, made.atMs);
    deps.tried(delivery, made, result);
    try {
      await deps.record(result, after);
    } catch (fault) {
      this.forgetCondition();
      throw fault;
    }
    if (result.dueAtMs !== null) this.wake.at(result.dueAtMs);
    if (after !== undefined && after.disabledReason !== null) this.hold();
  }

  /** The next turn reads the stored condition. */
  private forgetCondition(): void {
    this.condition?.stop();
    this.condition = undefined;
  }
}
