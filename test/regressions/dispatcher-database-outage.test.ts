// Dispatcher during a database outage: a received provider response waits for the database.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createDispatcher } from "../../src/effects/dispatcher.ts";
import type { CallProvider } from "../../src/providers/http-call.ts";
import { createProviders } from "../../src/providers/providers.ts";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";
import { answer, taskFor } from "../providers/task.ts";

const LONGEST_MS = 300_000;

/** Sends one attempt over a store that is unavailable during `outageMs`, from the start; the provider responds after 1 s. */
const sent = async (outageMs: readonly [number, number]) => {
  const timeline = createTimeline();
  const beganMs = timeline.nowMs();
  const atMs = () => timeline.nowMs() - beganMs;
  let calls = 0;
  const call: CallProvider = () =>
    new Promise((answered) => {
      calls += 1;
      const response = answer(201, { id: "job-1", status: "starting", urls: {} });
      timeline.after(1000, () => answered({ kind: "answered", response }));
    });
  const settings = { replicate: { base_url: "https://provider.example/v1", key: "s3cr3t-0123456789" } };
  const providers = createProviders({ settings, isOwned: async () => false, call });
  const { attempt: composed, input } = taskFor({ provider: "replicate" });
  const attempt = { ...composed, request: providers.compose({ attempt: composed, input }) };
  const overStore = async <T>(value: T): Promise<T> => {
    if (atMs() >= outageMs[0] && atMs() < outageMs[1])
      throw new DatabaseUnavailable("the database of GENROUTER_STORE__URL cannot be read");
    return value;
  };
  const events: [type: string, atMs: number][] = [];
  const logged: string[] = [];
  const parts = {
    ...{ clock: timeline, providers, pace: 1, chance: () => 0.5, restored: null, delivered: () => {}, judge: () => {} },
    log: (event: string) => logged.push(event),
    reads: {
      attempt: () => overStore(attempt),
      inputOf: () => overStore(input),
      jobOwner: () => overStore(undefined),
      pinsOf: async () => [],
    },
    report: (_: number, event: GenerationEvent) => events.push([event.type, atMs()]),
  };
  const effects = createDispatcher(parts as unknown as EffectsDeps);
  effects.perform(attempt.seq, { type: "effect.send", n: attempt.n });
  while (events.length === 0 && atMs() < LONGEST_MS) {
    await new Promise((turn) => setImmediate(turn));
    if (!timeline.step()) break;
  }
  return { events, calls, logged };
};

test("a received acceptance waits out a database outage of one minute and is not treated as lost", async () => {
  const { events, calls, logged } = await sent([500, 60_000]);
  expect(events.map(([type]) => type)).toEqual(["accepted"]);
  expect(events[0]?.[1]).toBeGreaterThanOrEqual(60_000);
  expect([calls, logged]).toEqual([1, []]);
});

test("an attempt that was not sent before a database outage is sent once after it", async () => {
  const { events, calls, logged } = await sent([0, 20_000]);
  expect(events.map(([type]) => type)).toEqual(["accepted"]);
  expect([calls, logged]).toEqual([1, []]);
});
