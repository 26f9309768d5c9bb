// The providers as the service knows them: composes, sends, polls, looks up and cancels, whatever the dialect.
import { ok } from "node:assert/strict";
import type { Job } from "../domain/types.ts";
import { checkKey, isOfAccount, setUpFaultOf } from "./credential-check.ts";
import { createCredentialSource, keyOf } from "./credential-source.ts";
import { type Dialects, readDialects } from "./dialect/load.ts";
import { FAL_BASE_URL, FAL_KNOWN, FAL_ORIGINS, fal } from "./fal.ts";
import type { CallProvider } from "./http-call.ts";
import { createJobClaims } from "./job-claims.ts";
import { lookUpJob } from "./job-lookup.ts";
import { listAllPages } from "./list-all-pages.ts";
import { detailOf } from "./parse-response.ts";
import type { Adapter, AdapterContext, FindOutcome, PollOutcome, Providers, ProviderTraits, Work } from "./port.ts";
import { type CopyOf, givenInput, wholeRequest } from "./prepared-request.ts";
import { createProviderClient, type ProviderClient, type Slots } from "./provider-client.ts";
import { REPLICATE_BASE_URL, REPLICATE_KNOWN, replicate } from "./replicate.ts";
import { requestLimit } from "./request-limit.ts";
import { uploadTo, uploadUrlOf } from "./uploads.ts";

/** Total time per call, ms. A look-up has its time for all its pages together. */
export type CallTimes = { submitMs: number; pollMs: number; findMs: number; cancelMs: number; uploadMs: number };
const CALL_TIMES: CallTimes = { submitMs: 30_000, pollMs: 15_000, findMs: 15_000, cancelMs: 10_000, uploadMs: 300_000 };

/** Per provider; all providers together stay below the runtime's bound on requests, which every host shares. */
const SLOTS: Slots = { submits: 64, questions: 32, finds: 8 };
/** With room for more: thousands of jobs are asked about every 5 s, and each answer takes a tenth of a second or two. */
const MANY_QUESTIONS = 256;
const ROOMY = 2_048;

/** The slots of one provider, where the process may have so many requests in flight. */
export const slotsWithin = (limit: number): Slots => (limit >= ROOMY ? { ...SLOTS, questions: MANY_QUESTIONS } : SLOTS);

/** Where what is known of a provider was read, and what of it nobody has tried. */
type Known = { as_of: string; from: readonly string[]; not_verified?: readonly string[] };
type Spoken = {
  adapter: Adapter;
  name: string;
  known: Known;
  publicUrl: string;
  /** Further origins that may be given the key. */
  origins: readonly string[];
  /** Whose key it uses. */
  account: string;
  /** It answers a submission with a job to ask about, instead of with what it made. */
  isAsked: boolean;
};

/** Dialects that are more than tables and templates. */
const CODED: Readonly<Record<string, Spoken>> = {
  fal: {
    ...{ adapter: fal, name: "fal", publicUrl: FAL_BASE_URL, origins: FAL_ORIGINS, account: "fal", isAsked: true },
    known: FAL_KNOWN,
  },
  replicate: {
    ...{ adapter: replicate, name: "Replicate", publicUrl: REPLICATE_BASE_URL, origins: [], account: "replicate", isAsked: true },
    known: REPLICATE_KNOWN,
  },
};

/** Every dialect that is spoken here, by the id of its provider. */
export const knownDialects = (dialects: Dialects): [string, Spoken][] => [
  ...Object.entries(CODED),
  ...[...dialects].map(([id, { dialect, adapter }]): [string, Spoken] => [
    id,
    {
      ...{ adapter, name: dialect.name, known: dialect.known, publicUrl: dialect.base_url, origins: dialect.hosts ?? [] },
      ...{ account: dialect.account ?? id, isAsked: dialect.poll !== undefined },
    },
  ]),
];

