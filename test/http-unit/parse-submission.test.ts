// Tests of the submission envelope (§2.5, §4.1): both sides of every limit, on a real port.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import { floorCredits } from "../../src/http/parse-submission.ts";
import { errorOf, type Harness, openHarness } from "./harness.ts";
import { isSameAsErased, isSameAsStored } from "./same.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness[Symbol.asyncDispose]());

const good = { model: "vidmodel-2.0", input: { prompt: "a kite" } };
const nested = (levels: number) => `{"model":"m","input":${'{"a":'.repeat(levels - 2)}{}${"}".repeat(levels - 1)}`;

const REFUSED: [name: string, body: string | Uint8Array, says: RegExp][] = [
  ["an empty body", "", /empty/],
  ["malformed JSON", '{"model":"m","input":{}', /not JSON/],
  ["two values", '{"model":"m","input":{}} {}', /not JSON/],
  ["an array", "[]", /JSON object/],
  ["null", "null", /JSON object/],
  ["a string", '"model"', /JSON object/],
  ["a number", "1", /JSON object/],
  ["form fields", "model=m&input=x", /not JSON/],
  ["a gzip body", Bun.gzipSync(Buffer.from(JSON.stringify(good))), /UTF-8/],
  ["bytes that are not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), /UTF-8/],
  ["no model", '{"input":{}}', /^model: is required/],
  ["no input", '{"model":"m"}', /^input: is required/],
  ["model null", '{"model":null,"input":{}}', /^model: must be a string/],
  ["model a number", '{"model":1,"input":{}}', /^model: must be a string/],
  ["model with half a surrogate pair", '{"model":"a\\ud800","input":{}}', /^model: contains an unpaired surrogate\.$/],
  ["input null", '{"model":"m","input":null}', /^input: must be an object/],
  ["input an array", '{"model":"m","input":[]}', /^input: must be an object/],
  ["input a string", '{"model":"m","input":"x"}', /^input: must be an object/],
  ["an unknown field", '{"model":"m","input":{},"webhook":"x"}', /^"webhook": unknown/],
  ["two unknown fields", '{"model":"m","input":{},"a":1,"b":2}', /^"a", "b": unknown/],
  ["__proto__", '{"model":"m","input":{},"__proto__":{"max_wait_s":5}}', /^"__proto__": unknown/],
  ["__proto__ in place of the fields", '{"__proto__":{"model":"m","input":{}}}', /^"__proto__": unknown/],
  ["constructor", '{"model":"m","input":{},"constructor":{}}', /^"constructor": unknown/],
  ["an unknown field with half a pair", '{"model":"m","input":{},"\\udfff":1}', /^"\\udfff": unknown/],
  ["65 levels", nested(65), /deeper than 64/],
  ["50,000 levels", "[".repeat(50_000) + "]".repeat(50_000), /deeper than 64/],
  ["unclosed levels", "[".repeat(200_000), /deeper than 64/],
  ...(["null", '"5"', "true", "[]", "{}", "0", "-0", "-1", "100.01", "100.00000000000002", "1e999", "-1e999"] as const).map(
    (value): [string, string, RegExp] => [
      `max_cost_usd ${value}`,
      `{"model":"m","input":{},"max_cost_usd":${value}}`,
      /^max_cost_usd: must be a number greater than 0 and at most 100/,
    ],
  ),
  ...(["null", '"5"', "true", "[]", "0", "-1", "0.5", "5.5", "86401", "1e999"] as const).map(
    (value): [string, string, RegExp] => [
      `max_wait_s ${value}`,
      `{"model":"m","input":{},"max_wait_s":${value}}`,
      /^max_wait_s: must be a whole number from 1 to 86400/,
    ],
  ),
];

describe("rejects with 400 and a reason, before the submit function, a submission with", () => {
  test.each(REFUSED)("%s", async (_name, body, says) => {
    const before = harness.orders.length;
    const error = await errorOf(await harness.submit(body));
    expect(error).toMatchObject({ status: 400, code: "invalid_request" });
    expect(error.message).toMatch(says);
    expect(harness.orders.length).toBe(before);
  });
});

const TAKEN: [name: string, body: string, order: object][] = [
  [
    "the required fields only",
    JSON.stringify(good),
    { model: "vidmodel-2.0", input: { prompt: "a kite" }, maxCostCredits: 10_000, maxWaitMs: null },
  ],
  ["an empty model (422 by the catalogue)", '{"model":"","input":{}}', { model: "" }],
  ["max_cost_usd 100", '{"model":"m","input":{},"max_cost_usd":100}', { maxCostCredits: 10_000 }],
  ["max_cost_usd 0.29", '{"model":"m","input":{},"max_cost_usd":0.29}', { maxCostCredits: 29 }],
  ["max_cost_usd 1e-7", '{"model":"m","input":{},"max_cost_usd":1e-7}', { maxCostCredits: 0 }],
  ["max_cost_usd 0.004", '{"model":"m","input":{},"max_cost_usd":0.004}', { maxCostCredits: 0 }],
  ["max_cost_usd 1.999", '{"model":"m","input":{},"max_cost_usd":1.999}', { maxCostCredits: 199 }],
  ["max_wait_s 1", '{"model":"m","input":{},"max_wait_s":1}', { maxWaitMs: 1000 }],
  ["max_wait_s 86400", '{"model":"m","input":{},"max_wait_s":86400}', { maxWaitMs: 86_400_000 }],
  ["max_wait_s 5.0", '{"model":"m","input":{},"max_wait_s":5.0}', { maxWaitMs: 5000 }],
  [
    "a repeated key, of which the last counts",
    '{"model":"x","model":"m","input":{"a":1},"input":{"b":2}}',
    { model: "m", input: { b: 2 } },
  ],
  ["64 levels", nested(64), { model: "m" }],
  [
    "brackets inside strings, which do not count as levels",
    `{"model":"m","input":{"prompt":"${'[{\\"'.repeat(90)}"}}`,
    { model: "m" },
  ],
  ["a byte order mark", `\ufeff${JSON.stringify(good)}`, { model: "vidmodel-2.0" }],
  [
    "half a surrogate pair inside input (422 by the input validation)",
    '{"model":"m","input":{"prompt":"\\ud800"}}',
    { model: "m" },
  ],
  ["an infinite number inside input (422 by the input validation)", '{"model":"m","input":{"seed":1e999}}', { model: "m" }],
];

describe("passes to the submit function a submission with", () => {
  test.each(TAKEN)("%s", async (_name, body, order) => {
    const response = await harness.submit(body);
    expect(response.status).toBe(202);
    expect(harness.orders.at(-1)).toMatchObject(order);
    expect(harness.orders.at(-1)?.body.length).toBeGreaterThan(0);
  });

  test("__proto__ inside input, which remains a member that the input validation can reject", async () => {
    await harness.submit('{"model":"m","input":{"__proto__":{"prompt":"x"}}}');
    expect(Object.keys(harness.orders.at(-1)?.input ?? {})).toEqual(["__proto__"]);
    expect(harness.orders.at(-1)?.input.prompt).toBeUndefined();
  });

  test.each([
    "",
    "text/plain",
    "application/xml",
    "Application/JSON",
    "multipart/form-data",
    "application/x-www-form-urlencoded",
  ])("any Content-Type: %p", async (type) => {
    const body = new Blob([JSON.stringify(good)]).stream();
    const response = await harness.submit(body, type === "" ? {} : { "content-type": type });
    expect(response.status).toBe(202);
  });
});

describe("Idempotency-Key", () => {
  const RIGHT: [string, string][] = [
    ["one character", "k"],
    ["200 characters", "k".repeat(200)],
    ["200 characters of several bytes each", Buffer.from("é".repeat(100) + "漢".repeat(100)).toString("latin1")],
    ["200 characters outside the basic plane", Buffer.from("😀".repeat(200)).toString("latin1")],
    ["200 characters of Latin-1", "é".repeat(200)],
  ];
  test.each(RIGHT)("is accepted with %s", async (_name, key) => {
    const response = await harness.submit(JSON.stringify(good), { "idempotency-key": key });
    expect(response.status).toBe(202);
    expect([...(harness.orders.at(-1)?.idempotencyKey ?? "")].length).toBe(key === "k" ? 1 : 200);
  });

  const WRONG: [string, string][] = [
    ["empty", ""],
    ["blanks only", "  "],
    ["201 characters", "k".repeat(201)],
    ["201 characters of several bytes each", Buffer.from("é".repeat(201)).toString("latin1")],
    ["2,000 characters", "k".repeat(2000)],
  ];
  test.each(WRONG)("is rejected with 400 when it is %s", async (_name, key) => {
    const error = await errorOf(await harness.submit(JSON.stringify(good), { "idempotency-key": key }));
    expect(error).toMatchObject({ status: 400, code: "invalid_request" });
    expect(error.message).toStartWith("Idempotency-Key:");
  });

  test("is null when the client sends none", async () => {
    await harness.submit(JSON.stringify(good));
    expect(harness.orders.at(-1)?.idempotencyKey).toBeNull();
  });
});

describe.each([
  ["bodies", isSameAsStored],
  ["fingerprints", isSameAsErased],
])("the comparison of requests by their %s", (_, compare) => {
  test("ignores the order of members, white space, escapes and the notation of numbers", () => {
    const one = '{"model":"m","input":{"b":1.0,"a":"\\u0041"}}';
    expect(compare('{ "input" : { "a" : "A", "b" : 1e0 },\n "model":"m" }', one)).toBe(true);
    expect(compare('{"model":"x","model":"m","input":{"a":"A","b":1}}', one)).toBe(true);
  });

  test.each([
    '{"model":"m","input":{"a":"1"}}',
    '{"model":"m","input":{"a":[1]}}',
    '{"model":"m","input":{"a":1,"__proto__":{}}}',
    '{"model":"m","input":{"a":1},"max_cost_usd":99}',
    '{"model":"m","input":{"a":1},"max_wait_s":86400}',
    '{"model":"m","input":{"a":1e999}}',
    '{"model":"m","input":{"a":"\\ud800"}}',
  ])("treats %s as a different request", (text) => {
    expect(compare(text, '{"model":"m","input":{"a":1}}')).toBe(false);
    expect(compare('{"model":"m","input":{"a":1}}', text)).toBe(false);
  });

  test("treats any JSON with its members in reverse order as the same request", () => {
    const turned = (value: Json): Json => {
      if (Array.isArray(value)) return value.map(turned);
      if (typeof value !== "object" || value === null) return value;
      const members = Object.entries(value).reverse();
      const made: JsonObject = {};
      for (const [name, member] of members)
        Object.defineProperty(made, name, { value: turned(member), enumerable: true, writable: true, configurable: true });
      return made;
    };
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), fc.jsonValue()), (made) => {
        const text = JSON.stringify(made);
        const other = JSON.stringify(turned(JSON.parse(text) as JsonObject));
        // Unpaired surrogates have no canonical form: only identical text is the same.
        if (text.isWellFormed() && !/\\ud[89a-f]/.test(text)) expect(compare(other, text)).toBe(true);
        expect(compare(text, text)).toBe(true);
      }),
      { numRuns: 200, seed: 2026 },
    );
  });

  test("uses a body that is stored in one line and, if it is long, without white space", async () => {
    await harness.submit('{"model":\n"m",\r\n"input":{"prompt":"two\\nlines"}}');
    expect(harness.orders.at(-1)?.body).toBe('{"model":"m","input":{"prompt":"two\\nlines"}}');
    await harness.submit(`{"model":"m",${" ".repeat(100_000)}"input":{}}`);
    expect(harness.orders.at(-1)?.body).toBe('{"model":"m","input":{}}');
  });
});

test("treats an omitted envelope field and its explicit default as the same request", () => {
  const [without, withDefault] = ['{"model":"m","input":{}}', '{"model":"m","input":{},"max_cost_usd":100.0}'];
  expect([isSameAsStored(without, withDefault), isSameAsStored(withDefault, without)]).toEqual([true, true]);
});

test("rounds max_cost_usd down by its decimal digits, for every tenth of a cent up to 100 USD", () => {
  for (let mills = 1; mills <= 100_000; mills++) {
    const written = `${Math.floor(mills / 1000)}.${String(mills % 1000).padStart(3, "0")}`;
    if (floorCredits(Number(written)) !== Math.floor(mills / 10))
      throw new Error(`${written} → ${floorCredits(Number(written))}`);
  }
  expect(floorCredits(0.28999999999999998)).toBe(29);
  expect(floorCredits(99.99999999999999)).toBe(9999);
});
