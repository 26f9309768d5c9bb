// Mutates one part of a submission; each mutation states whether the service must refuse it.
import fc from "fast-check";
import type { EntryOption } from "../../catalogue/public-model.ts";
import { type Draft, type Members, write, writeDraft } from "./inputs.ts";

/** `mustRefuse` is null if the text may still be valid. */
export type Mutated = { body: string; mustRefuse: true | null };

const TEXTS_OF_TYPE: Record<string, string[]> = {
  string: ['""', '"5"', '"true"', '"x"'],
  number: ["0", "5", "-1", "1.5"],
  boolean: ["true", "false"],
  array: ["[]", "[5]", '[["x"]]'],
  object: ["{}", '{"a":1}'],
};
const typeOfText = (text: string): string => {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? "array" : typeof value;
};
const otherTypes = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(...Object.entries(TEXTS_OF_TYPE).flatMap(([type, texts]) => (type === typeOfText(text) ? [] : texts)));

const EXTRA = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  "prompt ",
  "Prompt",
  "a.b",
  "é",
  "\u0000",
  "x".repeat(300),
];
/** Texts that some parsers read as numbers, and their meaning in JSON or in the field. */
const NUMBERS = ["1e999", "-1e999", "-0", "5.0", "5e0", "1E1", "0.1e1", "9007199254740993", "4294967296", "1e-7", "-1", "0.5"];
const NOT_JSON = ["NaN", "Infinity", "0x10", "05", "+5", ".5", "5.", "undefined", "'x'", "1_0"];
const HALF = ['"\\ud800"', '"x\\udc00y"', '"\\ud83d x"'];
const STRANGE = ['"\\u0000"', '"\\ufeff"', '"\\u202e"', '"a\\r\\nb: c"', '"{own}"', '"%00"', '"../../etc/passwd"', '"\\u0130"'];

const replaced = (members: Members, at: number, text: string): Members =>
  members.map(([name, was], i) => [name, i === at ? text : was]);

/** Values just outside the allowed range of an option. */
const outside = (name: string, option: EntryOption): string[] => {
  const { min, max, max_length, max_items } = option;
  if (option.values) return ['"no such value"', "99999"];
  // Only the speed may have decimals.
  if (min !== undefined && max !== undefined)
    return [String(min - 1), String(max + 1), ...(name === "speed" ? [] : [String(min + 0.5)])];
  if (max_items !== undefined)
    return name.endsWith("_urls")
      ? ["[]", JSON.stringify(Array(max_items + 1).fill("https://example.com/a.png"))]
      : ['""', '"x"', '"http://example.com/a"', JSON.stringify(`https://example.com/${"x".repeat(4077)}`)];
  return name === "prompt"
    ? ['""', JSON.stringify("x".repeat((max_length ?? 0) + 1))]
    : [JSON.stringify("é".repeat((max_length ?? 0) + 1))];
};

const inField = (draft: Draft): fc.Arbitrary<Mutated> =>
  fc.nat(Math.max(0, draft.input.length - 1)).chain((at) => {
    const [name = "", text = "null"] = draft.input[at] ?? [];
    const option = (draft.entry.options as Record<string, EntryOption>)[name] ?? {};
    const to = (made: string, mustRefuse: true | null): Mutated => ({
      body: writeDraft({ ...draft, input: replaced(draft.input, at, made) }),
      mustRefuse,
    });
    if (name === "") return fc.constant(to("null", null));
    return fc.oneof(
      otherTypes(text).map((made) => to(made, true)),
      fc.constant(to("null", true)),
      fc.constantFrom(...outside(name, option)).map((made) => to(made, true)),
      fc.constantFrom(...HALF, ...NOT_JSON).map((made) => to(made, true)),
      fc.constantFrom(...NUMBERS, ...STRANGE).map((made) => to(made, null)),
      // The last of two equal names counts.
      fc.constant<Mutated>({ body: writeDraft({ ...draft, input: [...draft.input, [name, "null"]] }), mustRefuse: true }),
      fc.constant<Mutated>({
        body: writeDraft({ ...draft, input: draft.input.filter((_, i) => i !== at) }),
        mustRefuse: option.required ? true : null,
      }),
    );
  });

