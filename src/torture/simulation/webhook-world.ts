// Webhooks of a simulated world: receivers, the record of events, and what is left to deliver at the end.
import type { StoreReads } from "../../store/store.ts";
import { createEventOracle, type EventOracle } from "./event-oracle.ts";
import type { LeftWork } from "./long-pauses.ts";
import type { Rng } from "./rng.ts";
import { ownAddress } from "./webhook-accounts.ts";
import { createReceivers, type Receivers, type ReceiversDeps } from "./webhook-receivers.ts";
import type { PlannedWork } from "./workload.ts";

/** The receivers of a world, and the record of its events. */
export type WebhookWorld = { receivers: Receivers; oracle: EventOracle };

/** This share of the worlds uses webhooks. */
const WEBHOOK_WORLDS = 0.25;
/** Share of their submissions that name an address of their own. */
const OWN_ADDRESSES = 0.3;
const ALL = 1_000_000;

/** The webhooks of a seed; null for most of them. */
export const drawWebhooks = (
  dice: Rng,
  tasks: readonly PlannedWork[],
  deps: Omit<ReceiversDeps, "oracle" | "dice">,
): WebhookWorld | null => {
  if (!dice.chance(WEBHOOK_WORLDS)) return null;
  for (const { planned } of tasks) if (dice.chance(OWN_ADDRESSES)) planned.webhookUrl = ownAddress(planned.account, planned.name);
  const oracle = createEventOracle(deps.nowMs);
  return { oracle, receivers: createReceivers({ ...deps, dice: dice.fork("receivers"), oracle }) };
};

/** The deliveries that a node still has to try. */
export const leftDeliveries =
  (
    webhooks: WebhookWorld,
    reads: Pick<StoreReads, "webhookDeliveries">,
    accountSeqs: readonly number[],
    nowMs: () => number,
  ): LeftWork =>
  async () => {
    const rows = (await Promise.all(accountSeqs.map((seq) => reads.webhookDeliveries(seq, null, ALL)))).flat();
    const isHeld = (url: string) => (webhooks.oracle.endpointAt(url)?.disabledFromMs ?? null) !== null;
    const dueAtMs = rows.flatMap((row) => (row.state === "pending" && !isHeld(row.url) ? [row.dueAtMs ?? 0] : []));
    return dueAtMs.length === 0 ? null : Math.max(0, Math.max(...dueAtMs) - nowMs());
  };
