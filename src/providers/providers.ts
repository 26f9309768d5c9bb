// All providers: composes, submits, polls, looks up and cancels in each dialect.
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
import type { Adapter, AdapterContext, FileTraits, FindOutcome, PollOutcome, Providers, ProviderTraits, Work } from "./port.ts";
import { givenInput, type OpenInput, wholeRequest } from "./prepared-request.ts";
import { createProviderClient, type ProviderClient, type Slots } from "./provider-client.ts";
import { REPLICATE_BASE_URL, REPLICATE_KNOWN, replicate } from "./replicate.ts";
import { placeholderOf } from "./request-body.ts";
import { requestLimit } from "./request-limit.ts";
import { uploadTo } from "./uploads.ts";

/** Total time of each call, ms. `findMs` covers all pages of a lookup together. */
export type CallTimes = { submitMs: number; pollMs: number; findMs: number; cancelMs: number; uploadMs: number };
const CALL_TIMES: CallTimes = { submitMs: 30_000, pollMs: 15_000, findMs: 15_000, cancelMs: 10_000, uploadMs: 300_000 };

/** Slots per provider. All providers together stay below the runtime's limit on requests, which all hosts share. */
const SLOTS: Slots = { submits: 64, questions: 32, finds: 8 };
/** Slots for polls with a raised limit: thousands of jobs are polled every 5 s, and a response takes 0.1 to 0.2 s. */
const MANY_QUESTIONS = 256;
const ROOMY = 2_048;

/** The slots of one provider, given the process's limit on concurrent requests. */
export const slotsWithin = (limit: number): Slots => (limit >= ROOMY ? { ...SLOTS, questions: MANY_QUESTIONS } : SLOTS);

/** The sources of a dialect, and its unverified statements. */
type Known = { as_of: string; from: readonly string[]; not_verified?: readonly string[] };
/** The form of a credential: a regular expression, and an example. */
export type KeyForm = { pattern: string; example: string };

type KnownDialect = {
  adapter: Adapter;
  name: string;
  known: Known;
  publicUrl: string;
  /** Further origins that may receive the credential. */
  origins: readonly string[];
  /** The account whose credential the provider uses. */
  account: string;
  /** The provider responds to a submission with a job to poll, instead of the result. */
  isChecked: boolean;
  /** What every credential of the provider matches, and how one looks; null if unknown. */
  keyForm: KeyForm | null;
};

/** Dialects that need code beyond tables and templates. */
const CODED: Readonly<Record<string, KnownDialect>> = {
  fal: {
    ...{ adapter: fal, name: "fal", publicUrl: FAL_BASE_URL, origins: FAL_ORIGINS, account: "fal", isChecked: true },
    keyForm: { pattern: "^[^:]+:[^:]+$", example: "ID:SECRET" },
    known: FAL_KNOWN,
  },
  replicate: {
    ...{
      adapter: replicate,
      name: "Replicate",
      publicUrl: REPLICATE_BASE_URL,
      origins: [],
      account: "replicate",
      isChecked: true,
      keyForm: null,
    },
    known: REPLICATE_KNOWN,
  },
};

/** Every dialect, by the id of its provider. */
export const knownDialects = (dialects: Dialects): [string, KnownDialect][] => [
  ...Object.entries(CODED),
  ...[...dialects].map(([id, { dialect, adapter }]): [string, KnownDialect] => [
    id,
    {
      ...{ adapter, name: dialect.name, known: dialect.known, publicUrl: dialect.base_url, origins: dialect.hosts ?? [] },
      ...{ account: dialect.account ?? id, isChecked: dialect.poll !== undefined, keyForm: dialect.key_form ?? null },
    },
  ]),
];

/** How files reach the provider of an adapter. */
export const fileTraitsOf = ({ uploads = [], takesNoLinks }: Adapter): FileTraits => ({
  takesLinks: takesNoLinks !== true,
  forms: uploads,
});

