// Creates the lives of a stocked directory: the product's admission and machine compute the mutations of their events.
import { type Actor, createActor } from "xstate";
import { applyEvents } from "../../actors/generation/apply-event.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import type { GenerationEvent, MachineOutput } from "../../actors/generation/types.ts";
import { generationId } from "../../src/domain/ids.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import type { Attempt, JsonObject, Labels, Output, StoredFile } from "../../src/domain/types.ts";
import { createProviders } from "../../src/providers/providers.ts";
import { checkInput } from "../../src/quote/check-input.ts";
import { makePlan } from "../../src/quote/plan.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { type PackedAdmit, pack, type SerializedMutation } from "../../src/store/sql/serialized-mutations.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import type { Tenant } from "./service.ts";

export type StockStatus = "queued" | "running" | "succeeded";

/** Inputs and results: a clip as in the other benches, or pictures, whose rows are half the size. */
export type Subject = { model: string; input: JsonObject; files: number; mime: string; shown: Omit<Output, "kind" | "files"> };
export const CLIP: Subject = {
  model: "vidmodel-2.0-fast",
  input: { prompt: "a red kite over dunes", resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false },
  ...{ files: 1, mime: "video/mp4", shown: { width: 1280, height: 720, durationMs: 5_000, hasAudio: false } },
};
export const PICTURES: Subject = {
  model: "sim-image-1",
  input: { prompt: "a red kite over dunes", aspect_ratio: "16:9" },
  ...{ files: 2, mime: "image/png", shown: { width: 1376, height: 768 } },
};
/** The longest wait of clients, far longer than a bench of generations in flight. */
const MAX_WAIT_MS = 86_400_000;
const COLLECT_MS = 600_000;
const KEEP_FILES_MS = 604_800_000;
/** Times of the events of a life, ms after its submission. */
/** Events that the service commits together with the one before: a slot that is free, and files that arrive at once. */
const JOINT: ReadonlySet<GenerationEvent["type"]> = new Set(["slotTaken", "collected"]);
const together = (events: readonly GenerationEvent[]): GenerationEvent[][] => {
  const joint: GenerationEvent[][] = [];
  for (const event of events) {
    const last = joint.at(-1);
    if (last && JOINT.has(event.type)) last.push(event);
    else joint.push([event]);
  }
  return joint;
};
const [BEGUN_MS, SENT_MS, ACCEPTED_MS, ANNOUNCED_MS, COLLECTED_MS] = [2, 5, 180, 48_000, 48_400];
/** The time from the submission to the end. */
export const LIFE_MS: Readonly<Record<StockStatus, number>> = { queued: 0, running: ACCEPTED_MS, succeeded: COLLECTED_MS };

/** A closed port: polls of these jobs fail. */
const PROVIDER_URL = "http://127.0.0.1:9/fal";

const prepareSubmission = ({ model: modelId, input }: Subject) => {
  const model = sampleCatalogue().model(modelId);
  if (!model) throw new Error(`the catalogue has no ${modelId}`);
  const checked = checkInput(model, input, () => false);
  const plan = makePlan({
    ...{ model, checked, measured: [], prices: priceRoutes(model, checked, []), maxCostCredits: 10_000, maxWaitMs: null },
    ...{ routeState: () => "up", expectedMs: () => undefined },
  });
  const route = model.routes.find(({ id }) => id === plan.routes[0]?.routeId);
  if (!route) throw new Error(`${modelId} has no route for this input`);
  const { id: routeId, provider, endpoint } = route;
  const spec = { routeId, provider, endpoint, options: route.options as unknown as JsonObject, kind: model.kind };
  const mutation = pack({
    ...{
      mutation: "admit",
      seq: 0,
      id: "",
      accountSeq: 0,
      keySeq: 0,
      model: modelId,
      idempotencyKey: null,
      requestId: "",
    },
    ...{ body: JSON.stringify({ model: modelId, input }), added: checked.added, plan: plan.routes, maxCostCredits: 10_000 },
    ...{ quotedCredits: plan.quotedCredits, reservedCredits: plan.reservedCredits, createdAtMs: 0, waitEndsAtMs: 0 },
    inProgressLimit: Number.MAX_SAFE_INTEGER,
  }) as PackedAdmit;
  return { plan: plan.routes, spec, mutation, input: { raw: checked.raw, filled: checked.filled } };
};

