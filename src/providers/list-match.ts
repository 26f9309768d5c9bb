// List matching: finds the job of a lost submission on a provider's list.
//
// It compares inputs entry by entry and concludes from all pages together.
import canonicalize from "canonicalize";
import type { JsonObject } from "../domain/types.ts";
import type { AdapterContext, Candidate, FindOutcome } from "./port.ts";

/** Tolerance for clock differences: a job counts as ours if it was created at most this long before the submission. */
export const CLOCK_SLACK_MS = 120_000;
/** The earliest time, by the provider's clock, at which a job sent at `sentAtMs` can have been created. */
export const earliestOf = (c: Pick<AdapterContext, "clockDoubtMs">, sentAtMs: number): number =>
  sentAtMs - CLOCK_SLACK_MS - (c.clockDoubtMs ?? 0);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A signed link of this service to a copy. The link differs for each attempt; its path identifies the copy. */
const OWN_LINK = /^https?:\/\/[^?#]*\/inputs\/([0-9a-z]{1,76})-\d{1,4}\/(\d{1,2})(?:\.[0-9a-z]{1,5})?\?/;
/** Random for each process and never stored, so no client input contains these prefixes. */
const OWN_MARK = crypto.randomUUID();
const COPY = `copy ${OWN_MARK} `;
const UNKNOWN = `unknown copy ${OWN_MARK} `;
/** The placeholder in an input for a copy that was sent in an unknown form: as a link of this service or otherwise. */
export const unknownCopy = (ref: string, n: number): string => `${UNKNOWN}${ref.slice(0, ref.lastIndexOf("-"))}/${n}`;

/** The same value with each link of this service replaced by the copy that it opens, regardless of attempt and time. */
const byCopies = (value: unknown): unknown => {
  if (typeof value === "string") {
    const own = value.length > 4096 ? null : OWN_LINK.exec(value);
    return own ? `${COPY}${own[1]}/${own[2]}` : value;
  }
  if (Array.isArray(value)) return value.map(byCopies);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, byCopies(one)]));
};
const known = (value: unknown): unknown => {
  if (typeof value === "string") return value.startsWith(UNKNOWN) ? `${COPY}${value.slice(UNKNOWN.length)}` : value;
  if (Array.isArray(value)) return value.map(known);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, known(one)]));
};

/** Whether two values can belong to the same request. Any string can match an unknown copy. */
const mayAgree = (sent: unknown, listed: unknown): boolean => {
  if (typeof sent === "string" && sent.startsWith(UNKNOWN)) return typeof listed === "string";
  if (Array.isArray(sent) && Array.isArray(listed))
    return sent.length === listed.length && sent.every((one, at) => mayAgree(one, listed[at]));
  if (isObject(sent) && isObject(listed)) {
    const names = Object.keys(sent);
    return names.length === Object.keys(listed).length && names.every((name) => mayAgree(sent[name], listed[name]));
  }
  return canonicalize(sent) === canonicalize(listed);
};

/**
 * Compares a sent input with a listed one. `equal`: the same JSON. `possible`: no contradiction, but one has members that the
 * other lacks (defaults filled in, input erased). `possible` neither proves nor disproves a match.
 */
export const matchInput = (sent: JsonObject, listed: unknown): "equal" | "possible" | "no" => {
  if (!isObject(listed)) return "possible";
  const [ours, theirs] = [byCopies(sent) as JsonObject, byCopies(listed) as JsonObject];
  if (canonicalize(known(ours)) === canonicalize(theirs)) return "equal";
  const contradicted = Object.keys(ours).some((key) => Object.hasOwn(theirs, key) && !mayAgree(ours[key], theirs[key]));
  return contradicted ? "no" : "possible";
};

/**
 * The conclusion from a completely read list, given the candidates that no other attempt owns. Two equal jobs cannot be
 * distinguished. A job that cannot be ruled out prevents `absent` from being proof.
 */
export const concludeFind = (candidates: readonly Candidate[]): FindOutcome => {
  const certain = candidates.find(({ match }) => match === "certain");
  if (certain) return { kind: "found", job: certain.job };
  const equal = candidates.filter(({ match }) => match === "equal");
  const [only] = equal;
  if (only && equal.length === 1) return { kind: "found", job: only.job };
  if (only) return { kind: "unclear", detail: `${equal.length} jobs with the same input` };
  if (candidates.length > 0) return { kind: "unclear", detail: `${candidates.length} jobs that cannot be ruled out` };
  return { kind: "absent" };
};
