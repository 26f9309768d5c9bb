// Delivery of webhooks: it follows commits, fills the queues, and takes over what an ended node left.
import { createWebhookLanes, type WebhookLanes } from "../../actors/webhooks/lanes.ts";
import { createFairQueue } from "../collections/fair-queue.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull, StoreUnknown } from "../domain/commit-errors.ts";
import { leastSeqAt } from "../domain/ids.ts";
import type { Mutation, MutationResult, ResultOf } from "../domain/mutations.ts";
import type { PendingDelivery, TryResult, WebhookTry } from "../domain/webhooks.ts";
import type { Log } from "../logging/events.ts";
import type { Node } from "../store/cluster-port.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import type { WebhookReads } from "../store/webhook-reads.ts";
import { createSend, type SendDeps } from "./send.ts";
import type { Targets } from "./targets.ts";

export type DeliveryDeps = Omit<SendDeps, "targetOf"> & {
  clock: Clock;
  log: Log;
  reads: WebhookReads;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  targets: Targets;
  /** Called after a disabled endpoint was stored. */
  endpointDisabled: (endpoint: { accountSeq: number; url: string; reason: string }) => void;
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

/**
 * Maximum concurrent tries, in total and for each account. Slow and failing receivers have places of their own, so that they delay
 * no other receiver.
 */
const PROMPT = { places: 256, perAccount: 64, cost: 1 };
const SLOW = { places: 128, perAccount: 16, cost: 1 };
const CLAIM_LIMIT = 1000;
const SWEEP_LIMIT = 1000;
const SWEEP_ROUNDS = 20;
const BEGIN_AGAIN_MS = 1000;
/** Retention of deliveries and their tries. */
const KEPT_MS = 30 * 86_400_000;

const createPlaces = () => {
  const [prompt, slow] = [createFairQueue(PROMPT), createFairQueue(SLOW)];
  return (accountSeq: number, isSlow: boolean, signal: AbortSignal) =>
    (isSlow ? slow : prompt).take({ share: "webhooks", account: String(accountSeq) }, signal);
};

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

const createCommit =
  (post: DeliveryDeps["post"]) =>
  async (...[results, endpoints]: Parameters<Parameters<typeof createWebhookLanes>[0]["commit"]>): Promise<void> => {
    const outcome = await post({ mutation: "record-webhook-tries", results, endpoints });
    if (outcome.kind === "refused") throw new Error(`recording webhook tries failed: ${outcome.reason}`);
  };

const createSweep =
  ({ clock, post }: Pick<DeliveryDeps, "clock" | "post">) =>
  async (): Promise<void> => {
    const beforeSeq = leastSeqAt(clock.nowMs() - KEPT_MS);
    for (let round = 0; round < SWEEP_ROUNDS; round++) {
      const outcome = await post({ mutation: "sweep-webhooks", beforeSeq, limit: SWEEP_LIMIT });
      if (outcome.kind !== "done" || (outcome.count ?? 0) < SWEEP_LIMIT) return;
    }
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
  const { clock, log, reads, post, targets, node } = deps;
  const failed = logFault(log);
  const nameOf = async (delivery: PendingDelivery, reason: string): Promise<void> => {
    const [row] = (await reads.webhookEndpoints(delivery.accountSeq)).filter(({ seq }) => seq === delivery.endpointSeq);
    if (!row) return;
    log("webhook endpoint disabled", { account_id: row.accountId, webhook_endpoint_id: row.id, reason });
    deps.endpointDisabled({ accountSeq: row.accountSeq, url: row.url, reason });
  };
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
    commit: createCommit(post),
    tried: logTry(log),
    disabled: (delivery, reason) => {
      targets.forget();
      nameOf(delivery, reason).catch(failed);
    },
    failed,
  });
  const scan = () => void lanes.scan().catch(failed);
  const takeOver = async (): Promise<void> => {
    while (node !== null && (await node.takeOverWebhooks(CLAIM_LIMIT)) === CLAIM_LIMIT);
    targets.forget();
    await lanes.scan();
  };
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
    sweep: createSweep(deps),
    load: lanes.load,
    drain: lanes.drain,
    stop: () => {
      stopBeginning();
      lanes.stop();
    },
  };
};
