// Fixture for the tests of official SDKs: a fast simulator, short client pauses, file checks, caught errors.
import { afterAll, beforeAll, expect } from "bun:test";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { typeOf } from "../simulator/fixture.ts";

/** Speed factor of the simulated providers and of the pauses between two polls of a client. */
const SPEED = 200;

/** Longer timers are timeouts, which stay unchanged. */
const LONGEST_PAUSE_MS = 15_000;
const MOST_QUESTIONS = 400;

type Timer = (then: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;
type Timers = { setTimeout: Timer; setInterval: Timer };

/** Shortens the built-in pauses of the clients by the speed of the simulator while these tests run. */
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
/** The clock of the simulator, which applies its speed itself. */
const clock: Clock = {
  ...systemClock(),
  after: (ms, then) => {
    const timer = unhurried(then, ms);
    return () => clearTimeout(timer);
  },
};

/** A simulator for the tests of one file, with shortened pauses; `url` returns the address of a provider. */
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

/** The rejection reason of a promise; throws if the promise is fulfilled. */
export const broken = async (promise: Promise<unknown>): Promise<unknown> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the promise was fulfilled");
};

/** Checks that the file at `url` exists and has the expected type and media type. */
export const expectFile = async (url: unknown, type: string, mime: string): Promise<void> => {
  const answer = await fetch(String(url));
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, mime]);
  expect(typeOf(new Uint8Array(await answer.arrayBuffer()))).toBe(type);
};

/** Polls until `isOver`, with a pause of one second between two polls, which the fixture shortens. */
export const until = async <T>(ask: () => Promise<T>, isOver: (answer: T) => boolean): Promise<T> => {
  for (let left = MOST_QUESTIONS; left > 0; left -= 1) {
    const answer = await ask();
    if (isOver(answer)) return answer;
    await new Promise<void>((over) => setTimeout(over, 1000));
  }
  throw new Error("the condition was never met");
};

/** A picture of the simulator, and what a provider has to receive of it. */
export const pictureAt = async (base: string) => {
  const bytes = await (await fetch(`${new URL(base).origin}/samples/picture.png?width=64&height=64`)).bytes();
  return { bytes, received: [{ bytes: bytes.length, sha256: Bun.SHA256.hash(bytes, "hex") }] };
};
