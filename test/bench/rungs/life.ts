// The stored data of a generation in the bare loop, as the service writes them: events, snapshot, request and output.
import { generationId } from "../../../src/domain/ids.ts";
import type { JsonObject } from "../../../src/domain/types.ts";
import { newGenerationSeq } from "../../new-generation.ts";
import type { Common, Rows, Step } from "./rows.ts";

/** The common data of a loop's lives. */
export type Terms = { base: string; model: string; endpoint: string; input: JsonObject };
export type Payer = { accountSeq: number; keySeq: number };

/** Data of the bench's model, computed once. */
const [CREDITS, ROUTE_MS, KEEP_MS, COLLECT_MS] = [6, 2_400_000, 604_800_000, 600_000];
const [WAIT_MS, WATCH_MS] = [3_600_000, 6_900_000];
const PROVIDER = "fal";

const routeOf = ({ model, endpoint }: Terms) =>
  ({ routeId: `${model}/${PROVIDER}`, provider: PROVIDER, endpoint, kind: "image" }) as const;

export const commonOf = (terms: Terms): Common => {
  const { model, endpoint, input } = terms;
  const { routeId } = routeOf(terms);
  const planned = { routeId, priceCredits: CREDITS, timeoutMs: ROUTE_MS, onRefusal: "fail", onLost: "next" };
  return {
    ...{ model, routeId, provider: PROVIDER, endpoint, credits: CREDITS },
    body: JSON.stringify({ model, input, max_cost_usd: 10, max_wait_s: WAIT_MS / 1000 }),
    plan: JSON.stringify([planned]),
    options: "{}",
    expected: JSON.stringify({ kind: "image", aspect: "1:1", aspectOff: 0.1 }),
  };
};

const HEADERS = { "content-type": "application/json", "x-fal-no-retry": "1", "x-fal-request-timeout": "900" };
/** The request of every attempt as it is sent, without its key. */
export const requestOf = ({ base, endpoint, input }: Terms) =>
  ({ method: "POST", url: `${base}/${endpoint}`, headers: HEADERS, body: input }) as const;

type Current = { sends: number; sentAtMs: number | null; endsAtMs: number | null; collectEndsAtMs: number | null };
const snapshotOf = (value: JsonObject, waitEndsAtMs: number, current: Current): string =>
  JSON.stringify({
    ...{ v: 1, value },
    memory: {
      ...{ waitEndsAtMs, collectMs: COLLECT_MS, nextRoute: 1, tried: 1, inputRefusals: 0 },
      ...{ current: { n: 1, route: 0, ...current, wakeAtMs: null, watchMs: WATCH_MS }, watched: [] },
    },
  });

/** One generation: each method creates the rows of one of its four commits. */
export const beginLife = (rows: Rows, terms: Terms, { accountSeq, keySeq }: Payer) => {
  const route = routeOf(terms);
  const createdAtMs = Date.now();
  const seq = newGenerationSeq(createdAtMs);
  const id = generationId(seq);
  const ref = `${id.slice("gen_".length)}-1`;
  const waitEndsAtMs = createdAtMs + WAIT_MS;
  let version = 0;
  let current: Current = { sends: 0, sentAtMs: null, endsAtMs: null, collectEndsAtMs: null };
  const step = (event: object, state: string, atMs = Date.now()): Step => {
    version += 1;
    return { seq, version, atMs, state, event: JSON.stringify(event) };
  };
  const snapshotIn = (value: JsonObject) => snapshotOf(value, waitEndsAtMs, current);
  return {
    id,
    admitted: () => {
      const key = crypto.randomUUID();
      const requestId = `req_${ref}`;
      return () => rows.admit({ seq, id, accountSeq, keySeq, key, requestId, createdAtMs, waitEndsAtMs });
    },
    sent: () => {
      const event = { type: "begun", n: 1, route: 0, spec: route, ref, watchMs: WATCH_MS, passed: [] };
      const begun = step(event, "running.submitting.intent");
      const taken = step({ type: "slotTaken", n: 1 }, "running.submitting.sending", begun.atMs);
      const endsAtMs = taken.atMs + ROUTE_MS;
      current = { ...current, sends: 1, sentAtMs: taken.atMs, endsAtMs };
      const snapshot = snapshotIn({ running: { submitting: "sending" } });
      const request = JSON.stringify(requestOf(terms));
      return () => rows.send(begun, taken, { ref, request, endsAtMs, snapshot });
    },
    accepted: (jobId: string, urls: object) => {
      const accepted = step({ type: "accepted", n: 1, job: { jobId, urls } }, "running.polling");
      const snapshot = snapshotIn({ running: "polling" });
      return () => rows.accept(accepted, jobId, JSON.stringify(urls), snapshot);
    },
    delivered: (results: object[], output: object) => {
      const announced = step({ type: "announced", n: 1, results }, "running.collecting.fetching");
      const collected = step({ type: "collected", n: 1, output }, "succeeded", announced.atMs);
      const expireAtMs = collected.atMs + KEEP_MS;
      const end = { accountSeq, results: JSON.stringify(results), output: JSON.stringify(output), expireAtMs };
      return () => rows.deliver(announced, collected, end);
    },
  };
};
