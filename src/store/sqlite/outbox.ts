// Writes the outbox of webhooks: one delivery for each event and address.
import type { Database } from "bun:sqlite";
import { createSequence } from "../../domain/ids.ts";
import type { PendingDelivery } from "../../domain/webhooks.ts";
import { deliveriesOf, type OutboxEvent, pendingOf, type Subscriber } from "../decide/deliveries.ts";
import { INSERT_DELIVERY, SUBSCRIBERS } from "../sql/webhooks.ts";

const NEWEST = "SELECT coalesce(max(seq), 0) AS seq FROM webhook_delivery";
const NO_SUBSCRIBERS: readonly Subscriber[] = [];

export const prepareOutbox = (db: Database, epoch: number) => {
  const selectSubscribers = db.prepare<Subscriber & { accountSeq: number }, []>(SUBSCRIBERS);
  const selectNewest = db.prepare<{ seq: number }, []>(NEWEST);
  const insert = db.prepare(INSERT_DELIVERY);
  const insertUrl = db.prepare("INSERT INTO generation_webhook VALUES (?1, ?2)");
  const numbers = createSequence();
  numbers.continueAfter(selectNewest.get()?.seq ?? 0);

  /** Enabled endpoints of all accounts, valid until an endpoint changes. An account without endpoints costs one look-up. */
  let known: Map<number, Subscriber[]> | undefined;
  const subscribersOf = (accountSeq: number): readonly Subscriber[] => {
    known ??= Map.groupBy(selectSubscribers.all(), (row) => row.accountSeq);
    return known.get(accountSeq) ?? NO_SUBSCRIBERS;
  };

  return {
    /** Stores the address that a submission names. */
    name: (generationSeq: number, url: string): void => void insertUrl.run(generationSeq, url),
    /** Adds an event. @returns its deliveries; undefined if no address receives it */
    add: (
      event: OutboxEvent,
      to: readonly Subscriber[] = subscribersOf(event.accountSeq),
    ): readonly PendingDelivery[] | undefined => {
      if (to.length === 0 && event.url === null) return undefined;
      const deliveries = deliveriesOf(event, to, () => numbers.next(event.atMs));
      for (const { seq, token, accountSeq, endpointSeq, type, generationSeq, data, sequence, createdAtMs } of deliveries)
        insert.run(seq, token, accountSeq, endpointSeq, type, generationSeq, data, sequence, createdAtMs, epoch);
      return deliveries.length === 0 ? undefined : deliveries.map(pendingOf);
    },
    epoch,
    newSeq: numbers.next,
    /** Drops known endpoints after a change of one, or after a rollback. */
    forget: (): void => {
      known = undefined;
    },
  };
};
export type Outbox = ReturnType<typeof prepareOutbox>;
