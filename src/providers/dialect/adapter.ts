// Builds the adapter of a provider from the templates and rules of its dialect file.
import type { Job, Json } from "../../domain/types.ts";
import { bearerToken } from "../jwt.ts";
import { endpointOf, inputOf, valuesOf } from "../map-input.ts";
import type { Adapter, AdapterContext, Candidate, FindOutcome } from "../port.ts";
import { judgeOf } from "./error-rules.ts";
import { findingOf } from "./lookup.ts";
import { DialectError, type Scope } from "./placeholders.ts";
import { seekOf } from "./pointers.ts";
import { requestOf } from "./requests.ts";
import { jobNameOf, readAnswerOf } from "./responses.ts";
import { billedSign, withBill } from "./result-metadata.ts";
import type { AnswerTemplate, Dialect } from "./schema.ts";
import { submissionOf } from "./submission.ts";
import { within } from "./template.ts";
import { uploadsOf } from "./upload.ts";

const SUBMIT_KNOWN = ["input", "raw", "mapped", "route", "ref", "ref_uuid", "callback_url"];
const JOB_KNOWN = ["job", "route", "ref", "ref_uuid", "new_uuid"];
/** Default if the dialect sets none, seconds. */
const POLL_EVERY_S = [5, 10] as const;

/**
 * Our reference as a UUID in the format of version 4, for providers that accept nothing else. The same reference always gives the
 * same UUID.
 */