const inEnvelope = (draft: Draft): fc.Arbitrary<Mutated> => {
  const rest = draft.envelope.filter(([name]) => name === "model");
  const input = write(draft.input);
  const whole = (members: Members, mustRefuse: true | null = true): Mutated => ({ body: write(members), mustRefuse });
  return fc.oneof(
    fc
      .constantFrom("0", "-1", "100.01", "101", "1e999", "-0", '"5"', "null", "[]", "true")
      .map((cost) => whole([...rest, ["input", input], ["max_cost_usd", cost]])),
    fc
      .constantFrom("0", "-1", "86401", "1.5", "1e999", '"5"', "null", "{}")
      .map((wait) => whole([...rest, ["input", input], ["max_wait_s", wait]])),
    fc.constantFrom("1", "5.0", "1e1", "86400").map((wait) => whole([...rest, ["input", input], ["max_wait_s", wait]], null)),
    fc
      .constantFrom("0.01", "0.001", "0.29", "1e-9")
      .map((cost) => whole([...rest, ["input", input], ["max_cost_usd", cost]], null)),
    fc.constantFrom('""', "5", "null", '"no-such-model"', '"\\ud800"', '"__proto__"', '"../x"').map((model) =>
      whole([
        ["model", model],
        ["input", input],
      ]),
    ),
    fc.constantFrom("null", "[]", '"x"', "5", "true", "{").map((made) => whole([...rest, ["input", made]])),
    fc.constantFrom(...EXTRA).map((name) => whole([...rest, ["input", input], [name, "1"]])),
    fc.constantFrom(whole([["input", input]]), whole(rest), whole([])),
  );
};

const oddText = fc.string({ unit: "binary", minLength: 1, maxLength: 3 });
const DEEP = [65, 1_000, 50_000];
const ofWhole = (draft: Draft): fc.Arbitrary<Mutated> => {
  const body = writeDraft(draft);
  const refused = (made: string): Mutated => ({ body: made, mustRefuse: true });
  return fc.oneof(
    fc.nat(Math.max(0, body.length - 1)).map((end) => refused(body.slice(0, end).toWellFormed())),
    fc.constantFrom("", " ", "null", "[]", '"x"', "5", `[${body}]`, `${body}${body}`, `${body},`, `\ufeff${body}x`).map(refused),
    fc.constantFrom(...DEEP).map((depth) => refused(`{"model":${"[".repeat(depth)}${"]".repeat(depth)}}`)),
    fc.constantFrom(...DEEP).map((depth) => refused(`{"a":`.repeat(depth))),
    fc.constantFrom(1_048_577, 1_100_000).map((bytes) => refused(body.padEnd(bytes))),
    fc.constantFrom<Mutated>({ body: body.padEnd(1_000_000), mustRefuse: null }, { body: `\n\t ${body} \r\n`, mustRefuse: null }),
    fc.tuple(fc.nat(body.length), oddText).map(([at, odd]) => ({
      body: `${body.slice(0, at)}${odd}${body.slice(at)}`.toWellFormed(),
      mustRefuse: null,
    })),
    fc.constantFrom(...EXTRA).map((name) => refused(writeDraft({ ...draft, input: [...draft.input, [name, "1"]] }))),
  );
};

/** A submission with one mutation. */
export const mutated = (drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Mutated> =>
  drafts.chain((draft) =>
    fc.oneof(
      { weight: 6, arbitrary: inField(draft) },
      { weight: 3, arbitrary: inEnvelope(draft) },
      { weight: 2, arbitrary: ofWhole(draft) },
    ),
  );
