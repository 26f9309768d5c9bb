// HTTP front of the peers: the same framework, checks and price as the ladder's rungs, before a peer's durable accept.
import { Elysia } from "elysia";
import { accountOf, accountsByKey, answerJson, priceOf, Submission, shownOf } from "../rungs/parts.ts";

/** The stored submission. The id is derived from account and key, so that a repeated request is the same job. */
export type Order = {
  id: string;
  account: number;
  model: string;
  input: unknown;
  credits: number;
  idempotencyKey: string;
  bodyHash: string;
  atMs: number;
};
/** Resolves after the order is durable. */
export type Accept = (order: Order) => Promise<unknown>;
/** The report of a peer's worker: the number of open orders, and the end times of the others. */
export type FrontReport = { open: number; endedAtMs: number[] };

const UNAUTHORIZED = '{"error":{"code":"unauthorized","message":"Missing or invalid API key."}}';

const uuidOf = (text: string): string =>
  Bun.SHA256.hash(text, "hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");

/** The stored part of a request that has passed the checks. */
export const orderOf = (account: number, body: { model: string; input: object }, idempotencyKey: string): Order => ({
  id: uuidOf(`${account}:${idempotencyKey}`),
  account,
  model: body.model,
  input: body.input,
  credits: priceOf(body.input),
  idempotencyKey,
  bodyHash: Bun.hash(JSON.stringify(body)).toString(36),
  atMs: Date.now(),
});

/** Requests of the same turn of the event loop belong to the same batch. */
const oneTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Accepts in batches: one call at a time, each with all orders that arrived meanwhile. */
export const gathering = (write: (orders: readonly Order[]) => Promise<unknown>): Accept => {
  let waiting: Order[] = [];
  let underWay: Promise<unknown> | undefined;
  let next: Promise<unknown> | undefined;
  const writeAll = (): Promise<unknown> => {
    const orders = waiting;
    waiting = [];
    next = undefined;
    underWay = write(orders);
    return underWay;
  };
  return (order) => {
    waiting.push(order);
    next ??= Promise.resolve(underWay).then(oneTurn).then(writeAll);
    return next;
  };
};

/** Listens on a free port and prints it. */
export const openFront = (accept: Accept, stored: () => Promise<number>, reported: FrontReport): void => {
  const byKey = accountsByKey();
  const app = new Elysia({ serve: { hostname: "127.0.0.1", reusePort: false } })
    .get("/open", () => answerJson(200, String(reported.open)))
    .get("/stored", async () => answerJson(200, String(await stored())))
    .get("/ended", () => answerJson(200, JSON.stringify(reported.endedAtMs)))
    .post(
      "/v1/generations",
      async ({ body, request }) => {
        const account = accountOf(request, byKey);
        if (account === undefined) return answerJson(401, UNAUTHORIZED);
        const order = orderOf(account, body, request.headers.get("idempotency-key") ?? "");
        reported.open += 1;
        await accept(order);
        const { id, credits, atMs } = order;
        return answerJson(202, JSON.stringify(shownOf(`gen_${id}`, credits, new Date(atMs).toISOString())));
      },
      { body: Submission },
    );
  process.stdout.write(`ready ${app.listen({ hostname: "127.0.0.1", port: 0 }).server?.port}\n`);
};
