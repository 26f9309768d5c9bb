// Event oracle: records which webhook events became true when, and which addresses had to receive them.
//
// It observes committed mutations in their order. It reads no database and no delivery of the product.
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import { type EndpointCondition, isSubscribed, type WebhookEvent, type WebhookMutation } from "../../domain/webhooks.ts";

/** An event of a generation for one address, from its commit on. */
export type DueEvent = {
  url: string;
  /** Null: the address of the submission. */
  endpoint: KnownEndpoint | null;
  type: WebhookEvent;
  generationId: string;
  committedAtMs: number;
};
/** `disabledFromMs`: since when it gets nothing; null while it is enabled. All times are true time. */
export type KnownEndpoint = {
  seq: number;
  id: string;
  accountSeq: number;
  url: string;
  events: string;
  disabledFromMs: number | null;
  /** Why the service disabled it the last time. */
  disabledReason: string | null;
  wasReEnabled: boolean;
  isDeleted: boolean;
};

export type EventOracle = {
  /** A mutation is now in the database. */
  committed(mutation: Mutation, outcome: MutationResult): void;
  /** The event that an address has to receive; undefined: no such event is true. */
  due(url: string, type: string, generationId: string): DueEvent | undefined;
  events(): readonly DueEvent[];
  endpoints(): readonly KnownEndpoint[];
  endpointAt(url: string): KnownEndpoint | undefined;
  /** When the end of a generation became true; undefined while it is open. True time. */
  endedAtMs(generationId: string): number | undefined;
};

type Followed = { id: string; accountSeq: number; url: string | null; status: string };
const nameOf = (url: string, type: string, generationId: string): string => `${url} ${type} ${generationId}`;

/** Follows the endpoints of accounts. */
const createEndpoints = (nowMs: () => number) => {
  const bySeq = new Map<number, KnownEndpoint>();
  const find = (id: string) => [...bySeq.values()].find((endpoint) => endpoint.id === id);
  const enable = (endpoint: KnownEndpoint, enabled: boolean) => {
    if (enabled && endpoint.disabledFromMs !== null) endpoint.wasReEnabled = true;
    endpoint.disabledFromMs = enabled ? null : (endpoint.disabledFromMs ?? nowMs());
    if (enabled) endpoint.disabledReason = null;
  };
  const disable = ({ endpointSeq, disabledReason }: EndpointCondition) => {
    const endpoint = bySeq.get(endpointSeq);
    if (disabledReason === null || endpoint?.disabledFromMs !== null) return;
    endpoint.disabledFromMs = nowMs();
    endpoint.disabledReason = disabledReason;
  };
  const committed = (mutation: WebhookMutation, seq: number) => {
    if (mutation.mutation === "create-webhook-endpoint") {
      const { id, accountSeq, url, events, enabled } = mutation;
      const unchanged = { disabledReason: null, wasReEnabled: false, isDeleted: false };
      bySeq.set(seq, { seq, id, accountSeq, url, events, disabledFromMs: enabled ? null : nowMs(), ...unchanged });
    } else if (mutation.mutation === "set-webhook-endpoint") {
      const endpoint = find(mutation.id);
      if (endpoint && mutation.enabled !== undefined) enable(endpoint, mutation.enabled);
    } else if (mutation.mutation === "delete-webhook-endpoint") {
      const endpoint = find(mutation.id);
      if (endpoint) Object.assign(endpoint, { isDeleted: true, disabledFromMs: endpoint.disabledFromMs ?? nowMs() });
    } else if (mutation.mutation === "record-webhook-tries") mutation.endpoints.forEach(disable);
  };
  return { bySeq, committed };
};

const FOLLOWED: ReadonlySet<string> = new Set<WebhookMutation["mutation"]>([
  "create-webhook-endpoint",
  "set-webhook-endpoint",
  "delete-webhook-endpoint",
  "record-webhook-tries",
]);

export const createEventOracle = (nowMs: () => number): EventOracle => {
  const endpoints = createEndpoints(nowMs);
  const generations = new Map<number, Followed>();
  const ended = new Map<string, number>();
  const events = new Map<string, DueEvent>();

  const add = ({ id: generationId, accountSeq, url }: Followed, type: WebhookEvent) => {
    const event = { type, generationId, committedAtMs: nowMs() };
    const put = (to: string, endpoint: KnownEndpoint | null) =>
      events.set(nameOf(to, type, generationId), { ...event, url: to, endpoint });
    for (const endpoint of endpoints.bySeq.values())
      if (endpoint.accountSeq === accountSeq && endpoint.disabledFromMs === null && isSubscribed(endpoint.events, type))
        put(endpoint.url, endpoint);
    if (url !== null) put(url, null);
  };

  return {
    committed: (mutation, outcome) => {
      if (mutation.mutation === "admit" && outcome.kind === "admitted") {
        const { id, seq, accountSeq, webhookUrl: url = null } = mutation;
        generations.set(seq, { id, accountSeq, url, status: "queued" });
      } else if (mutation.mutation === "step" && outcome.kind === "stepped") {
        const { status, completedAtMs } = outcome.record;
        const followed = generations.get(mutation.seq);
        if (!followed || followed.status === status || status === "queued") return;
        followed.status = status;
        if (completedAtMs !== null) ended.set(followed.id, nowMs());
        add(followed, `generation.${status}`);
      } else if (outcome.kind === "done" && FOLLOWED.has(mutation.mutation))
        endpoints.committed(mutation as WebhookMutation, outcome.seq ?? 0);
    },
    due: (url, type, generationId) => events.get(nameOf(url, type, generationId)),
    events: () => [...events.values()],
    endpoints: () => [...endpoints.bySeq.values()],
    endpointAt: (url) => [...endpoints.bySeq.values()].find((endpoint) => endpoint.url === url),
    endedAtMs: (generationId) => ended.get(generationId),
  };
};
