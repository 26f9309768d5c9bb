// Bodies with very many members are rejected before they are parsed.
//
// This also holds under a used Idempotency-Key, and the event loop does not stall.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { isSameRequest } from "../../src/domain/idempotency.ts";
import { isTooWide } from "../../src/http/body.ts";
import { type Harness, openHarness } from "../harness.ts";
import { isSameAsErased, isSameAsStored } from "../http-unit/same.ts";
import { stall } from "../stall/harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const MEMBERS = 120_000;
/** 1 MB of members whose values differ for each salt. */
const largeInput = (salt: number): string =>
  `{${Array.from({ length: MEMBERS }, (_, n) => `"${n.toString(36)}":${(n + salt) % 10}`).join(",")}}`;
const bodyOf = (input: string): string => `{"model":"sim-image-1","input":${input}}`;

test("rejects sixteen bodies of 120,000 members under a used idempotency key without an event loop stall", async () => {
  const headers = { "idempotency-key": "used" };
  const post = (body: string) => harness.request("POST", "/v1/generations", { body, headers });
  const small = bodyOf('{"prompt":"a red kite"}');
  expect((await post(small)).status).toBe(202);
  const statuses: number[] = [];
  const large = await stall.pause(() => Array.from({ length: 16 }, (_, salt) => bodyOf(largeInput(salt))));
  for (const body of large) statuses.push((await post(body)).status);
  expect(new Set(statuses)).toEqual(new Set([400]));
  expect((await post(small)).status).toBe(200);
});

test("compares bodies of 1 MB of one repeated character without an event loop stall", async () => {
  const of = (text: string) =>
    bodyOf(JSON.stringify({ prompt: text.repeat(1_040_000 / (Buffer.byteLength(JSON.stringify(text)) - 2)) }));
  const bodies = await stall.pause(() => ["\\", "\\ud8", '"', ",", "\n", "\u0001", "{", "é", "x"].map(of));
  for (const body of bodies) {
    const { status } = await harness.request("POST", "/v1/generations", { body, headers: { "idempotency-key": "long" } });
    expect(status).toBe(422);
  }
  // Runs several comparisons in one turn of the event loop so that the stall meter shows their cost.
  const [backslashes = ""] = bodies;
  const stored = { body: `${backslashes} `, fingerprint: null };
  const compared = Array.from({ length: 6 }, () => isSameRequest(stored, backslashes));
  expect(new Set(compared)).toEqual(new Set([true]));
});

test("isTooWide counts members and elements but not commas in strings", async () => {
  const elements = (count: number) => `[${Array.from({ length: count }, () => "0").join(",")}]`;
  expect([isTooWide(elements(10_001)), isTooWide(elements(10_002))]).toEqual([false, true]);
  expect(isTooWide(`{"prompt":"${'a,b \\" ,'.repeat(20_000)}"}`)).toBe(false);
  expect(isTooWide(`{"a":{${Array.from({ length: 10_002 }, (_, n) => `"k${n}":",,,,"`).join(",")}}}`)).toBe(true);
  const prompt = "a, ".repeat(600);
  expect((await harness.request("POST", "/v1/generations", { body: bodyOf(JSON.stringify({ prompt })) })).status).toBe(202);
});

test.each([
  ['{"a":1,"b":[1,2,{"c":null}]}', ' { "b" : [1.0, 20e-1, {"c":null}], "\\u0061" : 1 } ', true],
  ['{"a":0}', '{"a":-0}', true],
  ['{"a":"é"}', '{"a":"\\u00e9"}', true],
  ['{"a":"é"}', '{"a":"e\\u0301"}', false],
  ['{"a":1}', '{"a":"1"}', false],
  ['{"a":1}', '{"a":true}', false],
  ['{"a":null}', "{}", false],
  ['{"a":null}', '{"b":null}', false],
  ['{"a":[]}', '{"a":{}}', false],
  ['{"a":{}}', '{"a":[]}', false],
  ['{"a":[1,2]}', '{"a":[2,1]}', false],
  ['{"a":[1]}', '{"a":[1,null]}', false],
  ['{"a":[null]}', '{"a":[]}', false],
  ['{"a":1,"a":2}', '{"a":2}', true],
  ['{"__proto__":1}', '{"__proto__":1.0}', true],
  ['{"__proto__":{}}', "{}", false],
  ['{"toString":1}', '{"a":1}', false],
  // A value without a canonical form equals only its own bytes.
  ['{"a":"\\ud800"}', '{"a":"\\uD800"}', false],
  ['{"\\ud800":1}', '{"\\uD800":1}', false],
  ['{"a":1e999}', '{"a":1E999}', false],
  ['{"a":1e999}', '{"a":1e999}', true],
])("%s and %s are the same request: %j", (one, other, expected) => {
  for (const compare of [isSameAsStored, isSameAsErased])
    expect([compare(one, other), compare(other, one)]).toEqual([expected, expected]);
});
