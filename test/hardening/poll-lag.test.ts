// Thousands of jobs on one route are polled concurrently and evenly, so each end is detected soon.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Attempt } from "../../src/domain/types.ts";
import { createDispatcher } from "../../src/effects/dispatcher.ts";
import type { Media } from "../../src/media/port.ts";
import type { CallProvider } from "../../src/providers/http-call.ts";
import { createProviders, slotsWithin } from "../../src/providers/providers.ts";
import { chance } from "../../src/simulator/fault-script.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";
import { answer, taskFor } from "../providers/task.ts";

const JOBS = 5_000;
const SEED = 7;
/** Minimum and maximum duration of a poll response, in ms. */
const ANSWER_MS = [50, 150] as const;
/** Minimum and maximum end of a job, in s after all jobs were resumed at once. */
const ENDS_S = [60, 240] as const;
const MOST_S = 900;
/** The number of concurrent requests that a running service allows. */
const RAISED = 4_096;
/** The longest pause between polls is 5 s plus at most 15 %. */
const LONGEST_PAUSE_S = 5.75;

test(`${JOBS} jobs on one route, resumed at the same moment: ends are detected within seconds and polls stay evenly spread`, () => {
  const timeline = createTimeline();
  const roll = chance(SEED);
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);
  const beginsMs = timeline.nowMs();
  const endsAtMs = Array.from({ length: JOBS }, () => beginsMs + between(ENDS_S) * 1000);
  const pollsAtMs: number[] = [];
  const call: CallProvider = (request) =>
    new Promise((answered) => {
      const seq = Number(/job-(\d+)/.exec(request.url)?.[1]);
      pollsAtMs.push(timeline.nowMs());
      timeline.after(between(ANSWER_MS), () => {
        const isDone = timeline.nowMs() >= (endsAtMs[seq] ?? 0);
        const body = {
          id: `job-${seq}`,
          status: isDone ? "succeeded" : "processing",
          output: isDone ? "https://example.com/a.mp4" : null,
        };
        answered({ kind: "answered", response: answer(200, body) });
      });
    });
  const base = "https://provider.example/v1";
  const settings = { replicate: { base_url: base, key: "s3cr3t-0123456789" } };
  const providers = createProviders({ settings, isOwned: async () => false, call, slots: slotsWithin(RAISED) });
  const lagsS: number[] = [];
  const report = (seq: number, event: GenerationEvent) => {
    expect(event.type).toBe("announced");
    lagsS.push((timeline.nowMs() - (endsAtMs[seq] ?? 0)) / 1000);
  };
  const attemptOf = (seq: number): Attempt => ({
    ...taskFor({ provider: "replicate", job: { jobId: `job-${seq}` } }).attempt,
    seq,
    ref: `ref-${seq}`,
  });
  const { input } = taskFor({ provider: "replicate" });
  let inputsRead = 0;
  const effects = createDispatcher({
    isStorageUnavailable: () => false,
    clock: timeline,
    log: () => undefined,
    reads: {
      attempt: async (seq) => attemptOf(seq),
      attemptsOf: async (seq) => [attemptOf(seq)],
      orderedOf: async () => null,
      inputOf: async () => {
        inputsRead += 1;
        return input;
      },
      jobOwner: async () => undefined,
      generationBySeq: async () => undefined,
      pinsOf: async () => [],
      inputFilesOf: async () => [],
      planOf: async () => undefined,
    },
    giving: { choose: () => ({ forms: [] }), takesLinks: () => true, linkBase: () => "" },
    signInput: () => "",
    hasFile: async () => true,
    openInput: async () => undefined,
    providers,
    media: { keepInline: async (_ref, results) => [...results] } as Partial<Media> as Media,
    report,
    judge: () => undefined,
    delivered: () => undefined,
    noticed: () => undefined,
    usualEnd: () => undefined,
    pace: 1,
    restored: null,
    newWork: () => undefined,
    chance: roll,
  });
  for (let seq = 0; seq < JOBS; seq += 1) timeline.after(0, () => effects.perform(seq, { type: "effect.poll", n: 1 }));
  while (lagsS.length < JOBS && timeline.nowMs() < beginsMs + MOST_S * 1000) timeline.step();
  expect(lagsS.length).toBe(JOBS);
  // A poll does not read the stored input, because prompts can be long and jobs can run for a long time.
  expect(inputsRead).toBe(0);

  const sorted = lagsS.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(JOBS * 0.99)] ?? Number.POSITIVE_INFINITY;
  const perSecond = new Map<number, number>();
  for (const atMs of pollsAtMs) {
    const second = Math.floor((atMs - beginsMs) / 1000);
    if (second >= 30 && second < ENDS_S[0]) perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
  }
  const busy = [...perSecond.values()];
  const mean = busy.reduce((sum, n) => sum + n, 0) / busy.length;
  expect(p99).toBeLessThan(LONGEST_PAUSE_S + 1);
  expect(sorted.at(-1)).toBeLessThan(LONGEST_PAUSE_S + 2);
  expect(Math.max(...busy)).toBeLessThan(mean * 2);
}, 120_000);
