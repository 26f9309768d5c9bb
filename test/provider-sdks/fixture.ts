// What the tests of official clients share: a fast simulator, quick patience, files looked at, and errors caught.
import { afterAll, beforeAll, expect } from "bun:test";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { typeOf } from "../simulator/fixture.ts";

/** So many times faster than life: the providers' work, and what clients wait between two questions. */
const SPEED = 200;

/** What is longer is no pause but a limit, and stays as it is. */
const LONGEST_PAUSE_MS = 15_000;
const MOST_QUESTIONS = 400;

type Timer = (then: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;
type Timers = { setTimeout: Timer; setInterval: Timer };

/** Makes the pauses that clients have built in as short as the simulator is fast, while these tests run. */
const shortenPauses = (): (() => void) => {
  const timers = globalThis as unknown as Timers;
  const { setTimeout, setInterval } = timers;
  const hurried =
    (set: Timer): Timer =>
    (then, ms = 0, ...args) =>
      set(then, ms > LONGEST_PAUSE_MS ? ms : Math.ceil(ms / SPEED), ...args);
  Object.assign(timers, { setTimeout: hurried(setTimeout), setInterval: hurried(setInterval) });
  return () => void Object.assign(timers, { setTimeout, setInterval });
};

const { setTimeout: unhurried } = globalThis;
/** The simulator's own clock, which is fast by its speed already. */
const clock: Clock = {
  ...systemClock(),
  after: (ms, then) => {
    const timer = unhurried(then, ms);
    return () => clearTimeout(timer);
  },
};

/** A simulator for the tests of one file, with the pauses shortened; `url` is where a provider is. */
export const openShop = () => {
  let simulator: Simulator;
  let restore = () => {};
  beforeAll(async () => {
    simulator = await createSimulator({ speed: SPEED, clock });
    restore = shortenPauses();
  });
  afterAll(async () => {
    restore();
    await simulator.stop();
  });
  return {
    url: (provider: string, path = "") => `${simulator.baseUrls[provider]}${path}`,
    jobs: () => simulator.jobs(),
    submissions: () => simulator.submissions(),
  };
};

/** What a promise was broken with; an error when it was kept. */
export const broken = async (promise: Promise<unknown>): Promise<unknown> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the promise was kept");
};

/** The file at `url`: there, and of the kind that it says it is. */
export const expectFile = async (url: unknown, type: string, mime: string): Promise<void> => {
  const answer = await fetch(String(url));
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, mime]);
  expect(typeOf(new Uint8Array(await answer.arrayBuffer()))).toBe(type);
};

/** Asks until the answer is as wished; a second's pause between two questions, which is short here. */
export const until = async <T>(ask: () => Promise<T>, isOver: (answer: T) => boolean): Promise<T> => {
  for (let left = MOST_QUESTIONS; left > 0; left -= 1) {
    const answer = await ask();
    if (isOver(answer)) return answer;
    await new Promise<void>((over) => setTimeout(over, 1000));
  }
  throw new Error("it did not end");
};
