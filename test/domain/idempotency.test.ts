// Fingerprints of requests are SHA-256 of the canonical form (RFC 8785), as an independent library prints it.
import { expect, test } from "bun:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { fingerprintOf } from "../../src/domain/idempotency.ts";
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

test("a fingerprint is the hash of the library's canonical form, for any JSON", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(nameOf(), value), { maxLength: 6 }), (members) => {
      const request = parsed(members);
      expect(fingerprintOf("", request, {})).toBe(sha256(canonicalize(request) ?? ""));
    }),
    { seed, numRuns: 2_000 },
  );
});

test.each([
  ['{"input":{"prompt":"\\ud800"}}', "an unpaired surrogate"],
  ['{"\\udc00":1}', "an unpaired surrogate in a name"],
  ['{"input":{"seed":1e999}}', "a number out of range"],
])("a request without a canonical form equals only its own bytes: %s (%s)", (body) => {
  expect(fingerprintOf(body, JSON.parse(body), {})).toBe(sha256(`\n${body}`));
});

test("order of members, white space and an explicit default do not change a fingerprint", () => {
  const of = (body: string) => fingerprintOf(body, JSON.parse(body) as JsonObject, { max_cost_usd: 100 });
  const [first, ...others] = [
    '{"model":"m","input":{"b":1,"a":"x"}}',
    '{ "input": {"a":"x", "b":1.0}, "model":"m", "max_cost_usd": 100 }',
  ].map(of);
  expect(others).toEqual([first ?? ""]);
  expect(of('{"model":"m","input":{"b":2,"a":"x"}}')).not.toBe(first);
});
