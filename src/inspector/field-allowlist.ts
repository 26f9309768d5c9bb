// What of an event and of a machine's memory may be seen by whom: members that are known to be harmless, one by one, and nothing else.
import type { Json, JsonObject } from "../domain/types.ts";

/**
 * Who looks on. `words`: neither prompts nor what providers say, which may repeat them; `prompts`: what customers asked for, too;
 * `everything`: also what providers say.
 */
export const AUDIENCES = ["words", "prompts", "everything"] as const;
export type Audience = (typeof AUDIENCES)[number];

/** Provider text is for operators; and like the prompts it is behind the setting, for providers quote what they refuse. */
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

/** Members of events that are words and numbers of our own. */
const PLAIN = ["n", "route", "ref", "watchMs", "passed", "mismatch", "odd", "atMost", "givenAs", "why"];

/** Texts and addresses of others: hidden, but not the fact that there are some. */
const theirs = (value: Json, audience: Audience): Json => (audience === "everything" ? value : "hidden");

/** @param request the exact request, where the event is the one that made it. */
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

/** A generation's memory holds no input; what is not known here is left out all the same. */
export const shownContext = (memory: JsonObject, plan: Json): JsonObject => ({
  plan,
  ...pick(memory, ["waitEndsAtMs", "collectMs", "nextRoute", "tried", "inputRefusals", "current", "watched"]),
});
