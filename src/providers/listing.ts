// Finding a lost job on a provider's list: is an entry's input ours, and what do all pages together say.
import canonicalize from "canonicalize";
import type { JsonObject } from "../terms.ts";
import type { AdapterContext, Candidate, FindOutcome } from "./provider.ts";

/** Clocks differ: a job counts as ours only from this long before the sending on. */
export const CLOCK_SLACK_MS = 120_000;
/** The earliest time, by the provider's clock, at which a job sent at `sentAtMs` can have been made. */
export const earliestOf = (c: Pick<AdapterContext, "clockDoubtMs">, sentAtMs: number): number =>
  sentAtMs - CLOCK_SLACK_MS - (c.clockDoubtMs ?? 0);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Compares an input that was sent with one on a list. `equal`: the same JSON. `possible`: they contradict each other
 * nowhere, but one has members the other lacks (defaults filled in, input erased): neither proof nor disproof.
 */
export const matchInput = (sent: JsonObject, listed: unknown): "equal" | "possible" | "no" => {
  if (!isObject(listed)) return "possible";
  if (canonicalize(sent) === canonicalize(listed)) return "equal";
  const contradicted = Object.keys(sent).some(
    (key) => Object.hasOwn(listed, key) && canonicalize(sent[key]) !== canonicalize(listed[key]),
  );
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
