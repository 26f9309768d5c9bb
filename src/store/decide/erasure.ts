// What an erasure leaves of the texts of a generation. Numbers, states and ids stay, because money and histories depend on them.
import type { AttemptChange } from "../../domain/transition.ts";
import type { Failure, JsonObject } from "../../domain/types.ts";

/** The erased texts of a generation: its body, the defaults of its input, and the request of an attempt. */
export const ERASED = { body: "{}", inputDefaults: "{}", request: "" } as const;

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const without = (value: unknown, member: string): unknown =>
  isObject(value) && typeof value[member] === "string" ? { ...value, [member]: "" } : value;
const each = (value: unknown, member: string): unknown =>
  Array.isArray(value) ? value.map((one) => without(one, member)) : value;

/** The text of a provider can repeat the input; the class stays. */
export const erasedFailure = (failure: Failure): Failure => ({ ...failure, detail: "" });

/** The members of events with text of the client or the provider. `results` have addresses of files, `copies` hashes of inputs. */
const TEXTS: Readonly<Record<string, (value: unknown) => unknown>> = {
  detail: () => "",
  why: () => "",
  failure: (value) => without(value, "detail"),
  results: (value) => each(value, "url"),
  copies: (value) => each(value, "sha256"),
};

/** A stored event without texts; its type, its numbers and the count of its results stay, so that it can be replayed. */
export const erasedEvent = (json: string): string => {
  const event = JSON.parse(json) as JsonObject;
  const kept = Object.entries(event).map(([name, value]) => [name, TEXTS[name] ? TEXTS[name](value) : value]);
  return JSON.stringify(Object.fromEntries(kept));
};

/** The change of an attempt whose generation is erased: a late result is counted, and its addresses and texts are not stored. */
export const erasedChange = ({ results: _, failure, ...change }: AttemptChange): AttemptChange => ({
  ...change,
  ...(failure ? { failure: erasedFailure(failure) } : {}),
});
