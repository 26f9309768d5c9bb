// A lost submission of another node: its time was told by another clock, so only what this node has lived through proves that it is not there.
import { expect, test } from "bun:test";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createJobLookup } from "../../src/effects/job-lookup.ts";
import type { Work } from "../../src/providers/port.ts";
import { testClock } from "../clock.ts";

const SETTLE_MS = 90_000;
const MINUTE_MS = 60_000;

/** A provider whose look-ups never find anything, asked about an attempt that was sent `agoMs` before now by the clock of who sent it. */
const openScene = (agoMs: number) => {
  const clock = testClock();
  const elsewhere: (boolean | undefined)[] = [];
  /** How long before it is read each answer was given, ms. */
  const standstills: number[] = [];
  /** When the questions were asked. */
  const askedAtMs: number[] = [];
  const finding = createJobLookup({
    clock,
    providers: {
      traits: () => ({ recovery: "client_id", findSettleMs: SETTLE_MS, findWindowMs: 60 * MINUTE_MS }),
      find: (work: Work) => {
        elsewhere.push(work.sentElsewhere);
        askedAtMs.push(clock.nowMs());
        clock.skip(standstills.shift() ?? 0);
        return Promise.resolve({ kind: "absent" });
      },
    },
    ...{ restored: null, pace: 1, chance: () => 0.5, reads: {}, log: () => undefined },
  } as unknown as EffectsDeps);
  const { signal } = new AbortController();
  const pause = (ms: number) => new Promise<void>((wake) => void clock.after(ms, wake));
  /** How long it takes until the job is said to be absent, ms. */
  const absentAfterMs = async (): Promise<number> => {
    const beganMs = clock.nowMs();
    const attempt = { seq: 7, n: 1, ref: "ref-1", sentAtMs: beganMs - agoMs, route: { provider: "p" } };
    let kind: string | undefined;
    void finding
      .lookUp({ seq: 7, n: 1, signal, pause }, { attempt, input: { raw: {}, filled: {} } } as unknown as Work)
      .then((found) => {
        kind = found?.kind;
      });
    for (let turn = 0; turn < 600 && kind === undefined; turn += 1) {
      clock.skip(1000);
      await new Promise((wake) => setImmediate(wake));
    }
    expect(kind).toBe("absent");
    return clock.nowMs() - beganMs;
  };
  return { clock, finding, elsewhere, standstills, askedAtMs, absentAfterMs };
};

test("what another node sent is not taken for absent before its job has had time to be seen by this one", async () => {
  // By this node's clock it was sent ten minutes ago; by that of who sent it a moment ago, and it may still be on its way.
  const { clock, finding, elsewhere, absentAfterMs } = openScene(10 * MINUTE_MS);
  clock.skip(20 * MINUTE_MS);
  finding.takenUp(7);
  expect(await absentAfterMs()).toBeGreaterThanOrEqual(SETTLE_MS);
  expect(elsewhere.every((told) => told === true)).toBe(true);
});

test("what this node sent itself is looked for by its own clock, whoever owned the generation before", async () => {
  const { clock, finding, elsewhere, absentAfterMs } = openScene(2 * MINUTE_MS);
  clock.skip(20 * MINUTE_MS);
  finding.takenUp(7);
  finding.sent(7, 1);
  expect(await absentAfterMs()).toBeLessThan(SETTLE_MS);
  expect(elsewhere.some((told) => told === true)).toBe(false);
});

test("what the provider may have taken up to the moment in which its answer was given up is looked for from then on", async () => {
  const { clock, finding, absentAfterMs } = openScene(30_000);
  clock.skip(20 * MINUTE_MS);
  finding.answerLost(7, 1);
  const lostAfterMs = await absentAfterMs();
  expect(lostAfterMs).toBeGreaterThanOrEqual(SETTLE_MS);
  finding.ended(7);
  expect(await absentAfterMs()).toBeLessThan(lostAfterMs);
});

test("an answer that is read long after its question, because the process stood still, proves nothing of the time between", async () => {
  const { clock, finding, standstills, askedAtMs, absentAfterMs } = openScene(0);
  finding.answerLost(7, 1);
  const lostAtMs = clock.nowMs();
  standstills.push(0, 10 * MINUTE_MS);
  await absentAfterMs();
  expect(askedAtMs.length).toBe(4);
  for (const atMs of askedAtMs.slice(-2)) expect(atMs - lostAtMs).toBeGreaterThanOrEqual(SETTLE_MS);
});

test("two look-ups after the settle time have to agree: one from before it proves nothing", async () => {
  const { clock, finding, askedAtMs, absentAfterMs } = openScene(0);
  finding.answerLost(7, 1);
  const lostAtMs = clock.nowMs();
  await absentAfterMs();
  expect(askedAtMs.filter((atMs) => atMs - lostAtMs >= SETTLE_MS).length).toBe(2);
  expect(askedAtMs.length).toBeGreaterThan(2);
});
