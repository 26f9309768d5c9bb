// Tests of the attempt cache: what a generation is to deliver, from memory while it runs, otherwise from the store.
import { expect, test } from "bun:test";
import type { Ordered } from "../../src/domain/delivery-check.ts";
import type { AdmitGeneration } from "../../src/domain/mutations.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import { createAttemptCache } from "../../src/generations/attempt-cache.ts";

const CLIP: Ordered = { kind: "video", ms: 6_000 };
const STORED: Ordered = { kind: "video", ms: 9_000 };
const admit = (seq: number, ordered?: Ordered) =>
  ({ mutation: "admit", seq, body: "{}", ...(ordered ? { ordered } : {}) }) as AdmitGeneration;
const step = (seq: number, settlement: ApplyTransition["settlement"]) =>
  ({ mutation: "step", seq, atMs: 1, attemptChanges: [], settlement }) as unknown as ApplyTransition;

const open = () => {
  const asked: number[] = [];
  const stored = async (seq: number) => {
    asked.push(seq);
    return STORED;
  };
  return {
    asked,
    attempts: createAttemptCache({ attempt: async () => undefined, inputOf: async () => undefined, orderedOf: stored }),
  };
};

test("serves what a generation admitted by this process is to deliver from memory until it ends", async () => {
  const { asked, attempts } = open();
  attempts.admitted(admit(1, CLIP));
  attempts.stepped(step(1, null as unknown as ApplyTransition["settlement"]), "req");
  expect(await attempts.orderedOf(1)).toEqual(CLIP);
  expect(asked).toEqual([]);
  attempts.stepped(step(1, { kind: "release" } as ApplyTransition["settlement"]), "req");
  expect(await attempts.orderedOf(1)).toEqual(STORED);
  expect(asked).toEqual([1]);
});

test("caches that a generation has nothing to check, and reads the store for a generation of another process", async () => {
  const { asked, attempts } = open();
  attempts.admitted(admit(1));
  expect(await attempts.orderedOf(1)).toBeNull();
  expect(await attempts.orderedOf(2)).toEqual(STORED);
  expect(asked).toEqual([2]);
});

test("begins attempts of generations that this process admitted lately, but not of those with long bodies", async () => {
  const { attempts } = open();
  const bodyOf = (letters: number) => JSON.stringify({ input: { prompt: "x".repeat(letters) } });
  const terms = { ref: "r", route: {}, priceCredits: 5 } as unknown as Parameters<typeof attempts.begin>[2];
  const long = { ...admit(2), body: bodyOf(20_000), requestId: "req_2" };
  attempts.admitted({ ...admit(1), body: bodyOf(10), requestId: "req_1", added: { seed: 7 } });
  attempts.admitted(long);
  expect(attempts.begin(1, 1, terms)).toMatchObject({
    attempt: { seq: 1, n: 1, requestId: "req_1", state: "intent", priceCredits: 5 },
    input: { raw: { prompt: "xxxxxxxxxx" }, filled: { prompt: "xxxxxxxxxx", seed: 7 } },
  });
  expect(attempts.begin(2, 1, terms)).toBeUndefined();
  expect(attempts.begin(3, 1, terms)).toBeUndefined();
  attempts.stepped(step(1, { kind: "release" } as ApplyTransition["settlement"]), "req_1");
  expect(attempts.begin(1, 2, terms)).toBeUndefined();
});
