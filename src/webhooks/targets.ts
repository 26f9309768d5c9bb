// Receivers of deliveries: address, secrets and allowed hosts, cached until an endpoint changes.

import { ClockCache } from "../collections/clock-cache.ts";
import type { Clock } from "../domain/clock.ts";
import type { PendingDelivery } from "../domain/webhooks.ts";
import type { DefaultSecret, EndpointRow, WebhookReads } from "../store/webhook-reads.ts";
import type { AllowsFor } from "./hosts.ts";
import type { WebhookSecrets } from "./secrets.ts";
import type { Target } from "./send.ts";

export type TargetsDeps = {
  reads: Pick<WebhookReads, "webhookEndpoint" | "defaultWebhookSecret">;
  clock: Pick<Clock, "nowMs">;
  secrets: Pick<WebhookSecrets, "valid">;
  allowsFor: AllowsFor;
  /** False if other nodes change endpoints, too. */
  isAlone: boolean;
};

export type Targets = {
  of(delivery: PendingDelivery): Promise<Target | "deleted" | "disabled">;
  /** Drops everything cached after a change of an endpoint or a secret. */
  forget(): void;
};

const CACHED = 2000;
/** How long a change of another node may be unknown. */
const BELIEVED_MS = 5000;

type Read<Row> = { row: Row | undefined; readAtMs: number };

export const createTargets = ({ reads, clock, secrets, allowsFor, isAlone }: TargetsDeps): Targets => {
  let epoch = 0;
  const cached = <Row>(read: (seq: number) => Promise<Row | undefined>) => {
    let known = new ClockCache<number, Read<Row>>(CACHED);
    return {
      clear: () => {
        known = new ClockCache(CACHED);
      },
      find: async (seq: number): Promise<Row | undefined> => {
        const found = known.get(seq);
        const nowMs = clock.nowMs();
        if (found && (isAlone || nowMs - found.readAtMs < BELIEVED_MS)) return found.row;
        const before = epoch;
        const row = await read(seq);
        // A change during the read makes the row outdated.
        if (before === epoch) known.set(seq, { row, readAtMs: nowMs });
        return row;
      },
    };
  };
  const endpoints = cached<EndpointRow>(reads.webhookEndpoint);
  const defaults = cached<DefaultSecret>(reads.defaultWebhookSecret);

  const endpointTarget = async (endpointSeq: number): Promise<Target | "deleted" | "disabled"> => {
    const row = await endpoints.find(endpointSeq);
    if (row === undefined) return "deleted";
    if (!row.enabled) return "disabled";
    const { id, url, events, accountId, keySeq, secretVersion: version, previousSecretUntilMs: previousUntilMs } = row;
    return {
      url,
      events,
      allows: allowsFor({ accountId, isOperatorMade: keySeq === null }),
      secrets: secrets.valid(id, { version, previousUntilMs }, clock.nowMs()),
    };
  };
  const submissionTarget = async (accountSeq: number, url: string | null): Promise<Target | "deleted"> => {
    const state = await defaults.find(accountSeq);
    if (state === undefined || url === null) return "deleted";
    const { accountId } = state;
    return {
      url,
      events: "*",
      allows: allowsFor({ accountId, isOperatorMade: false }),
      secrets: secrets.valid(accountId, state, clock.nowMs()),
    };
  };
  return {
    of: ({ endpointSeq, accountSeq, url }) =>
      endpointSeq === null ? submissionTarget(accountSeq, url) : endpointTarget(endpointSeq),
    forget: () => {
      epoch += 1;
      endpoints.clear();
      defaults.clear();
    },
  };
};
