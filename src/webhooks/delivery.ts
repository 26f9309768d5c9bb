// Delivery of webhooks: it follows commits, fills the queues, and takes over what an ended node left.
import { createWebhookLanes, type WebhookLanes } from "../../actors/webhooks/lanes.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull, StoreUnknown } from "../domain/commit-errors.ts";
import type { Mutation, MutationResult, ResultOf } from "../domain/mutations.ts";
import type { PendingDelivery, TryResult, WebhookTry } from "../domain/webhooks.ts";
import type { Log } from "../logging/events.ts";
import type { Node } from "../store/cluster-port.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import type { WebhookReads } from "../store/webhook-reads.ts";
import { createPlaces } from "./places.ts";
import { createRetention } from "./retention.ts";
import { createSend, type SendDeps } from "./send.ts";
import type { Targets } from "./targets.ts";

export type DeliveryDeps = Omit<SendDeps, "targetOf"> & {
  clock: Clock;
  log: Log;
  reads: WebhookReads;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  targets: Targets;
  /** Called after a disabled endpoint was stored. */
  endpointDisabled: (endpoint: { accountSeq: number; id: string; url: string; reason: string }) => void;
  /** Null if this process is the only writer. */
  node: Pick<Node, "takeOverWebhooks"> | null;
};

export type WebhookDelivery = {
  /** Called after the commit of a mutation that changes endpoints, secrets or deliveries. */
  committed: (mutation: Mutation, outcome: MutationResult) => void;
  /** Called after the commit of deliveries to the outbox. */
  add: (deliveries: readonly PendingDelivery[]) => void;
  /** Sends what a former process left, in the background; repeated until the store answers. */
  begin: () => void;
  /** Takes over deliveries of ended nodes, and reads what other nodes changed. */
  takeOver: () => Promise<void>;
  /** Deletes deliveries past their retention. */
  sweep: () => Promise<void>;
  load: WebhookLanes["load"];
  /** Begins no new try; resolves when none is in flight. */
  drain: () => Promise<void>;
  stop: () => void;
};

const CLAIM_LIMIT = 1000;
const BEGIN_AGAIN_MS = 1000;

/** Reported by the store itself; an unknown outcome also ends the process. */
const isOfStore = (fault: unknown): boolean =>
  fault instanceof DatabaseUnavailable || fault instanceof StoreFull || fault instanceof StoreUnknown;

/** Logs a fault of the service, other than an unavailable store. */
const logFault =
  (log: Log) =>
  (fault: unknown): void => {
    if (!isOfStore(fault)) log("webhook sending failed", { reason: fault instanceof Error ? fault.message : String(fault) });
  };

const logTry =
  (log: Log) =>
  ({ type }: PendingDelivery, { status, error, durationMs }: WebhookTry, { state }: TryResult): void => {
    const fields = { event: type, dur_ms: durationMs, ...(status === null ? {} : { status }) };
    if (state === "delivered") log("webhook delivered", fields);
    else log("webhook try failed", { ...fields, reason: error ?? `status ${status}` });
  };

/** Records tries, and reports the endpoints that this disabled. */
const createCommit = ({ post, reads, targets, log, endpointDisabled }: DeliveryDeps, failed: (fault: unknown) => void) => {
  const report = async (endpointSeq: number, reason: string): Promise<void> => {
    const row = await reads.webhookEndpoint(endpointSeq);
    // The account may have deleted it meanwhile.
    if (!row) return;
    const { accountId, accountSeq, id, url } = row;
    log("webhook endpoint disabled", { account_id: accountId, webhook_endpoint_id: id, reason });
    endpointDisabled({ accountSeq, id, url, reason });
  };
  return async (...[results, endpoints]: Parameters<Parameters<typeof createWebhookLanes>[0]["commit"]>): Promise<void> => {
    const outcome = await post({ mutation: "record-webhook-tries", results, endpoints });
    if (outcome.kind === "refused") throw new Error(`recording webhook tries failed: ${outcome.reason}`);
    const disabled = new Set(outcome.disabled);
    if (disabled.size > 0) targets.forget();
    for (const { endpointSeq, disabledReason } of endpoints)
      if (disabledReason !== null && disabled.has(endpointSeq)) report(endpointSeq, disabledReason).catch(failed);
  };
};

/** Runs `work` in the background, and again until it succeeds. */
const createBeginning = (clock: Clock, work: () => Promise<void>, failed: (fault: unknown) => void) => {
  let isStopped = false;
  let takeBack = (): void => undefined;
  const begin = (): void => {
    work().catch((fault: unknown) => {
      if (isStopped) return;
      failed(fault);
      takeBack = clock.after(BEGIN_AGAIN_MS, begin);
    });
  };
  const stop = (): void => {
    isStopped = true;
    takeBack();
  };
  return { begin, stop };
};

export const createWebhookDelivery = (deps: DeliveryDeps): WebhookDelivery => {
  const { clock, log, reads, targets, node } = deps;
  const failed = logFault(log);
  const lanes = createWebhookLanes({
    clock,
    lanes: reads.webhookLanes,
    next: reads.nextWebhooks,
    conditionOf: async (endpointSeq) => {
      const row = await reads.webhookEndpoint(endpointSeq);
      return row?.enabled ? row : undefined;
    },
    send: createSend({ ...deps, targetOf: targets.of }),
    takePlace: createPlaces(),
    commit: createCommit(deps, failed),
    tried: logTry(log),
    failed,
  });
  const scan = () => void lanes.scan().catch(failed);
  const takeOver = async (): Promise<void> => {
    while (node !== null && (await node.takeOverWebhooks(CLAIM_LIMIT)) === CLAIM_LIMIT);
    targets.forget();
    await lanes.scan();
  };
  const retention = createRetention(deps);
  const { begin, stop: stopBeginning } = createBeginning(clock, takeOver, failed);
  const add: WebhookDelivery["add"] = (deliveries) => {
    for (const delivery of deliveries) lanes.add(delivery);
  };

  return {
    add,
    committed: (mutation, outcome) => {
      if (outcome.kind === "stepped" || outcome.kind === "purchase") add(outcome.deliveries ?? []);
      if (outcome.kind !== "done") return;
      switch (mutation.mutation) {
        case "set-webhook-endpoint":
        case "delete-webhook-endpoint":
          targets.forget();
          return scan();
        case "rotate-webhook-secret":
          return targets.forget();
        case "requeue-webhooks":
          return lanes.refresh(mutation);
        case "send-test-webhook":
          if (outcome.delivery) lanes.add(outcome.delivery);
      }
    },
    begin,
    takeOver,
    sweep: retention.sweep,
    load: lanes.load,
    drain: lanes.drain,
    stop: () => {
      stopBeginning();
      retention.stop();
      lanes.stop();
    },
  };
};
