// The providers as the service knows them: composes, sends, polls, looks up and cancels, whatever the dialect.
import { ok } from "node:assert/strict";
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Job, JsonObject } from "../terms.ts";
import { detailOf } from "./answer.ts";
import type { CallProvider } from "./call.ts";
import { openClaims } from "./claims.ts";
import { type Desk, openDesk, type Slots } from "./desk.ts";
import { FAL_BASE_URL, FAL_ORIGINS, fal } from "./fal.ts";
import { lookUp } from "./lookup.ts";
import type { Adapter, AdapterContext, FindOutcome, PollOutcome, Providers, ProviderTraits, Work } from "./provider.ts";
import { REPLICATE_BASE_URL, replicate } from "./replicate.ts";
import { requestLimit } from "./request-limit.ts";

/** Total time per call, ms. A look-up has its time for all its pages together. */
export type CallTimes = { submitMs: number; pollMs: number; findMs: number; cancelMs: number };
const CALL_TIMES: CallTimes = { submitMs: 30_000, pollMs: 15_000, findMs: 15_000, cancelMs: 10_000 };

/** Per provider; all providers together stay below the runtime's bound on requests, which every host shares. */
const SLOTS: Slots = { submits: 64, questions: 32, finds: 8 };
/** With room for more: thousands of jobs are asked about every 5 s, and each answer takes a tenth of a second or two. */
const MANY_QUESTIONS = 256;
const ROOMY = 2_048;

/** The slots of one provider, where the process may have so many requests in flight. */
export const slotsWithin = (limit: number): Slots => (limit >= ROOMY ? { ...SLOTS, questions: MANY_QUESTIONS } : SLOTS);

const DIALECTS: Readonly<Record<string, { adapter: Adapter; publicUrl: string; origins: readonly string[] }>> = {
  fal: { adapter: fal, publicUrl: FAL_BASE_URL, origins: FAL_ORIGINS },
  replicate: { adapter: replicate, publicUrl: REPLICATE_BASE_URL, origins: [] },
};

/** Every provider whose dialect is spoken here. */
export const PROVIDER_IDS: readonly string[] = Object.keys(DIALECTS);

export type ProvidersOptions = {
  settings: Readonly<Record<string, { base_url?: string; key?: string }>>;
  /** Whether a job already belongs to an attempt; it is then not the lost one that is looked for. */
  isOwned: (providerId: string, jobId: string) => Promise<boolean>;
  /** The service's clock, which a look-up compares with the provider's; the machine's when absent. */
  nowMs?: () => number;
  timeouts?: Partial<CallTimes>;
  slots?: Partial<Slots>;
  /** The socket; a world in virtual time has one of its own. */
  call?: CallProvider;
  /** Replaces traits of a provider, for one that is known to settle sooner (the simulator). */
  traits?: Readonly<Record<string, Partial<ProviderTraits>>>;
};

const composedRequest = Type.Object(
  {
    method: Type.Literal("POST"),
    url: Type.String({ minLength: 1 }),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Unsafe<JsonObject>(Type.Object({})),
  },
  { additionalProperties: false },
);
const composed = TypeCompiler.Compile(composedRequest);

/** Reads a request back. What was written by JSON.stringify is written again by it as the same bytes. */
const readComposed = (text: string | null, ref: string): Static<typeof composedRequest> => {
  ok(text !== null, `attempt ${ref} is sent but its request was never written down`);
  const request: unknown = JSON.parse(text);
  ok(composed.Check(request), `the request of attempt ${ref} is not one that was composed here`);
  return request;
};

/**
 * Opens the providers.
 * @throws Error one line, for a credential that cannot be sent in a header.
 */