/** Every provider that has a dialect, with its account. */
export const knownProviders = (dialects: Dialects): ReadonlyMap<string, { account: string }> =>
  new Map(knownDialects(dialects).map(([id, { account }]) => [id, { account }]));

/** The facts about each provider that the admin service shows to an operator. */
export const providerFacts = (dialects: Dialects) =>
  knownDialects(dialects)
    .map(([id, { adapter, name, account, isChecked, keyForm }]) => ({
      id,
      account,
      name,
      recovery: adapter.recovery,
      isChecked,
      keyForm,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** The ids of the providers whose dialects ship with the service. */
export const builtInProviders = (): readonly string[] => [...knownProviders(readDialects(null)).keys()];

export type ProvidersOptions = {
  settings: Readonly<Record<string, { base_url?: string; key?: string }>>;
  /** The dialects; the built-in ones if absent. */
  dialects?: Dialects;
  /** The callback URL of an attempt; absent if the service has no public URL. */
  callbackUrl?: (ref: string) => string | undefined;
  /** Whether an attempt already owns the job, which excludes it from a lookup. */
  isOwned: (providerId: string, jobId: string) => Promise<boolean>;
  /** Opens a file that a request contains. */
  openInput?: OpenInput;
  /** The service clock, which a lookup compares with the provider's; the machine's clock if absent. */
  nowMs?: () => number;
  timeouts?: Partial<CallTimes>;
  slots?: Partial<Slots>;
  /** Makes the HTTP calls. A world in virtual time passes its own. */
  call?: CallProvider;
  /** Overrides traits of a provider, e.g. for the simulator, which settles sooner. */
  traits?: Readonly<Record<string, Partial<ProviderTraits>>>;
};

/** Creates the providers. @throws Error one line, for a credential that cannot be sent in a header. */
export const createProviders = (options: ProvidersOptions): Providers => {
  const times = { ...CALL_TIMES, ...options.timeouts };
  const nowMs = options.nowMs ?? Date.now;
  const bornMs = nowMs();
  const slots = { ...slotsWithin(requestLimit()), ...options.slots };
  const claims = createJobClaims();
  const isReported = options.callbackUrl?.("") !== undefined;
  const known = knownDialects(options.dialects ?? readDialects(null));
  const clients = new Map(
    known.map(([id, { account, ...dialect }]) => {
      const { traits, call } = options;
      const key = keyOf(options.settings, id, account);
      const settings = { ...options.settings[id], ...(key === undefined ? {} : { key }) };
      const plan = {
        ...dialect,
        settings,
        slots,
        nowMs,
        isReported,
        traits: traits?.[id] ?? {},
        ...(call ? { call } : {}),
      };
      return [id, createProviderClient(plan)] as const;
    }),
  );
  const clientOf = (id: string): ProviderClient => {
    const client = clients.get(id);
    ok(client, `no provider ${id}`);
    return client;
  };
  /** An explicit timeout has precedence over the provider's own. */
  const submitMsOf = ({ adapter }: ProviderClient): number => options.timeouts?.submitMs ?? adapter.submitMs ?? times.submitMs;
  const callbackFor = (ref: string): Pick<AdapterContext, "callbackUrl"> => {
    const callbackUrl = options.callbackUrl?.(ref);
    return callbackUrl === undefined ? {} : { callbackUrl };
  };
  const contextOf = (client: ProviderClient, work: Work): AdapterContext => ({
    ref: work.attempt.ref,
    requestId: work.attempt.requestId,
    endpoint: work.attempt.route.endpoint,
    options: work.attempt.route.options,
    baseUrl: client.baseUrl,
    input: givenInput(work),
    ...callbackFor(work.attempt.ref),
  });

  /**
   * Sends the same request with the same idempotency key. A provider that knows the key returns its job; another provider accepts
   * the request now. After the find window the provider may have forgotten the key and would start a second job, so the request
   * is not sent. A refusal proves nothing about the first request. The provider may validate a request before it looks up the
   * key, and refuse an expired link or a used key.
   */
  const sendAgain = async (client: ProviderClient, task: Work, sentAtMs: number, signal: AbortSignal): Promise<FindOutcome> => {
    const { ref, route } = task.attempt;
    if (nowMs() - sentAtMs >= client.traits.findWindowMs)
      return { kind: "unclear", detail: "the time is over in which its key is known" };
    const request = await wholeRequest(task, options.openInput);
    if (request === undefined) return { kind: "unclear", detail: "our copy of its input is gone" };
    const called = await client.request(request, submitMsOf(client), signal, task.attempt);
    if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
    const outcome = client.adapter.readSubmit(called.response, contextOf(client, task));
    if (outcome.kind === "ambiguous") return { kind: "unclear", detail: outcome.detail };
    if (outcome.kind === "rejected") return { kind: "unclear", detail: outcome.failure.detail };
    if (!claims.take(route.provider, outcome.job.jobId, ref))
      return { kind: "unclear", detail: "the job in the answer was already given to another attempt" };
    return { kind: "found", job: outcome.job };
  };

  const pollJob = async (client: ProviderClient, job: Job, c: AdapterContext, signal: AbortSignal): Promise<PollOutcome> => {
    const { adapter } = client;
    const status = await client.request(adapter.poll(job, c), times.pollMs, signal, c);
    if (status.kind !== "answered") return { kind: "unclear", detail: status.detail };
    const seen = adapter.readPoll(status.response, job, c);
    if (seen.kind === "unclear") return { ...seen, ...setUpFaultOf(adapter, status.response) };
    if (seen.kind !== "ask-result") return seen;
    ok(adapter.result && adapter.readResult, `${adapter.id} sends to a result but has none`);
    // In the same call, because some results are kept for minutes only (fal: 6, if large).
    const result = await client.request(adapter.result(job, c), times.pollMs, signal, c);
    if (result.kind !== "answered") return { kind: "unclear", detail: result.detail };
    const outcome = adapter.readResult(result.response, job, c);
    // The status reported an error, and the result has a 5xx without a reason. The failure is the model's, not a gateway's.
    if (outcome.kind === "unclear" && seen.error !== undefined && result.response.status >= 500)
      return { kind: "failed", failure: { class: "job_failed", detail: detailOf(result.response.status, seen.error) } };
    return outcome;
  };

  /** Some providers treat a cancellation of a started or finished job as its deletion. */
  const mayCancel = async (client: ProviderClient, job: Job, c: AdapterContext, signal: AbortSignal): Promise<boolean> => {
    const { adapter } = client;
    if (adapter.cancelOnlyIn === undefined) return true;
    const requested = await client.request(adapter.poll(job, c), times.cancelMs, signal, c);
    if (requested.kind !== "answered") return false;
    const seen = adapter.readPoll(requested.response, job, c);
    return seen.kind === "pending" && adapter.cancelOnlyIn.includes(seen.seen);
  };

  return {
    configured: (id) => clients.get(id)?.isConfigured() ?? false,
    ...createCredentialSource(options.settings, known, (id, key) => clientOf(id).rekey(key)),
    traits: (id) => clientOf(id).traits,
    jobInCallback: (task, body) => {
      const client = clientOf(task.attempt.route.provider);
      return client.adapter.readCallback?.(body, contextOf(client, task));
    },
    check: (id, route, signal) => checkKey(clientOf(id), route, { nowMs: nowMs(), timeoutMs: times.findMs }, signal),
    list: (id, routes, sinceMs, signal) => listAllPages(clientOf(id), routes, { sinceMs, timeoutMs: times.findMs }, signal),
    fileHeaders: (id, address) => clientOf(id).fileHeaders(address),
    baseUrlOf: (id) => clientOf(id).baseUrl,
    fileTraits: (id) => fileTraitsOf(clientOf(id).adapter),
    upload: (id, form, upload, signal) => {
      const client = clientOf(id);
      const chosen = client.adapter.uploads?.[form];
      ok(chosen?.as === "upload", `${id} has no storage for files`);
      return uploadTo(client, chosen, upload, times.uploadMs, signal);
    },
    placeOf: (id, form, { n, sha256, mime }) => {
      const chosen = clientOf(id).adapter.uploads?.[form];
      ok(chosen?.as === "inline", `${id} takes no files inside requests`);
      return placeholderOf({ n, sha256, text: chosen.text, mime });
    },
    slot: (id, signal) => clientOf(id).submits.take(signal),
    trySlot: (id) => clientOf(id).submits.tryTake(),

    compose(task) {
      const client = clientOf(task.attempt.route.provider);
      const request = client.adapter.submit(contextOf(client, task));
      return JSON.stringify(task.given ? { ...request, given: task.given } : request);
    },

    async submit(task, signal) {
      const { ref, route } = task.attempt;
      const client = clientOf(route.provider);
      const request = await wholeRequest(task, options.openInput);
      if (request === undefined)
        return { kind: "rejected", failure: { class: "input_unreachable", detail: "our copy of its input is gone" } };
      // The configuration has changed since the request was composed, so neither the request nor the credential is sent.
      const bar = client.barred(request.url);
      if (bar !== undefined) return { kind: "rejected", failure: { class: "config_fault", detail: bar } };
      const called = await client.request(request, submitMsOf(client), signal, task.attempt);
      if (called.kind === "not_sent") return { kind: "rejected", failure: { class: "not_sent", detail: called.detail } };
      if (called.kind === "broken") return { kind: "ambiguous", detail: called.detail };
      const outcome = client.adapter.readSubmit(called.response, contextOf(client, task));
      if (outcome.kind === "rejected" && isOfAccount(client.adapter, called.response, "submitting", outcome.failure.class))
        return { ...outcome, isOfAccount: true };
      if (outcome.kind === "accepted" && !claims.take(route.provider, outcome.job.jobId, ref))
        return { kind: "ambiguous", detail: "the job in the answer was already given to another attempt" };
      return outcome;
    },

    async find(task, signal, only) {
      const { ref, route, sentAtMs } = task.attempt;
      const client = clientOf(route.provider);
      ok(sentAtMs !== null, `attempt ${ref} is looked for but was never sent`);
      const late: FindOutcome = { kind: "unclear", detail: "no free connection" };
      const context = contextOf(client, task);
      if (client.adapter.recovery === "key")
        return await client.inTurn("finds", times.findMs, signal, late, () => sendAgain(client, task, sentAtMs, signal));
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
      return await client.inTurn("finds", times.findMs, signal, late, () => lookUpJob(client, lookup, signal));
    },

    async poll(task, signal) {
      const { job, ref, route } = task.attempt;
      const client = clientOf(route.provider);
      ok(job, `attempt ${ref} is polled but has no job`);
      if (client.adapter.answersAtOnce)
        return { kind: "unclear", detail: "it answers with what it made: there is nothing to ask" };
      const late: PollOutcome = { kind: "unclear", detail: "no free connection" };
      // A poll keeps its place in a queue of any length, because leaving would put it at the end again.
      return await client.inTurn("questions", undefined, signal, late, () =>
        pollJob(client, job, contextOf(client, task), signal),
      );
    },

    async cancel(task, signal) {
      const { job, route } = task.attempt;
      const client = clientOf(route.provider);
      if (job === null || client.adapter.cancel === undefined) return false;
      const request = client.adapter.cancel(job, contextOf(client, task));
      return await client.inTurn("questions", times.cancelMs, signal, false, async () => {
        if (!(await mayCancel(client, job, contextOf(client, task), signal))) return false;
        const called = await client.request(request, times.cancelMs, signal, task.attempt);
        return called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;
      });
    },
  };
};
