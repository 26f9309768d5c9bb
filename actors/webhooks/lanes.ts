// All queues of webhook deliveries of this process, and the recorder of their results.
import type { EndpointCondition, PendingDelivery, TryResult } from "../../src/domain/webhooks.ts";
import { laneOf } from "../../src/domain/webhooks.ts";
import { Lane, type LaneDeps } from "./lane.ts";
import { createReceiverSpeeds } from "./receiver-speed.ts";

export type WebhookLanesDeps = Omit<LaneDeps, "record" | "speeds" | "settled" | "idle" | "signal" | "isDraining"> & {
  /** Queues with pending deliveries. */
  lanes: () => Promise<readonly { lane: number; accountSeq: number }[]>;
  /** Resolves after the commit. */
  commit: (results: readonly TryResult[], endpoints: readonly EndpointCondition[]) => Promise<void>;
};

export type WebhookLanes = {
  /** Adds a delivery that was committed just now. */
  add(delivery: PendingDelivery): void;
  /** Reads one queue again. */
  refresh(of: Pick<PendingDelivery, "endpointSeq" | "accountSeq">): void;
  /** Reads all queues of the store: at a start, and after deliveries or endpoints changed. */
  scan(): Promise<void>;
  /** Tries in flight, and since when the oldest delivery of a healthy endpoint is due; null: none waits. */
  load(): { inFlight: number; dueSinceMs: number | null };
  /** Begins no new try. Resolves when none is in flight and all results are committed. */
  drain(): Promise<void>;
  /** Aborts all tries. The store keeps their deliveries. */
  stop(): void;
};

/** Collects results while a commit is in progress, so that many of them share one. */
const createRecorder = (commit: WebhookLanesDeps["commit"]): LaneDeps["record"] => {
  type Waiting = {
    result: TryResult;
    condition: EndpointCondition | undefined;
    resolve: () => void;
    reject: (fault: unknown) => void;
  };
  let waiting: Waiting[] = [];
  let isCommitting = false;
  const flush = async (): Promise<void> => {
    isCommitting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      // The last condition of an endpoint counts, and one that disables it before all.
      const conditions = new Map<number, EndpointCondition>();
      for (const { condition } of batch)
        if (condition && (conditions.get(condition.endpointSeq)?.disabledReason ?? null) === null)
          conditions.set(condition.endpointSeq, condition);
      await commit(
        batch.map(({ result }) => result),
        [...conditions.values()],
      ).then(
        () => {
          for (const { resolve } of batch) resolve();
        },
        (fault: unknown) => {
          for (const { reject } of batch) reject(fault);
        },
      );
    }
    isCommitting = false;
  };
  return (result, condition) =>
    new Promise((resolve, reject) => {
      waiting.push({ result, condition, resolve, reject });
      if (!isCommitting) void flush();
    });
};

export const createWebhookLanes = (deps: WebhookLanesDeps): WebhookLanes => {
  const known = new Map<number, Lane>();
  const stopping = new AbortController();
  let drained: (() => void) | undefined;
  let isDraining = false;
  const inFlight = () => [...known.values()].reduce((sum, lane) => sum + lane.load().inFlight, 0);
  const laneDeps: LaneDeps = {
    ...deps,
    record: createRecorder(deps.commit),
    // Not in the queue, which ends as soon as it has nothing to do.
    speeds: createReceiverSpeeds(),
    idle: (id) => {
      known.get(id)?.stop();
      known.delete(id);
    },
    signal: stopping.signal,
    settled: () => {
      if (isDraining && inFlight() === 0) drained?.();
    },
    isDraining: () => isDraining,
  };
  const laneAt = (id: number, accountSeq: number): Lane => {
    const lane = known.get(id) ?? new Lane(id, accountSeq, laneDeps);
    known.set(id, lane);
    return lane;
  };

  return {
    add: (delivery) => laneAt(laneOf(delivery), delivery.accountSeq).add(delivery),
    refresh: (of) => laneAt(laneOf(of), of.accountSeq).refresh(),
    scan: async () => {
      for (const { lane, accountSeq } of await deps.lanes()) laneAt(lane, accountSeq).refresh();
    },
    load: () => {
      const loads = [...known.values()].map((lane) => lane.load());
      const due = loads.flatMap(({ dueSinceMs, isFailing }) => (dueSinceMs === null || isFailing ? [] : [dueSinceMs]));
      return {
        inFlight: loads.reduce((sum, one) => sum + one.inFlight, 0),
        dueSinceMs: due.length === 0 ? null : Math.min(...due),
      };
    },
    drain: () => {
      isDraining = true;
      if (inFlight() === 0) return Promise.resolve();
      return new Promise((resolve) => {
        drained = resolve;
      });
    },
    stop: () => {
      stopping.abort();
      for (const lane of known.values()) lane.stop();
    },
  };
};