export const openProviders = (options: ProvidersOptions): Providers => {
  const times = { ...CALL_TIMES, ...options.timeouts };
  const nowMs = options.nowMs ?? Date.now;
  const bornMs = nowMs();
  const slots = { ...slotsWithin(requestLimit()), ...options.slots };
  const claims = openClaims();
  const desks = new Map(
    Object.entries(DIALECTS).map(([id, dialect]) => {
      const { settings, traits, call } = options;
      const plan = { ...dialect, settings: settings[id] ?? {}, slots, traits: traits?.[id] ?? {}, ...(call ? { call } : {}) };
      return [id, openDesk(plan)] as const;
    }),
  );
  const deskOf = (id: string): Desk => {
    const desk = desks.get(id);
    ok(desk, `no provider ${id}`);
    return desk;
  };
  const contextOf = (desk: Desk, { attempt, input }: Work): AdapterContext => ({
    ref: attempt.ref,
    endpoint: attempt.route.endpoint,
    options: attempt.route.options,
    baseUrl: desk.baseUrl,
    input,
  });

  const pollJob = async (desk: Desk, job: Job, c: AdapterContext, signal: AbortSignal): Promise<PollOutcome> => {
    const { adapter } = desk;
    const status = await desk.ask(adapter.poll(job, c), times.pollMs, signal);
    if (status.kind !== "answered") return { kind: "unclear", detail: status.detail };
    const seen = adapter.readPoll(status.response, job, c);
    if (seen.kind !== "ask-result") return seen;
    ok(adapter.result && adapter.readResult, `${adapter.id} sends to a result but has none`);
    // In the same call, because a result is kept for minutes only (fal: 6, when it is large).
    const result = await desk.ask(adapter.result(job, c), times.pollMs, signal);
    if (result.kind !== "answered") return { kind: "unclear", detail: result.detail };
    const outcome = adapter.readResult(result.response, job, c);
    // The status named an error and the result's code agrees without saying which: it is the model's, not a gateway's.
    if (outcome.kind === "unclear" && seen.error !== undefined && result.response.status >= 500)
      return { kind: "failed", failure: { class: "job_failed", detail: detailOf(result.response.status, seen.error) } };
    return outcome;
  };

  return {
    configured: (id) => desks.get(id)?.configured ?? false,
    traits: (id) => deskOf(id).traits,
    slot: (id, signal) => deskOf(id).submits.take(signal),

    compose(errand) {
      const desk = deskOf(errand.attempt.route.provider);
      return JSON.stringify(desk.adapter.submit(contextOf(desk, errand)));
    },

    async submit(errand, signal) {
      const { ref, request: text, route } = errand.attempt;
      const desk = deskOf(route.provider);
      const request = readComposed(text, ref);
      // The settings changed since it was composed: the request stays here, and so does the key.
      const bar = desk.barred(request.url);
      if (bar !== undefined) return { kind: "rejected", failure: { class: "config_fault", detail: bar } };
      const called = await desk.ask(request, times.submitMs, signal);
      if (called.kind === "not_sent") return { kind: "rejected", failure: { class: "not_sent", detail: called.detail } };
      if (called.kind === "broken") return { kind: "ambiguous", detail: called.detail };
      const outcome = desk.adapter.readSubmit(called.response, contextOf(desk, errand));
      if (outcome.kind === "accepted" && !claims.take(route.provider, outcome.job.jobId, ref))
        return { kind: "ambiguous", detail: "the job in the answer was already given to another attempt" };
      return outcome;
    },

    async find(errand, signal, only) {
      const { ref, route, sentAtMs } = errand.attempt;
      const desk = deskOf(route.provider);
      ok(sentAtMs !== null, `attempt ${ref} is looked for but was never sent`);
      const late: FindOutcome = { kind: "unclear", detail: "no free connection" };
      const context = contextOf(desk, errand);
      const lookup = {
        context,
        sentAtMs,
        timeoutMs: times.findMs,
        claims,
        isOwned: options.isOwned,
        nowMs,
        bornMs,
        onlyMarked: only === "marked",
      };
      return await desk.inTurn("finds", times.findMs, signal, late, () => lookUp(desk, lookup, signal));
    },

    async poll(errand, signal) {
      const { job, ref, route } = errand.attempt;
      const desk = deskOf(route.provider);
      ok(job, `attempt ${ref} is polled but has no job`);
      const late: PollOutcome = { kind: "unclear", detail: "no free connection" };
      // However long the line is, a poll keeps its place: whoever left would have to begin at its end again.
      return await desk.inTurn("questions", undefined, signal, late, () => pollJob(desk, job, contextOf(desk, errand), signal));
    },

    async cancel(errand, signal) {
      const { job, route } = errand.attempt;
      const desk = deskOf(route.provider);
      if (job === null || desk.adapter.cancel === undefined) return false;
      const request = desk.adapter.cancel(job, contextOf(desk, errand));
      return await desk.inTurn("questions", times.cancelMs, signal, false, async () => {
        const called = await desk.ask(request, times.cancelMs, signal);
        return called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;
      });
    },
  };
};