const uuidOf = (ref: string): string => {
  const hex = Bun.SHA256.hash(ref, "hex");
  const variant = "89ab"[Number.parseInt(hex[16] ?? "0", 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The values that a submission's templates may use; `mapped` is the input after the route's own options. */
const submitScope = (c: AdapterContext): Scope => ({
  ...{ input: c.input.filled, raw: c.input.raw, mapped: inputOf(c), ref: c.ref, ref_uuid: uuidOf(c.ref) },
  route: { ...valuesOf(c), endpoint: endpointOf(c) },
  ...(c.callbackUrl === undefined ? {} : { callback_url: c.callbackUrl }),
});
/** Polls, results and cancels concern the job, so they have no input. */
const jobScope = (job: Job, c: AdapterContext): Scope => ({
  ...{ ref: c.ref, ref_uuid: uuidOf(c.ref), route: { ...valuesOf(c), endpoint: c.endpoint } },
  job: { id: job.jobId, ...job.urls },
  /** A new UUID for each request, for providers that repeat their earlier response to a known name. */
  get new_uuid() {
    return crypto.randomUUID();
  },
});

/** The members of an adapter that are compiled from templates, rules and pointers. */
const COMPILED = {
  ...{ auth: true, classOf: true, isOfAccount: true, uploads: true, readCallback: true },
  ...{ submit: true, readSubmit: true, poll: true, readPoll: true, result: true, readResult: true, cancel: true },
  ...{ find: true, readFind: true, readFindPage: true, list: true, readListPage: true },
} as const satisfies Partial<Record<keyof Adapter, true>>;
type Facts = Omit<Adapter, keyof typeof COMPILED>;

/** What a dialect file states about its provider in plain values. */
const factsOf = (dialect: Dialect): Facts => {
  const { find, poll_every_s: [firstS, longestS] = POLL_EVERY_S } = dialect;
  return {
    id: dialect.id,
    recovery: find.by,
    findWindowMs: find.by === "none" ? 0 : find.window_s * 1000,
    findSettleMs: find.by === "none" ? 0 : find.settle_s * 1000,
    ...(find.by === "none" && find.callback_within_s !== undefined ? { callbackWaitMs: find.callback_within_s * 1000 } : {}),
    pollEveryMs: [firstS * 1000, longestS * 1000],
    pollLeastMs: (dialect.poll_least_s ?? firstS / 2) * 1000,
    ...(JSON.stringify(dialect.submit.request).includes("{callback_url}") ? { sendsCallbacks: true as const } : {}),
    watchMs: dialect.watch_s * 1000,
    resultTtlMs: dialect.result_kept_s * 1000,
    ...(dialect.submit_timeout_s === undefined ? {} : { submitMs: dialect.submit_timeout_s * 1000 }),
    ...(dialect.largest_answer_mb === undefined ? {} : { largestAnswer: dialect.largest_answer_mb * 1_048_576 }),
    ...(dialect.poll === undefined ? { answersAtOnce: true as const } : {}),
    filesNeedKey: dialect.files_need_key ?? false,
    ...(dialect.takes_links === false ? { takesNoLinks: true as const } : {}),
    ...(dialect.cancel?.only_in === undefined ? {} : { cancelOnlyIn: dialect.cancel.only_in }),
  };
};

/**
 * Creates the adapter of a dialect file of valid shape. @throws DialectError with the path of the fault, e.g.
 * `/submit/request/body/model: "rute" is not known here`
 */
export const adapterOf = (dialect: Dialect): Adapter => {
  const { auth, find, cancel, headers = {} } = dialect;
  const judge = within("failures", () => judgeOf(dialect.failures, dialect.says));
  const isBilled = within("billed", () => billedSign(dialect.billed));
  const submit = within("submit/request", () => requestOf(dialect.submit.request, headers, SUBMIT_KNOWN));
  const submission = within("submit", () => submissionOf(dialect.submit, judge));
  const finding = within("find", () => findingOf(find, headers, judge));
  const { list, readListPage } = finding ?? {};
  const { upload } = dialect;
  const uploads = upload && within("upload", () => uploadsOf(upload, headers));
  if (dialect.takes_links === false && !uploads) throw new DialectError("/upload: required, because the provider takes no links");
  const named = dialect.callback?.job_id ?? dialect.submit.accepted?.job_id;
  const callbackId = named === undefined ? undefined : within("callback", () => seekOf(named));
  if (submission.isAwaited !== (dialect.poll !== undefined))
    throw new DialectError(
      `/poll: ${submission.isAwaited ? "required, because the provider returns a job id" : "not allowed, because the provider returns no job id"}`,
    );

  const lookupRequest = (template: AnswerTemplate | undefined, way: string) => {
    if (template === undefined) return undefined;
    const make = within(`${way}/request`, () => requestOf(template.request, headers, JOB_KNOWN));
    const read = within(way, () => readAnswerOf(template, judge));
    return {
      make: (job: Job, c: AdapterContext) => make(jobScope(job, c), c.baseUrl),
      read: (r: Parameters<typeof read>[0], job: Job, c: AdapterContext) =>
        withBill(read(r, job, jobScope(job, c), c.baseUrl), () => isBilled(r)),
    };
  };
  const poll = lookupRequest(dialect.poll, "poll");
  const result = lookupRequest(dialect.result, "result");
  const located = (outcome: FindOutcome, c: AdapterContext): FindOutcome =>
    outcome.kind === "found" ? { kind: "found", job: submission.located(outcome.job, submitScope(c), c.baseUrl) } : outcome;
  const cancelling = cancel && within("cancel/request", () => requestOf(cancel.request, headers, JOB_KNOWN));

  return {
    ...factsOf(dialect),
    ...(uploads ? { uploads } : {}),
    auth: (key, nowMs) =>
      "header" in auth
        ? { [auth.header]: auth.value.replace("{key}", key) }
        : { authorization: `Bearer ${bearerToken(key, auth.jwt_hs256.lives_s, nowMs)}` },
    ...(callbackId
      ? {
          readCallback: (body: Json, c: AdapterContext) => {
            const jobId = jobNameOf(callbackId({ status: 200, headers: {}, json: body, text: "" }));
            return jobId === undefined ? undefined : submission.located({ jobId }, submitScope(c), c.baseUrl);
          },
        }
      : {}),
    classOf: (r) => judge.verdict(r, "asking")?.class,
    isOfAccount: (r, phase) => judge.verdict(r, phase)?.isOfAccount ?? false,
    submit: (c) => submit(submitScope(c), c.baseUrl),
    readSubmit: (r, c) => withBill(submission.read(r, c, submitScope(c)), () => isBilled(r)),
    poll: (job, c) => {
      if (!poll) throw new Error(`${dialect.id} returns results directly and has no jobs to poll`);
      return poll.make(job, c);
    },
    readPoll: (r, job, c) => poll?.read(r, job, c) ?? { kind: "gone" },
    ...(result ? { result: result.make, readResult: result.read } : {}),
    ...(cancelling ? { cancel: (job: Job, c: AdapterContext) => cancelling(jobScope(job, c), c.baseUrl) } : {}),
    ...(finding ? { find: (c, sentAtMs, page) => finding.find(c, submitScope(c), sentAtMs, page) } : {}),
    ...(finding?.readFind ? { readFind: (r, c) => located(finding.readFind?.(r, submitScope(c)) ?? NOTHING, c) } : {}),
    ...(list && readListPage
      ? {
          list: (c, sinceMs, page) => list(c, submitScope(c), sinceMs, page),
          readListPage: (r, _, sinceMs, page) => readListPage(r, sinceMs, page),
        }
      : {}),
    ...(finding?.readFindPage
      ? {
          readFindPage: (r, c, sentAtMs, requested) => {
            const page = finding.readFindPage?.(r, c, submitScope(c), sentAtMs, requested) ?? NOTHING;
            if (page.kind !== "page") return page;
            const at = ({ job, match }: Candidate): Candidate => ({
              job: submission.located(job, submitScope(c), c.baseUrl),
              match,
            });
            return { ...page, candidates: page.candidates.map(at) };
          },
        }
      : {}),
  };
};

/**
 * The adapter of a dialect that was validated before its release. It is compiled when one of its compiled members is first read:
 * a service uses few of the dialects, and a start does not wait for them.
 */
export const adapterOnUse = (dialect: Dialect): Adapter => {
  let compiled: Adapter | undefined;
  const whole = () => {
    compiled ??= adapterOf(dialect);
    return compiled;
  };
  const members = Object.keys(COMPILED) as (keyof typeof COMPILED)[];
  const onUse = members.map((name) => [name, { enumerable: true, get: () => whole()[name] }] as const);
  return Object.defineProperties(factsOf(dialect) as Adapter, Object.fromEntries(onUse));
};

const NOTHING = { kind: "unclear", detail: "nothing that can be read" } as const;
