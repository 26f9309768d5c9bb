// Responses of a dialect: reads a job's state, its files and its failure.
import type { FailureClass, Job, ResultFile } from "../../domain/types.ts";
import { detailOf, isGivenUrl, isJobName, retryAfterMs } from "../parse-response.ts";
import type { PollOutcome, ProviderResponse } from "../port.ts";
import type { Judge } from "./error-rules.ts";
import { DialectError, type Scope, writtenReading } from "./placeholders.ts";
import { seekOf, textAt } from "./pointers.ts";
import { withheldFlag } from "./result-metadata.ts";
import type { AnswerTemplate, ResultTemplate } from "./schema.ts";
import { within } from "./template.ts";

/** Classes that concern the job. The others concern the service, the rate limit or the provider's gateway. */
const ABOUT_THE_JOB: readonly FailureClass[] = [
  "refused_input",
  "refused_output",
  "invalid_for_route",
  "input_unreachable",
  "job_failed",
  "result_expired",
  "result_unreadable",
];

export type ReadFiles = (r: ProviderResponse, scope: Scope, baseUrl: string) => ResultFile[];

const inlineUrl = (mime: string | undefined, base64: string) => `data:${mime ?? "application/octet-stream"};base64,${base64}`;

/**
 * Files are untrusted texts of many megabytes, so each is scanned once for invalid characters. A regular expression for the whole
 * would backtrack at every failure, and one for pairs exhausts memory on a long text.
 */
const isHex = (text: string): boolean => text !== "" && text.length % 2 === 0 && !/[^0-9a-f]/i.test(text);
const isBase64 = (text: string): boolean => {
  const filler = text.indexOf("=");
  const body = filler < 0 ? text : text.slice(0, filler);
  return body !== "" && text.length - body.length <= 2 && !/[^A-Za-z0-9+/]/.test(body) && /^=*$/.test(text.slice(body.length));
};

/** The placeholder URL of a file that its announcement contains. */
const inside = (mime: string | undefined) => `data:${mime ?? "application/octet-stream"},`;
/** A file of more than this size is not encoded in a URL. */
const LARGE_BYTES = 64 * 1024;

const fileIn = (r: ProviderResponse, as: string, mime: string | undefined, value: unknown): ResultFile | undefined => {
  const long = typeof value === "string" ? r.longTexts?.get(value) : undefined;
  if (long === undefined) {
    const url = addressIn(as, mime, value);
    return url === undefined ? undefined : { url };
  }
  if (as === "base64" && long.isBase64) return { url: inside(mime), content: { as, pieces: long.pieces } };
  return as === "hex" && long.isHex ? { url: inside(mime), content: { as, pieces: long.pieces } } : undefined;
};

const addressIn = (as: string, mime: string | undefined, value: unknown): string | undefined => {
  if (typeof value !== "string" || value === "") return undefined;
  if (as === "url") return isGivenUrl(value) ? value : undefined;
  // Some providers send a data URI, some only its content.
  const bare = value.startsWith("data:") ? value.slice(value.indexOf(",") + 1) : value;
  if (as === "hex") return isHex(bare) ? inlineUrl(mime, Buffer.from(bare, "hex").toString("base64")) : undefined;
  const packed = bare.replace(/\s+/g, "");
  return isBase64(packed) ? inlineUrl(mime, packed) : undefined;
};

const filesOf = (template: ResultTemplate): ReadFiles => {
  const { at, path, as = "url", mime, mime_at: mimeAt, kept_s: keptS } = template;
  if ([at, path, as === "body" ? "" : undefined].filter((way) => way !== undefined).length !== 1)
    throw new DialectError('a result needs one of at, path and "as": "body"');
  const where = path === undefined ? undefined : writtenReading(path, ["job", "route"], encodeURIComponent);
  const seek = at === undefined ? undefined : seekOf(at);
  const mimes = mimeAt === undefined ? undefined : seekOf(mimeAt);
  const kept = (r: ProviderResponse) => {
    const atMs = Date.parse(r.headers.date ?? "");
    return keptS === undefined || Number.isNaN(atMs) ? {} : { expiresAtMs: atMs + keptS * 1000 };
  };
  return (r, scope, baseUrl) => {
    const text = mimes ? textAt(mimes(r)) : mime;
    const named = text === undefined ? {} : { mime: text.slice(0, 100) };
    if (as === "body") {
      const type = r.headers["content-type"]?.split(";")[0]?.trim() || text;
      if (r.bytes === undefined || r.bytes.length === 0) return [];
      if (r.bytes.length > LARGE_BYTES) return [{ url: inside(type), content: { as: "raw", pieces: [r.bytes] } }];
      return [{ url: inlineUrl(type, Buffer.from(r.bytes).toString("base64")) }];
    }
    const below = where?.(scope);
    if (below !== undefined) return [{ url: `${baseUrl}${below}`, ...named, ...kept(r) }];
    return (seek?.(r) ?? []).flatMap((value) => {
      const file = fileIn(r, as, text, value);
      return file === undefined ? [] : [{ ...file, ...named, ...kept(r) }];
    });
  };
};

