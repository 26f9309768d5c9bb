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

/** One generation: each method creates the rows of one of its six commits. */
export const beginLife = (rows: Rows, terms: Terms, { accountSeq, keySeq }: Payer) => {
  const route = routeOf(terms);
  const createdAtMs = Date.now();
  const seq = newGenerationSeq(createdAtMs);
  const id = generationId(seq);
  const ref = `${id.slice("gen_".length)}-1`;
  const waitEndsAtMs = createdAtMs + WAIT_MS;
  let version = 0;
  let current: Current = { sends: 0, sentAtMs: null, endsAtMs: null, collectEndsAtMs: null };
  const step = (event: object): Step => {
    version += 1;
    return { seq, version, atMs: Date.now(), event: JSON.stringify(event) };
  };
  const openState = (state: string, value: JsonObject) => ({ state, snapshot: snapshotOf(value, waitEndsAtMs, current) });
  return {
    id,
    admitted: () => {
      const key = crypto.randomUUID();
      const requestId = `req_${ref}`;
      return () => rows.admit({ seq, id, accountSeq, keySeq, key, requestId, createdAtMs, waitEndsAtMs });
    },
    begun: () => {
      const begun = step({ type: "begun", n: 1, route: 0, spec: route, ref, watchMs: WATCH_MS, passed: [] });
      const intent = openState("running.submitting.intent", { running: { submitting: "intent" } });
      return () => rows.begin(begun, ref, { ...intent, due: ["submit", waitEndsAtMs] });
    },
    sending: () => {
      const taken = step({ type: "slotTaken", n: 1 });
      const endsAtMs = taken.atMs + ROUTE_MS;
      current = { ...current, sends: 1, sentAtMs: taken.atMs, endsAtMs };
      const sending = openState("running.submitting.sending", { running: { submitting: "sending" } });
      const request = JSON.stringify(requestOf(terms));
      return () => rows.send(taken, request, endsAtMs, { ...sending, due: ["attempt", endsAtMs] });
    },
    accepted: (jobId: string, urls: object) => {
      const accepted = step({ type: "accepted", n: 1, job: { jobId, urls } });
      const polling = openState("running.polling", { running: "polling" });
      return () => rows.accept(accepted, jobId, JSON.stringify(urls), polling);
    },
    announced: (results: object[]) => {
      const announced = step({ type: "announced", n: 1, results });
      const collectEndsAtMs = announced.atMs + COLLECT_MS;
      current = { ...current, collectEndsAtMs };
      const fetching = openState("running.collecting.fetching", { running: { collecting: "fetching" } });
      return () => rows.announce(announced, JSON.stringify(results), { ...fetching, due: ["collect", collectEndsAtMs] });
    },
    collected: (output: object) => {
      const collected = step({ type: "collected", n: 1, output });
      return () => rows.deliver(collected, accountSeq, JSON.stringify(output), collected.atMs + KEEP_MS);
    },
  };
};
