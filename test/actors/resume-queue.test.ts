// What a restored generation asks for is asked once the service is open: all of it, unless it has moved on meanwhile.
import { expect, test } from "bun:test";
import type { Effect } from "../../actors/generation/types.ts";
import { createResumeQueue, type ResumeEntry, remainingEffects } from "../../actors/supervisor/resume-queue.ts";

const STILL: ResumeEntry = { hasEnded: false, hasLeft: false, watched: [] };
const POLL: Effect = { type: "effect.poll", n: 2 };
const WATCH: Effect = { type: "effect.watch", n: 1 };
const AGAIN: Effect = { type: "effect.collectAgain", n: 1 };
const waiting = { n: 1, route: 0, arriving: false };
const arriving = { n: 1, route: 0, arriving: true };

const ROWS: [promise: string, ask: Effect, restored: (typeof waiting)[], standing: ResumeEntry, asked: Effect | null][] = [
  ["where nothing happened, what the state waits for is asked", POLL, [waiting], { ...STILL, watched: [waiting] }, POLL],
  [
    "a state that was left has asked for itself what follows",
    POLL,
    [waiting],
    { ...STILL, hasLeft: true, watched: [waiting] },
    null,
  ],
  [
    "a step of the current attempt does not forget the watched one",
    WATCH,
    [waiting],
    { ...STILL, hasLeft: true, watched: [waiting] },
    WATCH,
  ],
  ["a watched attempt that is known to its end is not asked about", WATCH, [waiting], STILL, null],
  [
    "a watched attempt whose result was announced meanwhile is being fetched already",
    WATCH,
    [waiting],
    { ...STILL, watched: [arriving] },
    null,
  ],
  [
    "a watched attempt whose result was arriving is fetched again",
    AGAIN,
    [arriving],
    { ...STILL, hasLeft: true, watched: [arriving] },
    AGAIN,
  ],
  ["of a generation that has ended nothing is polled", POLL, [waiting], { ...STILL, hasEnded: true }, null],
  ["but its watched attempts are asked about as long as their rows say", WATCH, [waiting], { ...STILL, hasEnded: true }, WATCH],
  ["nor is the result fetched that was arriving: it is only asked about", AGAIN, [arriving], { ...STILL, hasEnded: true }, WATCH],
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

test("nothing is asked before the service is open, and then everything is, some in each turn", async () => {
  const { resuming, asked, turns, settled } = open();
  for (let seq = 0; seq < 1000; seq += 1) resuming.later(seq, () => POLL);
  await settled();
  expect(asked).toEqual([]);
  resuming.open();
  await settled();
  expect(asked).toHaveLength(1000);
  expect(turns()).toBeGreaterThan(10);
});

test("what comes when the service is open is asked too, several asks of one generation as well", async () => {
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
