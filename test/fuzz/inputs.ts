// Generates submissions that the model list promises to accept, only from each model's published options.
import fc from "fast-check";
import { isDecimalField } from "../../catalogue/fields.ts";
import type { EntryOption, ModelEntry } from "../../catalogue/public-model.ts";
import { MEDIA, PROMPT_CANARY, textOf } from "./values.ts";

/** A JSON object as member names and texts, so that a member may occur twice, be `__proto__`, or contain `1e999`. */
export type Members = [name: string, text: string][];
/** A submission before serialization: the envelope without `input`, and the input. */
export type Draft = { entry: ModelEntry; envelope: Members; input: Members };

export const write = (members: Members): string =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
export const writeDraft = ({ envelope, input }: Omit<Draft, "entry">): string => write([...envelope, ["input", write(input)]]);

/** Prompt words that make the simulator's work cheap or fail; most generations need not end normally. */
const WISHES = [...Array<string>(16).fill("[sim:invalid]"), "[sim:refuse]", "[sim:refuse]", "[sim:fal:invalid]", ""];

const promptOf = (most: number, wishes: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...wishes), textOf(0, Math.max(0, most - 60))).map(([request, text]) =>
    // A model with a short prompt limit gets a short prompt; all others contain the canary.
    most < 60 ? "x" : `${PROMPT_CANARY}${request} ${text}`.slice(0, most).toWellFormed(),
  );

const mediaOf = (name: string): string =>
  name.startsWith("image") || name === "end_image_url" || name === "mask_url"
    ? MEDIA.picture
    : name.startsWith("video")
      ? MEDIA.clip
      : MEDIA.sound;

const optionValue = (name: string, option: EntryOption, wishes: readonly string[]): fc.Arbitrary<unknown> => {
  if (option.values) return fc.constantFrom(...option.values);
  if (option.min !== undefined && option.max !== undefined) {
    const { min, max } = option;
    const between = isDecimalField(name) ? fc.double({ min, max, noNaN: true }) : fc.integer({ min, max });
    return fc.oneof(fc.constantFrom(min, max), between);
  }
  if (option.max_items !== undefined) {
    if (!name.endsWith("_urls")) return fc.constant(mediaOf(name));
    // Clips count by their total duration: three of 5 s always fit, thirty pictures only in picture fields.
    const most = name === "image_urls" ? option.max_items : Math.min(3, option.max_items);
    return fc.oneof(
      { weight: 6, arbitrary: fc.constant([mediaOf(name)]) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: most }).map((count) => Array(count).fill(mediaOf(name))) },
    );
  }
  return name === "prompt" ? promptOf(option.max_length ?? 100, wishes) : textOf(0, option.max_length ?? 100);
};

/** Keeps the first of mutually exclusive fields, and removes fields without their required companion. */
const settle = (entry: ModelEntry, drawn: Members): Members => {
  const optionOf = (name: string) => (entry.options as Record<string, EntryOption>)[name] ?? {};
  const kept: Members = [];
  const has = (name: string) => kept.some(([other]) => other === name);
  const excludes = (a: string, b: string) => optionOf(a).excludes?.some((name) => name === b) ?? false;
  for (const member of drawn.toSorted(
    ([a], [b]) => Number(optionOf(b).required ?? false) - Number(optionOf(a).required ?? false),
  ))
    if (!kept.some(([other]) => excludes(other, member[0]) || excludes(member[0], other))) kept.push(member);
  const holds = (name: string, value: string) => kept.some((member) => member[0] === name && member[1] === JSON.stringify(value));
  const lacking = ([name]: Members[number]) => optionOf(name).requires?.some((other) => !has(other)) ?? false;
  // §2.9: a transparent background needs a format with transparency.
  const isOpaque = ([name]: Members[number]) =>
    name === "background" && holds("background", "transparent") && holds("output_format", "jpeg");
  return kept.filter((member) => !lacking(member) && !isOpaque(member));
};

const inputOf = (entry: ModelEntry, wishes: readonly string[]): fc.Arbitrary<Members> => {
  const fields = Object.entries(entry.options).map(([name, option]) => {
    const value = optionValue(name, option, wishes).map((drawn): Members[number] | null => [name, JSON.stringify(drawn)]);
    // Every submission fetches and measures its media, so media is rare.
    const weight = option.max_items === undefined ? 3 : 1;
    return option.required ? value : fc.oneof({ weight: 7 - weight, arbitrary: fc.constant(null) }, { weight, arbitrary: value });
  });
  return fc.tuple(...fields).map((members) =>
    settle(
      entry,
      members.filter((member) => member !== null),
    ),
  );
};

/** A submission for any model. */
export const draftOf = (models: readonly ModelEntry[], wishes: readonly string[] = WISHES): fc.Arbitrary<Draft> =>
  fc.oneof(
    ...models.map((entry) =>
      fc
        .tuple(
          inputOf(entry, wishes),
          fc.option(fc.constantFrom("100", "99.99", "50.005"), { freq: 5 }),
          fc.option(fc.constantFrom("86400", "7200"), { freq: 5 }),
        )
        .map(([input, cost, wait]): Draft => {
          const envelope: Members = [["model", JSON.stringify(entry.id)]];
          if (cost !== null) envelope.push(["max_cost_usd", cost]);
          if (wait !== null) envelope.push(["max_wait_s", wait]);
          return { entry, envelope, input };
        }),
    ),
  );
