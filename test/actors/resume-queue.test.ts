// Tests the resume queue: the effects of restored generations are performed once the service is open, unless they are obsolete.
import { expect, test } from "bun:test";
import type { Effect } from "../../actors/generation/types.ts";
import { createResumeQueue, type ResumeEntry, remainingEffects } from "../../actors/supervisor/resume-queue.ts";

const STILL: ResumeEntry = { hasEnded: false, hasLeft: false, hasNewDeadline: false, watched: [] };
const POLL: Effect = { type: "effect.poll", n: 2 };
const WATCH: Effect = { type: "effect.watch", n: 1 };
const AGAIN: Effect = { type: "effect.collectAgain", n: 1 };
const waiting = { n: 1, route: 0, arriving: false };
const arriving = { n: 1, route: 0, arriving: true };

const ROWS: [promise: string, ask: Effect, restored: (typeof waiting)[], standing: ResumeEntry, asked: Effect | null][] = [
  [
    "performs the effect of the restored state if nothing has happened since",
    POLL,
    [waiting],
    { ...STILL, watched: [waiting] },
    POLL,
  ],
  [
    "drops the effect of a state that the generation has left",
    POLL,
    [waiting],
    { ...STILL, hasLeft: true, watched: [waiting] },
    null,
  ],
  [
    "keeps the effect of a watched attempt after a transition of the current one",
    WATCH,
    [waiting],
    { ...STILL, hasLeft: true, watched: [waiting] },
    WATCH,
  ],
  ["drops the effect of a watched attempt that has ended", WATCH, [waiting], STILL, null],
  [
    "drops the watch of an attempt whose result is already being collected",
    WATCH,
    [waiting],
    { ...STILL, watched: [arriving] },
    null,
  ],
  [
    "collects the result of a watched attempt again if it was being collected",
    AGAIN,
    [arriving],
    { ...STILL, hasLeft: true, watched: [arriving] },
    AGAIN,
  ],
  ["drops the poll of a generation that has ended", POLL, [waiting], { ...STILL, hasEnded: true }, null],
  ["keeps the watch of an attempt of a generation that has ended", WATCH, [waiting], { ...STILL, hasEnded: true }, WATCH],
  ["watches instead of collecting again if the generation has ended", AGAIN, [arriving], { ...STILL, hasEnded: true }, WATCH],
];
for (const [promise, ask, restored, standing, asked] of ROWS)
  test(promise, () => expect(remainingEffects(ask, restored, standing)).toEqual(asked));

const open = () => {
  const asked: string[] = [];
  let turns = 0;
  const resuming = createResumeQueue({
    perform: (seq, ask) => void asked.push(`${seq} ${ask.type}`),
    breathe: async () => {
      turns += 1;
    },
  });
  const settled = async () => {
    for (let i = 0; i < 400; i += 1) await Promise.resolve();
  };
  return { resuming, asked, turns: () => turns, settled };
};

test("performs no effect before open, then all of them over several turns", async () => {
  const { resuming, asked, turns, settled } = open();
  for (let seq = 0; seq < 1000; seq += 1) resuming.later(seq, () => POLL);
  await settled();
  expect(asked).toEqual([]);
  resuming.open();
  await settled();
  expect(asked).toHaveLength(1000);
  expect(turns()).toBeGreaterThan(10);
});

test("performs effects that are added after open, including several for one generation", async () => {
  const { resuming, asked, settled } = open();
  resuming.open();
  for (let seq = 0; seq < 3; seq += 1) {
    resuming.later(seq, () => POLL);
    resuming.later(seq, () => WATCH);
  }
  await settled();
  resuming.later(9, () => null);
  resuming.later(9, () => WATCH);
  await settled();
  expect(asked.sort()).toEqual([
    "0 effect.poll",
    "0 effect.watch",
    "1 effect.poll",
    "1 effect.watch",
    "2 effect.poll",
    "2 effect.watch",
    "9 effect.watch",
  ]);
});
