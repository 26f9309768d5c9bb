// What every dialect reads the same way of an untrusted answer: job ids, file addresses, waiting times, words for the operator.
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Failure, FailureClass } from "../domain/types.ts";
import type { ProviderResponse, SubmitOutcome } from "./port.ts";

/** A provider's name for a job. It becomes part of addresses, so nothing that means something there. */
export const JobId = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$" });
/** An address that a provider gave; where it leads is checked when it is used. */
export const GivenUrl = Type.String({ pattern: "^https?://[^\\s\\u0000-\\u001f\\u007f]+$", maxLength: 8192 });
export type GivenUrl = Static<typeof GivenUrl>;
export const isGivenUrl = (value: unknown): value is GivenUrl => givenUrl.Check(value);
const givenUrl = TypeCompiler.Compile(GivenUrl);

/** As wide as providers name their jobs: with slashes and dots, but nothing that climbs out of an address. */
const jobName = TypeCompiler.Compile(
  Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.=~-]*(/[A-Za-z0-9_][A-Za-z0-9_.=~-]*)*$", maxLength: 512 }),
);
export const isJobName = (value: unknown): value is string => jobName.Check(value);

const LONGEST_DETAIL = 200;
/** Of a provider's words no more is looked at: addresses are searched for in them, and that takes the square of their length. */
const LONGEST_READ = 2_000;
/** No provider's word makes us wait longer. */
const LONGEST_WAIT_MS = 3_600_000;

/** An address at the end of what was cut off may lack the part by which its secret would be known. */
const startOf = (words: string): string =>
  words.length > LONGEST_READ ? words.slice(0, LONGEST_READ).replace(/https?:\/\/\S*$/i, "") : words;

/** Text for the operator: one short line, addresses without their queries (they may be signed). */
export const detailOf = (...parts: readonly (string | number | undefined)[]): string => {
  const words = parts.filter((part) => part !== undefined && part !== "").join(": ");
  const line = startOf(words)
    .replace(/[\p{C}\s]+/gu, " ")
    .replace(/(https?:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi, "$1")
    .replace(/\b(https?:\/\/)[^\s/@]*@/gi, "$1")
    .trim();
  // Never in the middle of a character.
  return line.length > LONGEST_DETAIL ? `${line.slice(0, LONGEST_DETAIL - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
};

/** `Retry-After` in ms, as seconds or as a date counted from the answer's own `Date`; at most an hour. */
export const retryAfterMs = (r: ProviderResponse): { retryAfterMs?: number } => {
  const wish = r.headers["retry-after"];
  if (wish === undefined) return {};
  const ms = /^\d+(\.\d+)?$/.test(wish) ? Number(wish) * 1000 : Date.parse(wish) - Date.parse(r.headers.date ?? "");
  return Number.isFinite(ms) ? { retryAfterMs: Math.ceil(Math.min(Math.max(ms, 0), LONGEST_WAIT_MS)) } : {};
};

/** A time as providers write it, in ms since 1970; undefined when it is none. */
export const timeOf = (text: string | null | undefined): number | undefined => {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
};

/** Statuses that prove a submission was refused, not accepted. Every other that brings no job id proves nothing. */
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
 * A submission's answer that brought no job id. `finer` is what the dialect's own error text says of a refusal; it never
 * turns an ambiguous status into proof: 408, 409, 5xx, redirects and a 2xx that cannot be read stay ambiguous, unless the dialect knows
 * of this very error that it comes before any work, or that a job may exist in spite of its status (`isProof`).
 */
export const readNoJob = (r: ProviderResponse, text: string, finer?: FailureClass, isProof?: boolean): SubmitOutcome => {
  const refused = isProof === false ? undefined : (REFUSALS[r.status] ?? (isProof ? finer : undefined));
  const detail = detailOf(r.status, text);
  if (refused === undefined) return { kind: "ambiguous", detail };
  const failure: Failure = { class: finer ?? refused, detail, ...retryAfterMs(r) };
  return { kind: "rejected", failure };
};
