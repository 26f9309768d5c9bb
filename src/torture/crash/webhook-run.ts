// Webhooks of a crash run: its receiver, its endpoints, and the wait for the last deliveries.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "./audit.ts";
import { dueWebhooks, nameOfDue, nameOfReceived, type WebhookEvidence } from "./audit-webhooks.ts";
import { type DatabaseLocation, reading, type Tenant } from "./crash-fixture.ts";
import { type Child, freePort, type Genrouter, start } from "./processes.ts";
import type { Stored } from "./read-store.ts";
import { readWebhookLog } from "./webhook-log.ts";
import type { ReceiverPlan } from "./webhook-receiver.ts";
import { createTargets, requireAnswer, type WebhookTargets } from "./webhook-targets.ts";

export type WebhookRun = {
  receiverUrl: string;
  evidence(): WebhookEvidence;
  /** Waits until every final event was accepted and the outbox is empty. While it waits, the receiver accepts everything. */
  settle(url: string, stored: readonly Stored[]): Promise<Check[]>;
  stop(): Promise<void>;
};

export type WebhookRunPlan = {
  genrouter: Genrouter;
  /** The directory of the log and of the receiver's plan. */
  dir: string;
  database: DatabaseLocation;
  tenants: readonly Tenant[];
  seed: number;
  /** A running service. */
  url: string;
};

/** A wait ends if no event was accepted for this time. It is longer than the first pause of a retry, which is 5 s. */
const STUCK_MS = 9000;
const POLL_MS = 200;
const RECOVERIES = 2;
const DAY_MS = 86_400_000;

const startReceiver = async (genrouter: Genrouter, dir: string, plan: ReceiverPlan): Promise<Child> => {
  const path = join(dir, "receiver.json");
  writeFileSync(path, JSON.stringify(plan));
  const child = start([...genrouter, "torture-receiver", path]);
  await child.hears(/receiver on port/);
  return child;
};

/** The final events that no address has accepted, and among them those that none has received. */
const openDeliveries = ({ targets, received }: WebhookEvidence, stored: readonly Stored[]) => {
  const arrived = new Set(received.map((one) => nameOfReceived(one)));
  const accepted = new Set(received.filter(({ answer }) => answer === "accepted").map((one) => nameOfReceived(one)));
  const open = dueWebhooks(stored, targets).filter((due) => !accepted.has(nameOfDue(due)));
  return { open, untried: open.filter((due) => !arrived.has(nameOfDue(due))) };
};

/** Makes the deliveries of all endpoints due at once, whose retries may be due in minutes. */
const recover = async (url: string, tenants: readonly Tenant[], { endpoints }: WebhookTargets): Promise<void> => {
  const since = new Date(Date.now() - DAY_MS).toISOString();
  for (const { id, account } of endpoints) {
    const call = { url, key: tenants[account]?.key ?? "" };
    await requireAnswer(call, `/v1/webhook_endpoints/${id}/recover?since=${since}`, {}, 202);
  }
};

/** @returns whether `count` reached 0 before it stopped to fall */
const fallsToZero = async (count: () => number | Promise<number>): Promise<boolean> => {
  let fewest = Number.POSITIVE_INFINITY;
  for (let movedMono = performance.now(); performance.now() - movedMono < STUCK_MS; await Bun.sleep(POLL_MS)) {
    const left = await count();
    if (left === 0) return true;
    if (left < fewest) movedMono = performance.now();
    fewest = Math.min(fewest, left);
  }
  return false;
};

export const startWebhooks = async (plan: WebhookRunPlan): Promise<WebhookRun> => {
  const { genrouter, dir, database, tenants, seed, url } = plan;
  const port = await freePort();
  const receiverUrl = `http://127.0.0.1:${port}`;
  const log = join(dir, "webhooks.log");
  const targets = await createTargets(url, tenants, receiverUrl);
  const receiver = await startReceiver(genrouter, dir, { port, log, seed, database, targets });
  const evidence = (): WebhookEvidence => ({ targets, received: readWebhookLog(log) });
  const calm = (method: "POST" | "DELETE") => fetch(`${receiverUrl}/calm`, { method });

  const left = (stored: readonly Stored[]) => openDeliveries(evidence(), stored);

  return {
    receiverUrl,
    evidence,
    settle: async (serviceUrl, stored) => {
      await calm("POST");
      const checks: Check[] = [];
      // First what was never sent: a recovery would also send what a start has forgotten.
      const isSent = await fallsToZero(() => left(stored).untried.length);
      const unsent = isSent ? [] : left(stored).untried.map((due) => `${nameOfDue(due)}: not sent after the last start`);
      checks.push({ name: "a start sends every event that the kills before it left in the outbox", faults: unsent });
      if (isSent) {
        // A try in flight at the first recovery may still fail, and is then due in minutes again.
        for (let n = 0; n < RECOVERIES; n += 1) {
          await recover(serviceUrl, tenants, targets);
          if (await fallsToZero(() => left(stored).open.length)) break;
        }
        const lanes = () => reading(database, (reads) => reads.webhookLanes());
        await fallsToZero(async () => (await lanes()).length);
        const faults = (await lanes()).map(({ lane, accountSeq }) => `queue ${lane} of account ${accountSeq} is not empty`);
        checks.push({ name: "a delivery that was accepted leaves the outbox", faults });
      }
      await calm("DELETE");
      return checks;
    },
    stop: async () => {
      receiver.kill("SIGTERM");
      const { code } = await receiver.ended;
      if (code !== 0) throw new Error(`the receiver ended with ${code}:\n${receiver.output()}`);
    },
  };
};
