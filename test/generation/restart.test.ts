// Tests of a crash in every persisted state: after a restart the generation continues, and no job is submitted twice.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd } from "./fixture.ts";
import { type Death, openLasting } from "./lasting.ts";

type Row = {
  promise: string;
  death: Death;
  /** All slots of the provider are taken when the attempt begins, so that it stays in `intent` until they are free. */
  slots?: "taken" | "freed later";
  rules?: Rule[];
  /** The result is stored when the process dies: it was committed alone, because its files arrived later. */
  isAnnounced?: true;
  routes?: TestRoute[];
  env?: Record<string, string>;
  end: End;
};
const ONCE: End = { ends: 20, attempts: ["delivered"], received: ["fal"] };
/** Longer than a result waits for its files, so that it is announced alone. */
const SLOW_FILE: Rule = { fault: "slow-file", ms: 5_000, times: 1 };
const CHEAP_REPLICATE: TestRoute = { ...REPLICATE, usd: "0.20" };

const ROWS: Row[] = [
  { promise: "submits a queued generation once", death: { at: "before", event: "begun" }, end: ONCE },
  { promise: "submits an attempt in intent once", death: { at: "after", event: "begun" }, slots: "taken", end: ONCE },
  {
    promise: "submits an attempt once whose sending was not committed",
    death: { at: "before", event: "slotTaken" },
    slots: "freed later",
    end: ONCE,
  },
  {
    promise: "proves an attempt in sending absent and falls back without resending it on that route",
    death: { at: "after", event: "slotTaken" },
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ends: 30, attempts: ["absent", "delivered"], received: ["spare"] },
  },
  { promise: "finds a job whose acceptance was not committed", death: { at: "before", event: "accepted" }, end: ONCE },
  {
    promise: "finds a job whose acceptance was not committed, at a provider that stores no mark",
    death: { at: "before", event: "accepted" },
    routes: [CHEAP_REPLICATE, SPARE],
    end: { ...ONCE, received: ["replicate"] },
  },
  { promise: "polls an accepted job", death: { at: "after", event: "accepted" }, end: ONCE },
  { promise: "polls a job again whose announcement was not committed", death: { at: "before", event: "announced" }, end: ONCE },
  {
    promise: "downloads the files of an announced result",
    death: { at: "after", event: "announced" },
    rules: [SLOW_FILE],
    isAnnounced: true,
    end: ONCE,
  },
  {
    promise: "downloads stored but uncharged files of an announced result again and charges once",
    death: { at: "before", event: "collected" },
    rules: [SLOW_FILE],
    isAnnounced: true,
    end: ONCE,
  },
  {
    promise: "charges once whether or not the result was announced before its files were stored",
    death: { at: "before", event: "collected" },
    end: ONCE,
  },
  {
    promise: "reports a generation as succeeded whose charge was committed right before the crash",
    death: { at: "after", event: "collected" },
    end: ONCE,
  },
  {
    promise: "continues the confirmation of a lost response",
    death: { at: "after", event: "answerLost" },
    rules: [{ fault: "drop-after", times: 1 }],
    end: ONCE,
  },
  {
    promise: "confirms a lost response that was not committed as lost",
    death: { at: "before", event: "answerLost" },
    rules: [{ fault: "drop-after", times: 1 }],
    end: ONCE,
  },
  {
    promise: "resends the same attempt at the end of its backoff",
    death: { at: "after", event: "rejected" },
    rules: [{ fault: "429", retry_after_s: 60, times: 1 }],
    end: { ...ONCE, received: ["fal", "fal"] },
  },
  {
    promise: "resends an attempt once whose backoff had ended",
    death: { at: "after", event: "woken" },
    rules: [{ fault: "429", retry_after_s: 5, times: 1 }],
    end: { ...ONCE, received: ["fal", "fal"] },
  },
  {
    promise: "requests an unreadable result again",
    death: { at: "after", event: "resultUnreadable" },
    rules: [{ fault: "file-5xx", fetches: 2 }],
    end: ONCE,
  },
  {
    promise: "starts the next route after a committed failure",
    death: { at: "after", event: "jobFailed" },
    rules: [{ fault: "fail", endpoint: "life/fal" }],
    end: { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] },
  },
  {
    promise: "polls a job again whose failure was not committed, then starts the next route",
    death: { at: "before", event: "jobFailed" },
    rules: [{ fault: "fail", endpoint: "life/fal" }],
    end: { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] },
  },
];

for (const { promise, death, slots, rules = [], routes = [FAL, REPLICATE, SPARE], env, isAnnounced, end } of ROWS)
  test(`after a crash ${death.at} ${death.event}: ${promise}`, async () => {
    const lasting = await openLasting(routes, { death, ...(env ? { env } : {}) });
    for (const rule of rules) lasting.first.simulator.script(rule);
    const free = slots ? lasting.first.fillSlots("fal") : undefined;
    const { id } = await lasting.first.begin();
    if (slots === "freed later") {
      await lasting.first.untilAttempts(id, "intent");
      free?.();
    }
    await lasting.reached;
    if (isAnnounced) expect((await lasting.first.attempts(id)).at(-1)?.results).not.toBeNull();
    await lasting.die();
    const again = await lasting.reopen();
    await again.hurry(async () => (await again.show(id)).completed_at !== null);
    await expectEnd(again, id, end);
    const accepted = again.simulator.submissions().filter(({ accepted }) => accepted);
    expect(new Set(accepted.map(({ ref }) => ref)).size).toBe(accepted.length);
  });
