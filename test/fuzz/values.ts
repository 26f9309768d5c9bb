// Generates values for a JSON schema of the OpenAPI document, with bounds more often than values in between.
import fc from "fast-check";
import type { Json, JsonObject } from "../../src/domain/types.ts";

/** Part of every text that no error, log or header may contain. */
export const PROMPT_CANARY = "prompt-canary-7f3a";
/** URLs of the simulator's media; the query contains a secret like that of a signed link. */
export const MEDIA = {
  picture: "{sim}/samples/picture.png?width=16&height=16&sig=link-canary-51c0",
  clip: "{sim}/samples/clip.mp4?seconds=5&width=32&height=32&sig=link-canary-51c0",
  sound: "{sim}/samples/voice.wav?seconds=2&sig=link-canary-51c0",
} as const;

/** Valid links to nowhere: the SSRF guard or the resolver rejects them at once. */
const FAR_LINKS = [
  "https://no.such.host.invalid/a.png",
  "https://127.0.0.1/a.png?sig=link-canary-51c0",
  "https://[::1]/",
  "https://localhost/x",
  "https://10.0.0.1/a.mp4#f",
  `https://no.such.host.invalid/${"x".repeat(4_000)}`,
];

const member = (value: JsonObject, name: string): JsonObject => {
  const found = value[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? found : {};
};
const numberIn = (schema: JsonObject, name: string, absent: number): number => {
  const found = schema[name];
  return typeof found === "number" ? found : absent;
};

/** The target schema of a reference. */
const resolved = (document: JsonObject, schema: JsonObject): JsonObject => {
  if (typeof schema.$ref !== "string") return schema;
  return schema.$ref
    .split("/")
    .slice(1)
    .reduce<JsonObject>((at, name) => member(at, name), document);
};

const texts = new Map<string, fc.Arbitrary<string>>();
/** Text of any script, often plain, sometimes of length `most`. Cached, because creating an arbitrary is expensive. */
export const textOf = (least: number, most: number): fc.Arbitrary<string> => {
  const name = `${least} ${most}`;
  const made = texts.get(name) ?? makeText(least, most);
  texts.set(name, made);
  return made;
};
const makeText = (least: number, most: number): fc.Arbitrary<string> => {
  const short = Math.min(most, least + 40);
  return fc.oneof(
    { weight: 6, arbitrary: fc.string({ minLength: least, maxLength: short }) },
    { weight: 3, arbitrary: fc.string({ minLength: least, maxLength: short, unit: "grapheme" }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("a", "é", "漢", "🪁").map((one) => one.repeat(Math.max(least, Math.min(most, 4_000)))),
    },
    { weight: 1, arbitrary: fc.constantFrom(least, most).map((length) => "x".repeat(Math.max(least, Math.min(length, 30_000)))) },
  );
};

const stringOf = (schema: JsonObject): fc.Arbitrary<string> => {
  const least = numberIn(schema, "minLength", 0);
  const most = numberIn(schema, "maxLength", 60);
  if (schema.format === "uri")
    return fc.oneof(
      fc.constantFrom(...Object.values(MEDIA)),
      fc.constantFrom(...FAR_LINKS).filter((url) => url.length <= most),
    );
  if (schema.format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (typeof schema.pattern === "string") return fc.stringMatching(new RegExp(schema.pattern), { size: "medium" });
  return textOf(least, most);
};

const integerOf = (least: number, most: number) =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(least, most) },
    { weight: 3, arbitrary: fc.integer({ min: least, max: most }) },
  );

const numberOf = (schema: JsonObject): fc.Arbitrary<number> => {
  const isOpen = typeof schema.exclusiveMinimum === "number";
  const min = isOpen ? numberIn(schema, "exclusiveMinimum", 0) : numberIn(schema, "minimum", -1e9);
  const max = numberIn(schema, "maximum", 1e9);
  return fc.oneof(
    fc.double({ min, max, minExcluded: isOpen, noNaN: true }),
    fc.constantFrom(max, 0.01, 0.29, 1).filter((value) => value <= max && (isOpen ? value > min : value >= min)),
  );
};

/** A value that is valid by a schema of the document. */
export const drawnBy = (document: JsonObject, from: JsonObject): fc.Arbitrary<Json> => {
  const schema = resolved(document, from);
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return fc.oneof(...choices.map((choice) => drawnBy(document, choice as JsonObject)));
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case "string":
      return stringOf(schema);
    case "integer":
      return integerOf(numberIn(schema, "minimum", -(2 ** 31)), numberIn(schema, "maximum", 2 ** 31));
    case "number":
      return numberOf(schema);
    case "boolean":
      return fc.boolean();
    case "array": {
      const most = numberIn(schema, "maxItems", 4);
      return fc.array(drawnBy(document, member(schema, "items")), {
        minLength: numberIn(schema, "minItems", 0),
        maxLength: Math.min(most, 3),
      });
    }
    case "object": {
      const properties = member(schema, "properties");
      const named = Object.keys(properties).map((name) => [name, drawnBy(document, member(properties, name))] as const);
      const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
      return fc.record(Object.fromEntries(named), { requiredKeys: required }) as fc.Arbitrary<Json>;
    }
    default:
      return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
  }
};
