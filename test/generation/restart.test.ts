// The process dies in every resting state: after a restart the generation goes on where it was, and nothing is submitted twice.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd } from "./fixture.ts";
import { type Death, openLasting } from "./lasting.ts";

type Row = { promise: string; death: Death; rules?: Rule[]; routes?: TestRoute[]; env?: Record<string, string>; end: End };
const ONCE: End = { ends: 20, attempts: ["delivered"], received: ["fal"] };
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };

const ROWS: Row[] = [
  { promise: "queued: it gets its seat and is submitted once", death: { at: "before", event: "begun" }, end: ONCE },
  { promise: "an intent on disk: it is submitted once", death: { at: "after", event: "begun" }, end: ONCE },
  { promise: "a slot taken, nothing written: it is submitted once", death: { at: "before", event: "slotTaken" }, end: ONCE },
  {
    promise: "sending on disk, nothing sent: proved absent, never sent again on that route",
    death: { at: "after", event: "slotTaken" },
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ends: 30, attempts: ["absent", "delivered"], received: ["spare"] },
  },
  { promise: "accepted, but not written: the job is found again", death: { at: "before", event: "accepted" }, end: ONCE },
  {
    promise: "accepted, but not written, at a provider without our mark: the job is found again",
    death: { at: "before", event: "accepted" },
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ...ONCE, received: ["replicate"] },
  },
  { promise: "a job on disk: it is polled", death: { at: "after", event: "accepted" }, end: ONCE },
  { promise: "announced, but not written: it is polled again", death: { at: "before", event: "announced" }, end: ONCE },
  { promise: "announced: its files are fetched", death: { at: "after", event: "announced" }, end: ONCE },
  {
    promise: "files kept, but not charged: they are fetched again and charged once",
    death: { at: "before", event: "collected" },
    end: ONCE,
  },
  { promise: "charged, and nobody was told: it has succeeded", death: { at: "after", event: "collected" }, end: ONCE },
  {
    promise: "a lost answer being confirmed: it is confirmed on",
    death: { at: "after", event: "answerLost" },
    rules: [{ fault: "drop-after", times: 1 }],
    end: ONCE,
  },
  {
    promise: "an answer lost and not yet written as lost: it is confirmed",
    death: { at: "before", event: "answerLost" },
    rules: [{ fault: "drop-after", times: 1 }],
    end: ONCE,
  },
  {
    promise: "backing off: the same attempt is sent again when its time has come",
    death: { at: "after", event: "rejected" },
    rules: [{ fault: "429", retry_after_s: 60, times: 1 }],
    end: { ...ONCE, received: ["fal", "fal"] },
  },
  {
    promise: "about to be sent again: it is sent again, once",
    death: { at: "after", event: "woken" },
    rules: [{ fault: "429", retry_after_s: 5, times: 1 }],
    end: { ...ONCE, received: ["fal", "fal"] },
  },
  {
    promise: "a result that could not be read: it is asked for again",
    death: { at: "after", event: "resultUnreadable" },
    rules: [{ fault: "file-5xx", fetches: 2 }],
    end: ONCE,
  },
  {
    promise: "between a failed route and the next: the next one has its turn",
    death: { at: "after", event: "jobFailed" },
    rules: [{ fault: "fail", endpoint: "life/fal" }],
    end: { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] },
  },
  {
    promise: "a failure that was not written: the job is asked again, then the next route has its turn",
    death: { at: "before", event: "jobFailed" },
    rules: [{ fault: "fail", endpoint: "life/fal" }],
    end: { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] },
  },
];

for (const { promise, death, rules = [], routes = [FAL, REPLICATE, SPARE], env, end } of ROWS)
  test(`dead ${death.at} ${death.event}. ${promise}`, async () => {
    const lasting = await openLasting(routes, { death, ...(env ? { env } : {}) });
    for (const rule of rules) lasting.first.simulator.script(rule);
    const { id } = await lasting.first.begin();
    await lasting.reached;
    await lasting.die();
    const again = await lasting.reopen();
    await again.hurry(async () => (await again.show(id)).completed_at !== null);
    await expectEnd(again, id, end);
    const accepted = again.simulator.submissions().filter(({ accepted }) => accepted);
    expect(new Set(accepted.map(({ ref }) => ref)).size).toBe(accepted.length);
  });
