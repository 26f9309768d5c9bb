// Tests of the lookup of a submission that another node sent with its own clock.
// Only time that passed on this node proves that the job is absent.
import { expect, test } from "bun:test";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createJobLookup } from "../../src/effects/job-lookup.ts";
import type { Work } from "../../src/providers/port.ts";
import { testClock } from "../clock.ts";

const SETTLE_MS = 90_000;
const MINUTE_MS = 60_000;

/** A provider whose lookups find no job, for an attempt that was sent `agoMs` ago by the clock of its sender. */
const openScene = (agoMs: number) => {
  const clock = testClock();
  const elsewhere: (boolean | undefined)[] = [];
  /** For each response, the time between the provider's reply and its reading, in ms. */
  const standstills: number[] = [];
  /** The times of the lookups. */
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
  /** The time until the lookup reports the job as absent, in ms. */
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

test("does not report a job of another node as absent before the settle time has passed on this node", async () => {
  // By this node's clock it was sent ten minutes ago; by the sender's clock just now, so it may still be in flight.
  const { clock, finding, elsewhere, absentAfterMs } = openScene(10 * MINUTE_MS);
  clock.skip(20 * MINUTE_MS);
  finding.takenUp(7);
  expect(await absentAfterMs()).toBeGreaterThanOrEqual(SETTLE_MS);
  expect(elsewhere.every((reported) => reported === true)).toBe(true);
});

test("uses the clock of this node for a submission that it sent, even if another node owned the generation before", async () => {
  const { clock, finding, elsewhere, absentAfterMs } = openScene(2 * MINUTE_MS);
  clock.skip(20 * MINUTE_MS);
  finding.takenUp(7);
  finding.sent(7, 1);
  expect(await absentAfterMs()).toBeLessThan(SETTLE_MS);
  expect(elsewhere.some((reported) => reported === true)).toBe(false);
});

test("starts the settle time when the response of the submission is given up", async () => {
  const { clock, finding, absentAfterMs } = openScene(30_000);
  clock.skip(20 * MINUTE_MS);
  finding.answerLost(7, 1);
  const lostAfterMs = await absentAfterMs();
  expect(lostAfterMs).toBeGreaterThanOrEqual(SETTLE_MS);
  finding.ended(7);
  expect(await absentAfterMs()).toBeLessThan(lostAfterMs);
});

test("does not count the time between a lookup and the late reading of its response by a stalled process", async () => {
  const { clock, finding, standstills, askedAtMs, absentAfterMs } = openScene(0);
  finding.answerLost(7, 1);
  const lostAtMs = clock.nowMs();
  standstills.push(0, 10 * MINUTE_MS);
  await absentAfterMs();
  expect(askedAtMs.length).toBe(4);
  for (const atMs of askedAtMs.slice(-2)) expect(atMs - lostAtMs).toBeGreaterThanOrEqual(SETTLE_MS);
});

test("requires two matching lookups after the settle time and ignores earlier ones", async () => {
  const { clock, finding, askedAtMs, absentAfterMs } = openScene(0);
  finding.answerLost(7, 1);
  const lostAtMs = clock.nowMs();
  await absentAfterMs();
  expect(askedAtMs.filter((atMs) => atMs - lostAtMs >= SETTLE_MS).length).toBe(2);
  expect(askedAtMs.length).toBeGreaterThan(2);
});
