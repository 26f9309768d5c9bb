// Finding a lost job on a provider's list: is an entry's input ours, and what do all pages together say.
import canonicalize from "canonicalize";
import type { JsonObject } from "../domain/types.ts";
import type { AdapterContext, Candidate, FindOutcome } from "./port.ts";

/** Clocks differ: a job counts as ours only from this long before the sending on. */
export const CLOCK_SLACK_MS = 120_000;
/** The earliest time, by the provider's clock, at which a job sent at `sentAtMs` can have been made. */
export const earliestOf = (c: Pick<AdapterContext, "clockDoubtMs">, sentAtMs: number): number =>
  sentAtMs - CLOCK_SLACK_MS - (c.clockDoubtMs ?? 0);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A signed link of ours to a copy: it is one for each attempt, and tells by its path whose copy it opens. */
const OWN_LINK = /^https?:\/\/[^?#]*\/inputs\/([0-9a-z]{1,76})-\d{1,4}\/(\d{1,2})\?/;
/** Another in each process and never written down: no input of a caller holds what looks like these. */
const OWN_MARK = crypto.randomUUID();
const COPY = `copy ${OWN_MARK} `;
const UNKNOWN = `unknown copy ${OWN_MARK} `;
/** What stands in an input in the place of a copy that was given in a way that is not known: by a link of ours, or another. */
export const unknownCopy = (ref: string, n: number): string => `${UNKNOWN}${ref.slice(0, ref.lastIndexOf("-"))}/${n}`;

/** The same value with every link of ours as the copy that it opens, whenever and for whichever attempt it was made. */
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

/** Whether two values can be of the same request: where it is not known what was given, any text could be it. */
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
 * Compares an input that was sent with one on a list. `equal`: the same JSON. `possible`: they contradict each other
 * nowhere, but one has members the other lacks (defaults filled in, input erased): neither proof nor disproof.
 */
export const matchInput = (sent: JsonObject, listed: unknown): "equal" | "possible" | "no" => {
  if (!isObject(listed)) return "possible";
  const [ours, theirs] = [byCopies(sent) as JsonObject, byCopies(listed) as JsonObject];
  if (canonicalize(known(ours)) === canonicalize(theirs)) return "equal";
  const contradicted = Object.keys(ours).some((key) => Object.hasOwn(theirs, key) && !mayAgree(ours[key], theirs[key]));
  return contradicted ? "no" : "possible";
};

/**
 * What a completely read list says, given the candidates that no other attempt owns. Two that are equal cannot be told
 * apart, and one that cannot be ruled out keeps "absent" from being proof.
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
