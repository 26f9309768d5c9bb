// Clients of the trials: each submits with retries under one idempotency key, then polls its generation to the end.

import { chance } from "../../src/simulator/fault-script.ts";
import type { ClientLine } from "../../src/torture/crash/client-log.ts";
import { withoutLinks } from "../../src/torture/crash/client-log.ts";
import { ask, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import { hashOf, type Order } from "../../src/torture/crash/workload.ts";
import { MODELS } from "./catalogue.ts";

export type LoadPlan = {
  tenants: readonly Tenant[];
  /** The URLs of the ready nodes, or of all nodes if none is ready. */
  proxies: () => readonly string[];
  callers: number;
  seed: number;
};
export type Accepted = { id: string; atMs: number; url: string };
export type Load = {
  lines: readonly ClientLine[];
  accepted: readonly Accepted[];
  /** Responses that a client must not receive. */
  faults: readonly string[];
  /** The number of resent submissions by reason. */
  again: Readonly<Record<string, number>>;
  /** The number of generations that have not ended. */
  open(): number;
  /** Stops submitting. Resolves when all generations have ended or after `patienceMs`. */
  end(patienceMs: number): Promise<void>;
};

const POLL_MS = 300;
const AGAIN_MS = 250;
const PAUSE_MS = 1500;
const PATIENCE_MS = 15_000;
/** Statuses after which a client sends the same request again. */
const AGAIN: ReadonlySet<number> = new Set([429, 503]);

const orderOf = (seed: number, accounts: number, caller: number, n: number): Order => {
  const account = (caller + n) % accounts;
  const key = `k-${seed}-${caller}-${n}`;
  const body = { model: MODELS[(caller + n) % MODELS.length] ?? "", input: { prompt: `crash ${account} ${key} as first sent` } };
  return { key, account, body, hash: hashOf(body) };
};

export const beginLoad = ({ tenants, proxies, callers, seed }: LoadPlan): Load => {
  const lines: ClientLine[] = [];
  const accepted: Accepted[] = [];
  const faults: string[] = [];
  const again: Record<string, number> = {};
  let [isOrdering, isOver] = [true, false];
  let open = 0;
  let turn = 0;
  const nextProxy = (): string => {
    const all = proxies();
    return all[turn++ % all.length] ?? "";
  };
  const keyOf = (account: number): string => tenants[account]?.key ?? "";

  const submit = async (order: Order): Promise<string | undefined> => {
    const { key, account, hash, body } = order;
    lines.push({ type: "intent", key, account, hash, body });
    while (!isOver) {
      const url = nextProxy();
      const about = { path: "/v1/generations", body: JSON.stringify(body), idempotencyKey: key, patienceMs: PATIENCE_MS };
      const answer = await ask(url, keyOf(account), about);
      const { status } = answer ?? {};
      if (answer && (status === 202 || status === 200)) {
        const id = String(answer.body.id);
        lines.push({ type: "ack", key, account, hash, status, id, code: null });
        accepted.push({ id, atMs: Date.now(), url });
        return id;
      }
      again[status ?? "no answer"] = (again[status ?? "no answer"] ?? 0) + 1;
      if (status !== undefined && !AGAIN.has(status)) {
        faults.push(`${key}: returned ${status} ${JSON.stringify(answer?.body)}`);
        return undefined;
      }
      await Bun.sleep(AGAIN_MS);
    }
    return undefined;
  };
  const poll = async (account: number, id: string): Promise<void> => {
    while (!isOver) {
      await Bun.sleep(POLL_MS);
      const shown = await ask(nextProxy(), keyOf(account), { path: `/v1/generations/${id}`, patienceMs: PATIENCE_MS });
      if (shown === undefined || AGAIN.has(shown.status)) continue;
      if (shown.status !== 200) faults.push(`${id}: a poll returned ${shown.status} ${JSON.stringify(shown.body)}`);
      if (shown.status !== 200) return;
      if (shown.body.completed_at === null) continue;
      lines.push({ type: "seen", account, id, resource: withoutLinks(shown.body) });
      return;
    }
  };
  const call = async (caller: number): Promise<void> => {
    const roll = chance(seed * 31 + caller);
    for (let n = 0; isOrdering && !isOver; n += 1) {
      // Synchronized clients would leave times without any work.
      await Bun.sleep(roll() * PAUSE_MS);
      const order = orderOf(seed, tenants.length, caller, n);
      open += 1;
      const id = await submit(order);
      if (id !== undefined) await poll(order.account, id);
      if (!isOver) open -= 1;
    }
  };
  const calling = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return {
    ...{ lines, accepted, faults, again },
    open: () => open,
    end: async (patienceMs) => {
      isOrdering = false;
      const tooLate = setTimeout(() => {
        isOver = true;
      }, patienceMs);
      await calling;
      clearTimeout(tooLate);
    },
  };
};
