// What the bare loop commits: the rows of a life as the service writes them, put down in order with nothing decided on the way.
import type { Settlement } from "../../../src/deeds.ts";
import { generationId, newGenerationSeq } from "../../../src/ids.ts";
import type { PackedAdmit, PackedDeed, PackedStep } from "../../../src/store/sqlite/pack.ts";
import type { Command, Job, JsonObject, Output, ResultFile } from "../../../src/terms.ts";

/** What the lives of a loop have in common. */
export type Terms = { base: string; model: string; endpoint: string; input: JsonObject };
export type Payer = { accountSeq: number; keySeq: number };

/** Of the bench's model, once. */
const [QUOTED, RESERVED, ROUTE_MS, KEEP_MS, COLLECT_MS] = [6, 6, 2_400_000, 604_800_000, 600_000];
const [WAIT_MS, WATCH_MS] = [3_600_000, 6_900_000];
const PROVIDER = "fal";
const SHARED = { maxCostCredits: 10_000, inProgressLimit: Number.MAX_SAFE_INTEGER } as const;

/** Makes lives, each as its deeds one behind the other. */
export const openDeeds = ({ base, model, endpoint, input }: Terms) => {
  const routeId = `${model}/${PROVIDER}`;
  const planJson = JSON.stringify([{ routeId, priceCredits: QUOTED, timeoutMs: ROUTE_MS, onRefusal: "fail", onLost: "next" }]);
  const body = JSON.stringify({ model, input, max_cost_usd: 10, max_wait_s: WAIT_MS / 1000 });
  const route = { routeId, provider: PROVIDER, endpoint, kind: "image" } as const;
  const headers = { "content-type": "application/json", "x-fal-no-retry": "1", "x-fal-request-timeout": "900" };
  /** The request as it is sent but for its key. */
  const request = { method: "POST", url: `${base}/${endpoint}`, headers, body: { ...input, num_images: 1 } };

  const begin = ({ accountSeq, keySeq }: Payer) => {
    const createdAtMs = Date.now();
    const seq = newGenerationSeq(createdAtMs);
    const id = generationId(seq);
    const ref = `${id.slice("gen_".length)}-1`;
    const waitEndsAtMs = createdAtMs + WAIT_MS;
    let version = 0;
    let current = {
      ...{ n: 1, route: 0, sends: 0, sentAtMs: null as number | null, endsAtMs: null as number | null },
      ...{ collectEndsAtMs: null as number | null, wakeAtMs: null, watchMs: WATCH_MS },
    };
    type Rest = Partial<Omit<PackedStep, "deed" | "seq" | "version" | "eventJson" | "snapshot">>;
    const step = (event: object, value: JsonObject | null, stateAfter: string, atMs: number, rest: Rest): PackedStep => {
      version += 1;
      const memory = { waitEndsAtMs, collectMs: COLLECT_MS, nextRoute: 1, tried: 1, inputRefusals: 0, current, watched: [] };
      return {
        ...{ deed: "step", seq, version, atMs, stateAfter, attemptChanges: [], eventJson: JSON.stringify(event) },
        snapshot: value && JSON.stringify({ v: 1, value, memory }),
        ...rest,
      };
    };
    const due = (kind: Command["kind"], dueAtMs: number): { deadline: Command } => ({ deadline: { kind, n: 1, dueAtMs } });
    const admitted: PackedAdmit = {
      ...{ deed: "admit", seq, id, accountSeq, keySeq, model, body, planJson, addedJson: "{}", createdAtMs, waitEndsAtMs },
      ...{ idempotencyKey: crypto.randomUUID(), requestId: `req_${ref}`, quotedCredits: QUOTED, reservedCredits: RESERVED },
      ...SHARED,
    };
    return {
      id,
      admitted,
      begun: (): PackedDeed =>
        step(
          { type: "begun", n: 1, route: 0, spec: route, ref, watchMs: WATCH_MS, passed: [] },
          { running: { submitting: "intent" } },
          "running.submitting.intent",
          Date.now(),
          {
            attemptChanges: [
              { n: 1, begin: { ref, route: { ...route, options: { constants: { num_images: 1 } } }, priceCredits: QUOTED } },
            ],
            ...{ status: "running", attempts: 1, ...due("submit", waitEndsAtMs) },
          },
        ),
      sending: (): PackedDeed => {
        const sentAtMs = Date.now();
        const endsAtMs = sentAtMs + ROUTE_MS;
        current = { ...current, sends: 1, sentAtMs, endsAtMs };
        return step({ type: "slotTaken", n: 1 }, { running: { submitting: "sending" } }, "running.submitting.sending", sentAtMs, {
          attemptChanges: [{ n: 1, state: "sending", request: JSON.stringify(request), sentAtMs, endsAtMs }],
          ...due("attempt", endsAtMs),
        });
      },
      accepted: (job: Job): PackedDeed =>
        step({ type: "accepted", n: 1, job }, { running: "polling" }, "running.polling", Date.now(), {
          attemptChanges: [{ n: 1, state: "accepted", job }],
        }),
      announced: (results: ResultFile[]): PackedDeed => {
        const atMs = Date.now();
        current = { ...current, collectEndsAtMs: atMs + COLLECT_MS };
        return step(
          { type: "announced", n: 1, results },
          { running: { collecting: "fetching" } },
          "running.collecting.fetching",
          atMs,
          { attemptChanges: [{ n: 1, state: "accepted", results }], ...due("collect", atMs + COLLECT_MS) },
        );
      },
      collected: (output: Output): PackedDeed => {
        const atMs = Date.now();
        const settlement: Settlement = { kind: "capture", n: 1, credits: QUOTED, output, filesExpireAtMs: atMs + KEEP_MS };
        return step({ type: "collected", n: 1, output }, null, "succeeded", atMs, {
          attemptChanges: [{ n: 1, state: "delivered", watchUntilMs: null, endedAtMs: atMs }],
          ...{ status: "succeeded", settlement },
        });
      },
    };
  };
  return { request, begin };
};
