// Tests the simulation's audit of input clips, which compares the clips that providers received with the measured ones.
import { expect, test } from "bun:test";
import { auditClip } from "../../src/torture/simulation/audit-clips.ts";

const urlOf = (fetched: number, stuck = 0) => `https://clips.example.com/w1?measured=5000&fetched=${fetched}&stuck=${stuck}`;
const DONE = { id: "gen_a", status: "succeeded", attempts: 1, error: null } as const;
const REFUSED = { id: "gen_a", status: "failed", attempts: 0, error: { code: "input_refused", message: "" } } as const;
const COMPOSED_MS = 1000;
const audit = (
  clip: string | null,
  end: Parameters<typeof auditClip>[1],
  given: readonly (number | null | undefined)[],
  { refused = false, lostAtMs = 0 } = {},
) =>
  auditClip({ clip }, end, {
    upstream: {
      jobs: given.map((givenMs, at) => ({
        ref: `a-${at + 1}`,
        jobId: `j${at + 1}`,
        givenMs,
        composedAtMs: COMPOSED_MS,
      })) as never,
    },
    clips: { copies: new Map(), refused: new Set(refused ? ["gen_a"] : []), lostAtMs: new Map([["gen_a", lostAtMs]]) },
  });

test("accepts the measured clip, also one frame longer or shorter", () => {
  expect(audit(urlOf(5000), DONE, [5000])).toEqual([]);
  expect(audit(urlOf(5041), DONE, [5041, 4959])).toEqual([]);
  expect(audit(null, DONE, [null])).toEqual([]);
});

test.each([
  ["another clip", 99_000],
  ["none", null],
  ["a broken link", undefined],
])("reports a provider that received %s", (_, givenMs) => {
  expect(audit(urlOf(5000), DONE, [5000, givenMs])).toHaveLength(1);
});

test("requires that a clip that changed or never arrived ends its generation before any attempt", () => {
  expect(audit(urlOf(30_000), REFUSED, [])).toEqual([]);
  expect(audit(urlOf(30_000), DONE, [5000])).toHaveLength(1);
  expect(audit(urlOf(5000, 1), DONE, [5000])).toHaveLength(1);
});

test("reports the refusal of an unchanged clip unless it was unavailable", () => {
  expect(audit(urlOf(5041), REFUSED, [])).toHaveLength(1);
  expect(audit(urlOf(5041), REFUSED, [], { refused: true })).toEqual([]);
});

test("accepts that a provider receives no clip after its copy was lost, but never another clip", () => {
  const lost = { lostAtMs: COMPOSED_MS + 1 };
  expect(audit(urlOf(5000), DONE, [undefined, 5000], lost)).toEqual([]);
  expect(audit(urlOf(5000), DONE, [99_000], lost)).toHaveLength(1);
  expect(audit(urlOf(5000), DONE, [null], lost)).toHaveLength(1);
});

test("reports a link that was written after its copy was lost", () => {
  expect(audit(urlOf(5000), DONE, [undefined], { lostAtMs: COMPOSED_MS })).toHaveLength(1);
});
