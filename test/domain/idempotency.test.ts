// Requests are the same if their canonical forms (RFC 8785) are equal; the fingerprint of an erased one is the hash of that form.
import { expect, test } from "bun:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { fingerprintOf, isSameRequest } from "../../src/domain/idempotency.ts";
import type { JsonObject } from "../../src/domain/types.ts";

const sha256 = (text: string): string => Bun.SHA256.hash(text, "hex");
const seed = Number(process.env.TEST_SEED ?? 7);

/** Names that engines order or treat in their own way, and text that JSON escapes. */
const NAMES = ["10", "9", "01", "__proto__", "constructor", "toJSON", "", "é", "\u{1f600}", "\uffff", '"', "\\ud800", "a\u0000b"];
const nameOf = () => fc.oneof(fc.constantFrom(...NAMES), fc.string(), fc.string({ unit: "binary" }));
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, 0.1),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    nameOf(),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(nameOf(), tie("any"), { maxKeys: 5 }),
  ),
})).any;

/** The same value as a client's JSON is parsed, where `__proto__` is a member like any other. */
const parsed = (members: [string, unknown][]): JsonObject =>
  JSON.parse(`{${members.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`).join(",")}}`) as JsonObject;

/** Whether two bodies are the same request while the first is stored, and after it was erased. */
const comparisons = (one: string, other: string): [stored: boolean, erased: boolean] => [
  isSameRequest({ body: one, fingerprint: null }, other),
  isSameRequest({ body: "{}", fingerprint: fingerprintOf(one) }, other),
];
const membersOf = () => fc.array(fc.tuple(nameOf(), value), { maxLength: 6 });

test("a fingerprint is the hash of the canonical form with the default of max_cost_usd, for any JSON", () => {
  fc.assert(
    fc.property(membersOf(), (members) => {
      const request = parsed(members);
      expect(fingerprintOf(JSON.stringify(request))).toBe(sha256(canonicalize({ max_cost_usd: 100, ...request }) ?? ""));
    }),
    { seed, numRuns: 2_000 },
  );
});

test("a request is the same before and after the erasure of the stored one, for any JSON", () => {
  fc.assert(
    fc.property(membersOf(), membersOf(), (some, others) => {
      const [one, other] = [JSON.stringify(parsed(some)), JSON.stringify(parsed(others))];
      const reversed = JSON.stringify(parsed(some.toReversed()), null, 2);
      for (const body of [one, other, reversed]) {
        const [stored, erased] = comparisons(one, body);
        expect(stored).toBe(erased);
      }
      expect(comparisons(one, one)).toEqual([true, true]);
    }),
    { seed, numRuns: 1_000 },
  );
});

test.each([
  ['{"input":{"prompt":"\\ud800"}}', "an unpaired surrogate"],
  ['{"\\udc00":1}', "an unpaired surrogate in a name"],
  ['{"input":{"seed":1e999}}', "a number out of range"],
])("a request without a canonical form equals only its own bytes: %s (%s)", (body) => {
  expect(fingerprintOf(body)).toBe(sha256(`\n${body}`));
  expect(comparisons(body, body)).toEqual([true, true]);
  expect(comparisons(body, `${body} `)).toEqual([false, false]);
});

test("a stored body that was damaged equals only its own bytes, and is no error", () => {
  const damaged = '{"model":"m","inp';
  expect(isSameRequest({ body: damaged, fingerprint: null }, '{"model":"m","input":{}}')).toBe(false);
  expect(fingerprintOf(damaged)).toBe(sha256(`\n${damaged}`));
});

test("order of members, white space and an explicit default do not make another request", () => {
  const one = '{"model":"m","input":{"b":1,"a":"x"}}';
  expect(comparisons(one, '{ "input": {"a":"x", "b":1.0}, "model":"m", "max_cost_usd": 100 }')).toEqual([true, true]);
  expect(comparisons(one, '{"model":"m","input":{"b":2,"a":"x"}}')).toEqual([false, false]);
  expect(comparisons(one, '{"model":"m","input":{"b":1,"a":"x"},"max_cost_usd":99}')).toEqual([false, false]);
});