/** Creates lives up to a status. The checked input, its plan and its price are computed once. */
export const openLives = (subject: Subject) => {
  const { plan, spec, mutation: submission, input } = prepareSubmission(subject);
  const settings = { [spec.provider]: { base_url: PROVIDER_URL, key: "simulator" } };
  const providers = createProviders({ settings, isOwned: async () => false });
  const { watchMs } = providers.traits(spec.provider);
  const [price] = plan;
  if (!price) throw new Error("a plan has at least one route");

  const unsent = (seq: number, ref: string): Attempt => ({
    ...{
      seq,
      n: 1,
      ref,
      requestId: "",
      route: spec,
      priceCredits: price.priceCredits,
      state: "intent",
      request: null,
      sentAtMs: null,
    },
    ...{ endsAtMs: null, job: null, results: null, failure: null, watchUntilMs: null, endedAtMs: null },
  });

  /** Its events, in order. */
  const eventsOf = (seq: number, id: string, atMs: number, status: StockStatus, files: StoredFile[]): GenerationEvent[] => {
    if (status === "queued") return [];
    const ref = `${id.slice("gen_".length)}-1`;
    const jobId: string = crypto.randomUUID();
    const job = `${PROVIDER_URL}/${spec.endpoint.split("/").slice(0, 2).join("/")}/requests/${jobId}`;
    const urls = { poll: `${job}/status`, result: job, cancel: `${job}/cancel` };
    const request = providers.compose({ attempt: unsent(seq, ref), input });
    const started: GenerationEvent[] = [
      { type: "begun", n: 1, route: 0, spec, ref, watchMs, passed: [], atMs: atMs + BEGUN_MS },
      { type: "slotTaken", n: 1, request, atMs: atMs + SENT_MS },
      { type: "accepted", n: 1, job: { jobId, urls }, atMs: atMs + ACCEPTED_MS },
    ];
    if (status === "running") return started;
    const output: Output = { kind: spec.kind, files, ...subject.shown };
    const results = files.map(({ n, mime }) => ({ url: `http://127.0.0.1:9/files/${jobId}/output-${n}`, mime }));
    return [
      ...started,
      { type: "announced", n: 1, results, atMs: atMs + ANNOUNCED_MS },
      { type: "collected", n: 1, output, atMs: atMs + COLLECTED_MS },
    ];
  };

  const stepsOf = (seq: number, waitEndsAtMs: number, events: readonly GenerationEvent[]): ApplyTransition[] => {
    if (events.length === 0) return [];
    const sayings: MachineOutput[] = [];
    const actor: Actor<typeof generationMachine> = createActor(generationMachine, {
      input: { plan, waitEndsAtMs, collectMs: COLLECT_MS },
    });
    actor.start();
    actor.on("*", (saying) => sayings.push(saying));
    let version = 0;
    const mutations = together(events).map((joint) => {
      const before = actor.getSnapshot();
      const taken = joint.map((event) => {
        actor.send(event);
        return { event, after: actor.getSnapshot(), outputs: sayings.splice(0) };
      });
      const step = applyEvents(seq, version, before, taken, KEEP_FILES_MS);
      if (!step) throw new Error(`${joint.map(({ type }) => type).join(" and ")} changed nothing`);
      version += joint.length;
      return step.mutation;
    });
    actor.stop();
    return mutations;
  };

  /** The mutations of a life that began at a time, and its id. */
  return (
    { accountSeq, keySeq }: Tenant,
    atMs: number,
    status: StockStatus,
    files: StoredFile[],
    labels?: Labels,
  ): { id: string; mutations: SerializedMutation[] } => {
    const seq = newGenerationSeq(atMs);
    const id = generationId(seq);
    const waitEndsAtMs = atMs + MAX_WAIT_MS;
    const requestId = `req_${id.slice("gen_".length)}`;
    const admit: PackedAdmit = {
      ...submission,
      ...{ seq, id, accountSeq, keySeq, requestId, idempotencyKey: crypto.randomUUID(), createdAtMs: atMs, waitEndsAtMs },
      ...(labels ? { labels } : {}),
    };
    return { id, mutations: [admit, ...stepsOf(seq, waitEndsAtMs, eventsOf(seq, id, atMs, status, files)).map(pack)] };
  };
};