/** Every provider whose dialect is spoken here, with whose key. */
export const knownProviders = (dialects: Dialects): ReadonlyMap<string, { account: string }> =>
  new Map(knownDialects(dialects).map(([id, { account }]) => [id, { account }]));

/** What an operator is told of every provider whose dialect is spoken here. */
export const providerFacts = (dialects: Dialects) =>
  knownDialects(dialects)
    .map(([id, { adapter, name, account, isAsked }]) => ({
      id,
      account,
      name,
      recovery: adapter.recovery,
      isAsked,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** Providers of the dialects that the service ships with. */
export const builtInProviders = (): readonly string[] => [...knownProviders(readDialects(null)).keys()];

export type ProvidersOptions = {
  settings: Readonly<Record<string, { base_url?: string; key?: string }>>;
  /** Those of the dialect files; the built-in ones when absent. */
  dialects?: Dialects;
  /** Where the provider may tell of an attempt; absent where nobody outside can reach the service. */
  callbackUrl?: (ref: string) => string | undefined;
  /** Whether a job already belongs to an attempt; it is then not the lost one that is looked for. */
  isOwned: (providerId: string, jobId: string) => Promise<boolean>;
  copyOf?: CopyOf;
  /** The service's clock, which a look-up compares with the provider's; the machine's when absent. */
  nowMs?: () => number;
  timeouts?: Partial<CallTimes>;
  slots?: Partial<Slots>;
  /** The socket; a world in virtual time has one of its own. */
  call?: CallProvider;
  /** Replaces traits of a provider, for one that is known to settle sooner (the simulator). */
  traits?: Readonly<Record<string, Partial<ProviderTraits>>>;
};

/**
 * Opens the providers.
 * @throws Error one line, for a credential that cannot be sent in a header.
 */
export const createProviders = (options: ProvidersOptions): Providers => {
  const times = { ...CALL_TIMES, ...options.timeouts };
  const nowMs = options.nowMs ?? Date.now;
  const bornMs = nowMs();
  const slots = { ...slotsWithin(requestLimit()), ...options.slots };
  const claims = createJobClaims();
  const isTold = options.callbackUrl?.("") !== undefined;
  const spoken = knownDialects(options.dialects ?? readDialects(null));
  const desks = new Map(
    spoken.map(([id, { account, ...dialect }]) => {
      const { traits, call } = options;
      const key = keyOf(options.settings, id, account);
      const settings = { ...options.settings[id], ...(key === undefined ? {} : { key }) };
      const plan = { ...dialect, settings, slots, nowMs, isTold, traits: traits?.[id] ?? {}, ...(call ? { call } : {}) };
      return [id, createProviderClient(plan)] as const;
    }),
  );
  const deskOf = (id: string): ProviderClient => {
    const desk = desks.get(id);
    ok(desk, `no provider ${id}`);
    return desk;
  };
  /** A time that was asked for outright goes before the provider's own. */
  const submitMsOf = ({ adapter }: ProviderClient): number => options.timeouts?.submitMs ?? adapter.submitMs ?? times.submitMs;
  const callbackFor = (ref: string): Pick<AdapterContext, "callbackUrl"> => {
    const callbackUrl = options.callbackUrl?.(ref);
    return callbackUrl === undefined ? {} : { callbackUrl };
  };
  const contextOf = (desk: ProviderClient, work: Work): AdapterContext => ({
    ref: work.attempt.ref,
    requestId: work.attempt.requestId,
    endpoint: work.attempt.route.endpoint,
    options: work.attempt.route.options,
    baseUrl: desk.baseUrl,
    input: givenInput(work),
    ...callbackFor(work.attempt.ref),
  });

  /**
   * The same request with the same key: whoever knows the key answers with the job it stands for, whoever does not takes it now. Once the
   * key may be forgotten it is not sent any more: it would be another job. A refusal says nothing of the first time: what checks a
   * request may stand before what knows the key, and have its own opinion of a link that is over by now or of a key that was used.
   */
  const sendAgain = async (desk: ProviderClient, task: Work, sentAtMs: number, signal: AbortSignal): Promise<FindOutcome> => {
    const { ref, request: text, route } = task.attempt;
    if (nowMs() - sentAtMs >= desk.traits.findWindowMs)
      return { kind: "unclear", detail: "the time is over in which its key is known" };
    const request = await wholeRequest(text, ref, options.copyOf);
    if (request === undefined) return { kind: "unclear", detail: "our copy of its input is gone" };
    const called = await desk.ask(request, submitMsOf(desk), signal, task.attempt);
    if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
    const outcome = desk.adapter.readSubmit(called.response, contextOf(desk, task));
    if (outcome.kind === "ambiguous") return { kind: "unclear", detail: outcome.detail };
    if (outcome.kind === "rejected") return { kind: "unclear", detail: outcome.failure.detail };
    if (!claims.take(route.provider, outcome.job.jobId, ref))
      return { kind: "unclear", detail: "the job in the answer was already given to another attempt" };
    return { kind: "found", job: outcome.job };
  };

  const pollJob = async (desk: ProviderClient, job: Job, c: AdapterContext, signal: AbortSignal): Promise<PollOutcome> => {
    const { adapter } = desk;
    const status = await desk.ask(adapter.poll(job, c), times.pollMs, signal, c);
    if (status.kind !== "answered") return { kind: "unclear", detail: status.detail };
    const seen = adapter.readPoll(status.response, job, c);
    if (seen.kind === "unclear") return { ...seen, ...setUpFaultOf(adapter, status.response) };
    if (seen.kind !== "ask-result") return seen;
    ok(adapter.result && adapter.readResult, `${adapter.id} sends to a result but has none`);
    // In the same call, because a result is kept for minutes only (fal: 6, when it is large).
    const result = await desk.ask(adapter.result(job, c), times.pollMs, signal, c);
    if (result.kind !== "answered") return { kind: "unclear", detail: result.detail };
    const outcome = adapter.readResult(result.response, job, c);
    // The status named an error and the result's code agrees without saying which: it is the model's, not a gateway's.
    if (outcome.kind === "unclear" && seen.error !== undefined && result.response.status >= 500)
      return { kind: "failed", failure: { class: "job_failed", detail: detailOf(result.response.status, seen.error) } };
    return outcome;
  };

  /** Some providers take an order to cancel what has begun, or is done, for one to delete it. */
  const mayCancel = async (desk: ProviderClient, job: Job, c: AdapterContext, signal: AbortSignal): Promise<boolean> => {
    const { adapter } = desk;
    if (adapter.cancelOnlyIn === undefined) return true;
    const asked = await desk.ask(adapter.poll(job, c), times.cancelMs, signal, c);
    if (asked.kind !== "answered") return false;
    const seen = adapter.readPoll(asked.response, job, c);
    return seen.kind === "pending" && adapter.cancelOnlyIn.includes(seen.seen);
  };

  return {
    configured: (id) => desks.get(id)?.isConfigured() ?? false,
    ...createCredentialSource(options.settings, spoken, (id, key) => deskOf(id).rekey(key)),
    traits: (id) => deskOf(id).traits,
    told: (task, body) => {
      const desk = deskOf(task.attempt.route.provider);
      return desk.adapter.readCallback?.(body, contextOf(desk, task));
    },
    check: (id, route, signal) => checkKey(deskOf(id), route, { nowMs: nowMs(), timeoutMs: times.findMs }, signal),
    list: (id, routes, sinceMs, signal) => listAllPages(deskOf(id), routes, { sinceMs, timeoutMs: times.findMs }, signal),
    fileHeaders: (id, address) => deskOf(id).fileHeaders(address),
    baseUrlOf: (id) => deskOf(id).baseUrl,
    uploadOf: (id) => deskOf(id).adapter.upload ?? null,
    upload: (id, upload, signal) => uploadTo(deskOf(id), upload, times.uploadMs, signal),
    placeOf: (id, copy) => {
      const { upload } = deskOf(id).adapter;
      ok(upload?.as === "inline", `${id} takes no files inside requests`);
      return uploadUrlOf(upload.text, copy);
    },
    slot: (id, signal) => deskOf(id).submits.take(signal),

    compose(task) {
      const desk = deskOf(task.attempt.route.provider);
      const request = desk.adapter.submit(contextOf(desk, task));
      return JSON.stringify(task.given ? { ...request, given: task.given } : request);
    },

    async submit(task, signal) {
      const { ref, request: text, route } = task.attempt;
      const desk = deskOf(route.provider);
      const request = await wholeRequest(text, ref, options.copyOf);
      if (request === undefined)
        return { kind: "rejected", failure: { class: "input_unreachable", detail: "our copy of its input is gone" } };
      // The settings changed since it was composed: the request stays here, and so does the key.
      const bar = desk.barred(request.url);
      if (bar !== undefined) return { kind: "rejected", failure: { class: "config_fault", detail: bar } };
      const called = await desk.ask(request, submitMsOf(desk), signal, task.attempt);
      if (called.kind === "not_sent") return { kind: "rejected", failure: { class: "not_sent", detail: called.detail } };
      if (called.kind === "broken") return { kind: "ambiguous", detail: called.detail };
      const outcome = desk.adapter.readSubmit(called.response, contextOf(desk, task));
      if (outcome.kind === "rejected" && isOfAccount(desk.adapter, called.response, "submitting", outcome.failure.class))
        return { ...outcome, isOfAccount: true };
      if (outcome.kind === "accepted" && !claims.take(route.provider, outcome.job.jobId, ref))
        return { kind: "ambiguous", detail: "the job in the answer was already given to another attempt" };
      return outcome;
    },

    async find(task, signal, only) {
      const { ref, route, sentAtMs } = task.attempt;
      const desk = deskOf(route.provider);
      ok(sentAtMs !== null, `attempt ${ref} is looked for but was never sent`);
      const late: FindOutcome = { kind: "unclear", detail: "no free connection" };
      const context = contextOf(desk, task);
      if (desk.adapter.recovery === "key")
        return await desk.inTurn("finds", times.findMs, signal, late, () => sendAgain(desk, task, sentAtMs, signal));
      const lookup = {
        context,
        sentAtMs,
        timeoutMs: times.findMs,
        claims,
        isOwned: options.isOwned,
        nowMs,
        bornMs: task.sentElsewhere ? Number.POSITIVE_INFINITY : bornMs,
        onlyMarked: only === "marked",
      };
      return await desk.inTurn("finds", times.findMs, signal, late, () => lookUpJob(desk, lookup, signal));
    },

    async poll(task, signal) {
      const { job, ref, route } = task.attempt;
      const desk = deskOf(route.provider);
      ok(job, `attempt ${ref} is polled but has no job`);
      if (desk.adapter.answersAtOnce) return { kind: "unclear", detail: "it answers with what it made: there is nothing to ask" };
      const late: PollOutcome = { kind: "unclear", detail: "no free connection" };
      // However long the line is, a poll keeps its place: whoever left would have to begin at its end again.
      return await desk.inTurn("questions", undefined, signal, late, () => pollJob(desk, job, contextOf(desk, task), signal));
    },

    async cancel(task, signal) {
      const { job, route } = task.attempt;
      const desk = deskOf(route.provider);
      if (job === null || desk.adapter.cancel === undefined) return false;
      const request = desk.adapter.cancel(job, contextOf(desk, task));
      return await desk.inTurn("questions", times.cancelMs, signal, false, async () => {
        if (!(await mayCancel(desk, job, contextOf(desk, task), signal))) return false;
        const called = await desk.ask(request, times.cancelMs, signal, task.attempt);
        return called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;
      });
    },
  };
};
