// Allowlist of event and context members that each audience may see.
//
// A member that is not listed is omitted.
import type { Json, JsonObject, PlannedRoute } from "../domain/types.ts";

/**
 * Audiences. `words`: neither prompts nor text of providers, which may repeat prompts. `prompts`: also the inputs of customers.
 * `everything`: also the text of providers.
 */
export const AUDIENCES = ["words", "prompts", "everything"] as const;
export type Audience = (typeof AUDIENCES)[number];

/** Text of providers is for operators only. Like prompts it depends on the setting, because providers quote rejected input. */
export const audienceOf = (role: "operator" | "viewer", prompts: boolean): Audience => {
  if (!prompts) return "words";
  return role === "operator" ? "everything" : "prompts";
};

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const pick = (from: Json | undefined, names: readonly string[]): JsonObject => {
  const picked: JsonObject = {};
  if (isObject(from))
    for (const name of names) {
      const value = from[name];
      if (value !== undefined) picked[name] = value;
    }
  return picked;
};
const count = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);

/** Members of events with words and numbers of this service. */
const PLAIN = ["n", "route", "ref", "watchMs", "passed", "mismatch", "odd", "atMost", "givenAs", "why"];

/** Replaces text and URLs of others by "hidden", so that their presence remains visible. */
const theirs = (value: Json, audience: Audience): Json => (audience === "everything" ? value : "hidden");

/** @param request the exact request, if the event created one. */
export const shownEvent = (event: JsonObject, audience: Audience, request?: string): JsonObject => {
  const shown = pick(event, PLAIN);
  if (event.spec !== undefined) shown.spec = pick(event.spec, ["routeId", "provider", "endpoint", "kind"]);
  if (isObject(event.job)) shown.job = pick(event.job, ["jobId"]);
  if (isObject(event.failure)) {
    shown.failure = pick(event.failure, ["class"]);
    if (event.failure.detail !== undefined) shown.failure.detail = theirs(event.failure.detail, audience);
  }
  for (const name of ["detail", "reason"]) if (event[name] !== undefined) shown[name] = theirs(event[name], audience);
  if (event.results !== undefined) {
    const all = { files: count(event.results) };
    shown.results = audience === "everything" ? event.results : all;
  }
  if (isObject(event.output))
    shown.output = {
      ...pick(event.output, ["kind", "announced", "width", "height", "durationMs", "hasAudio"]),
      files: count(event.output.files),
    };
  if (Array.isArray(event.copies)) shown.copies = event.copies.map((copy) => pick(copy, ["n", "bytes", "mime", "ms"]));
  if (request !== undefined) shown.request = audience === "words" ? "hidden" : request;
  return shown;
};

/** Plans without the costs of providers, which the inspector never shows. */
export const withoutCosts = (plan: readonly PlannedRoute[]): PlannedRoute[] => plan.map(({ costMicroUsd: _, ...route }) => route);

/** The context of a generation contains no input; unlisted members are omitted anyway. */
export const shownContext = (memory: JsonObject, plan: readonly PlannedRoute[]): JsonObject => ({
  plan: withoutCosts(plan),
  ...pick(memory, ["waitEndsAtMs", "collectMs", "nextRoute", "tried", "inputRefusals", "current", "watched"]),
});
