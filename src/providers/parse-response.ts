// Response parsing that all dialects share: job ids, URLs, retry delays and details.
//
// All input is untrusted.
import { type Static, Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { Failure, FailureClass } from "../domain/types.ts";
import type { ProviderResponse, SubmitOutcome } from "./port.ts";

/** A provider's job id. It becomes part of URLs, so it contains no character with a meaning there. */
export const JobId = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$" });
/** A URL from a provider. Its host is checked on use. */
export const GivenUrl = Type.String({ pattern: "^https?://[^\\s\\u0000-\\u001f\\u007f]+$", maxLength: 8192 });
export type GivenUrl = Static<typeof GivenUrl>;
export const isGivenUrl = (value: unknown): value is GivenUrl => givenUrl.Check(value);
const givenUrl = schemaCheck(GivenUrl);

/** The widest format of job names: slashes and dots are allowed, but no segment that leaves the path. */
const jobName = schemaCheck(
  Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.=~-]*(/[A-Za-z0-9_][A-Za-z0-9_.=~-]*)*$", maxLength: 512 }),
);
export const isJobName = (value: unknown): value is string => jobName.Check(value);

const MAX_DETAIL = 200;
/** Only this many characters of a provider's text are read, because the search for URLs takes quadratic time. */
const MAX_READ = 2_000;
/** No provider can impose a longer wait. */
const MAX_WAIT_MS = 3_600_000;

/** A URL at the end of the truncated text can lack the part that marks its secret, so it is removed. */
const startOf = (words: string): string =>
  words.length > MAX_READ ? words.slice(0, MAX_READ).replace(/https?:\/\/\S*$/i, "") : words;

/** Detail for the operator: one short line, with URLs stripped of their queries, which can contain signatures. */
export const detailOf = (...parts: readonly (string | number | undefined)[]): string => {
  const words = parts.filter((part) => part !== undefined && part !== "").join(": ");
  const line = startOf(words)
    .replace(/[\p{C}\s]+/gu, " ")
    .replace(/(https?:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi, "$1")
    .replace(/\b(https?:\/\/)[^\s/@]*@/gi, "$1")
    .trim();
  // A surrogate pair is not split.
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
};

/** `Retry-After` in ms, from seconds or from a date relative to the response's own `Date`; at most one hour. */
export const retryAfterMs = (r: ProviderResponse): { retryAfterMs?: number } => {
  const retryAfter = r.headers["retry-after"];
  if (retryAfter === undefined) return {};
  const ms = /^\d+(\.\d+)?$/.test(retryAfter)
    ? Number(retryAfter) * 1000
    : Date.parse(retryAfter) - Date.parse(r.headers.date ?? "");
  return Number.isFinite(ms) ? { retryAfterMs: Math.ceil(Math.min(Math.max(ms, 0), MAX_WAIT_MS)) } : {};
};

/** A time in a provider's format, in ms since 1970; undefined if the text is not a time. */
export const timeOf = (text: string | null | undefined): number | undefined => {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
};

/** Statuses that prove that a submission was refused. Any other response without a job id proves nothing. */
const REFUSALS: Readonly<Record<number, FailureClass>> = {
  400: "invalid_for_route",
  401: "config_fault",
  402: "balance",
  403: "config_fault",
  404: "config_fault",
  413: "invalid_for_route",
  415: "invalid_for_route",
  422: "invalid_for_route",
  429: "rate_limited",
};

/**
 * The outcome of a submission response without a job id. `finer` is the class from the dialect's own error rules; it never turns
 * an ambiguous status into proof. 408, 409, 5xx, redirects and an unreadable 2xx stay ambiguous. The exception is an error that
 * the dialect knows (`isProof`): true if it precedes any work, false if a job can exist despite the status.
 */
export const readNoJob = (r: ProviderResponse, text: string, finer?: FailureClass, isProof?: boolean): SubmitOutcome => {
  const refused = isProof === false ? undefined : (REFUSALS[r.status] ?? (isProof ? finer : undefined));
  const detail = detailOf(r.status, text);
  if (refused === undefined) return { kind: "ambiguous", detail };
  const failure: Failure = { class: finer ?? refused, detail, ...retryAfterMs(r) };
  return { kind: "rejected", failure };
};