/** @throws DialectError */
export const readFilesOf = (templates: readonly ResultTemplate[] = []): ReadFiles => {
  const each = templates.map((template, at) => within(String(at), () => filesOf(template)));
  return (r, scope, baseUrl) => each.flatMap((read) => read(r, scope, baseUrl));
};

const failed = (failureClass: FailureClass, ...words: (string | number | undefined)[]): PollOutcome => ({
  kind: "failed",
  failure: { class: failureClass, detail: detailOf(...words) },
});

export type ReadAnswer = (r: ProviderResponse, job: Job, scope: Scope, baseUrl: string) => PollOutcome;

/**
 * Compiles the reading of a job's response. An unknown state, a 5xx, a 429 and a fault of the credential prove nothing about the
 * job, so the poll is repeated. @throws DialectError
 */
export const readAnswerOf = (template: Omit<AnswerTemplate, "request">, judge: Judge): ReadAnswer => {
  const names = template.job_id === undefined ? undefined : seekOf(template.job_id);
  const status = template.status === undefined ? undefined : seekOf(template.status);
  const isByCode = template.status === "@status";
  const states = template.states ?? {};
  const files = readFilesOf(template.results);
  const isWithheld = within("withheld", () => withheldFlag(template.withheld));
  if (status === undefined && template.results === undefined) throw new DialectError("a response requires status or results");

  const unclear = (r: ProviderResponse, why: string): PollOutcome => ({
    kind: "unclear",
    detail: detailOf(r.status, why),
    ...retryAfterMs(r),
  });
  const succeeded = (r: ProviderResponse, scope: Scope, baseUrl: string): PollOutcome => {
    // The replacement of a withheld file can itself be a file, for example a black image.
    if (isWithheld(r)) return failed("refused_output", "withheld by its filter", judge.words(r));
    const results = files(r, scope, baseUrl);
    if (results.length > 0) return { kind: "announced", results };
    const verdict = judge.verdict(r, "asking");
    if (verdict && ABOUT_THE_JOB.includes(verdict.class)) return failed(verdict.class, judge.words(r));
    return failed(template.empty ?? "result_unreadable", "the result names no file", judge.words(r));
  };

  return (r, job, scope, baseUrl) => {
    const isGood = r.status >= 200 && r.status < 300;
    const seen = isGood || isByCode ? (status ? textAt(status(r)) : "") : undefined;
    const state =
      seen === undefined ? undefined : status ? (Object.hasOwn(states, seen) ? states[seen] : undefined) : "succeeded";
    const named = names ? textAt(names(r)) : undefined;
    if (isGood && named !== undefined && named !== job.jobId) return unclear(r, "an answer about another job");
    const verdict = state === undefined || state === "failed" ? judge.verdict(r, "asking") : undefined;
    switch (state) {
      case "pending":
        return { kind: "pending", seen: seen ?? "", ...retryAfterMs(r) };
      case "succeeded":
        return succeeded(r, scope, baseUrl);
      case "ask_result":
        return { kind: "ask-result" };
      case "gone":
        return { kind: "gone" };
      case "refused_input":
      case "refused_output":
        return failed(state, seen, judge.words(r));
      case "failed":
        return failed(verdict && ABOUT_THE_JOB.includes(verdict.class) ? verdict.class : "job_failed", seen, judge.words(r));
      case undefined:
        break;
    }
    if (verdict?.class === "gone" || (verdict === undefined && r.status === 404)) return { kind: "gone" };
    if (verdict && ABOUT_THE_JOB.includes(verdict.class)) return failed(verdict.class, r.status, judge.words(r));
    if (isGood && verdict === undefined)
      return unclear(r, seen === undefined ? "no status that can be read" : `unknown status ${seen}`);
    return unclear(r, judge.words(r));
  };
};

/** The job name in a response, if it is valid in a URL. */
export const jobNameOf = (found: readonly unknown[]): string | undefined => {
  const name = textAt(found);
  return name !== undefined && isJobName(name) ? name : undefined;
};
