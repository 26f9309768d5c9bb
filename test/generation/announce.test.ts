// A result that a poll has shown: committed together with its delivery if the download is quick, and never lost.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Attempt } from "../../src/domain/types.ts";
import { createCollect } from "../../src/effects/collect.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createTaskRunner } from "../../src/effects/task-runner.ts";
import type { CollectOutcome } from "../../src/media/port.ts";
import { createTimeline } from "../../src/torture/simulation/timeline.ts";
import { taskFor } from "../providers/task.ts";

const RESULTS = [{ url: "https://files.example/1.png" }];
const COLLECTED = { kind: "collected", output: { kind: "image", files: [] } } as unknown as CollectOutcome;
const UNREADABLE: CollectOutcome = { kind: "unreadable", detail: "its server answers 404" };
const HOUR_MS = 3_600_000;

/** An attempt whose poll shows a result, and downloads of a given duration and outcome. */
const open = ({
  takesMs,
  outcome = COLLECTED,
  leftMs = HOUR_MS,
}: {
  takesMs: number;
  outcome?: CollectOutcome;
  leftMs?: number;
}) => {
  const timeline = createTimeline();
  const reported: string[] = [];
  let downloads = 0;
  const beganAtMs = timeline.nowMs();
  const attempt: Attempt = {
    ...taskFor({}).attempt,
    ref: "a-1",
    results: RESULTS,
    endsAtMs: beganAtMs + leftMs,
    sentAtMs: beganAtMs,
  };
  const deps = {
    ...{ clock: timeline, pace: 1, chance: () => 0.5, log: () => undefined, judge: () => undefined, delivered: () => undefined },
    reads: { attempt: async () => attempt, orderedOf: async () => null },
    media: {
      keepInline: async (_: string, results: unknown) => results,
      collect: (_: unknown, signal: AbortSignal) =>
        new Promise<CollectOutcome>((end) => {
          downloads += 1;
          const cancel = timeline.after(takesMs, () => end(outcome));
          signal.addEventListener("abort", () => {
            cancel();
            end({ kind: "unreadable", detail: "the time was over" });
          });
        }),
    },
    report: (_: number, ...events: GenerationEvent[]) => void reported.push(events.map(({ type }) => type).join(" + ")),
  } as unknown as EffectsDeps;
  const tasks = createTaskRunner(timeline, () => undefined);
  const collecting = createCollect(deps, tasks);
  const turns = async () => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  };
  /** Lets virtual time pass. */
  const pass = async (ms: number) => {
    const untilMs = timeline.nowMs() + ms;
    timeline.after(ms, () => undefined);
    for (await turns(); timeline.nowMs() < untilMs; await turns()) timeline.step();
    await turns();
  };
  tasks.run(1, 1, "poll", (task) => collecting.announce(task, attempt, RESULTS));
  return { reported, downloads: () => downloads, pass, tasks, collecting };
};

test("commits a result together with its delivery if the files arrive within 300 ms", async () => {
  const { reported, pass } = open({ takesMs: 299 });
  await pass(1_000);
  expect(reported).toEqual(["announced + collected"]);
});

test("commits the result alone after 300 ms, and delivers what the same download brings", async () => {
  const { reported, downloads, pass, collecting } = open({ takesMs: 2_000 });
  await pass(310);
  expect(reported).toEqual(["announced"]);
  collecting.collect(1, 1);
  await pass(2_000);
  expect(reported).toEqual(["announced", "collected"]);
  expect(downloads()).toBe(1);
});

test("commits the result alone if its files cannot be read, so that they are requested again", async () => {
  const { reported, downloads, pass, collecting } = open({ takesMs: 10, outcome: UNREADABLE });
  await pass(20);
  expect(reported).toEqual(["announced"]);
  collecting.collect(1, 1);
  await pass(20);
  expect(reported).toEqual(["announced", "resultUnreadable"]);
  expect(downloads()).toBe(1);
});

test("reports the result when the attempt is given up or cancelled during its download", async () => {
  const { reported, pass, tasks } = open({ takesMs: 200 });
  await pass(100);
  tasks.letGo(1, 1);
  await pass(500);
  expect(reported).toEqual(["announced"]);
});

test("does not wait for the files if the time of the attempt could end meanwhile", async () => {
  const { reported, downloads, pass } = open({ takesMs: 10, leftMs: 500 });
  await pass(1);
  expect([reported, downloads()]).toEqual([["announced"], 0]);
});

test("downloads again after a cancellation of the first download", async () => {
  const { reported, downloads, pass, tasks, collecting } = open({ takesMs: 2_000 });
  await pass(310);
  tasks.letGo(1, 1);
  await pass(1);
  collecting.collect(1, 1);
  await pass(2_100);
  expect(reported).toEqual(["announced", "collected"]);
  expect(downloads()).toBe(2);
});

test("reports nothing after the process has begun to stop", async () => {
  const { reported, pass, tasks, collecting } = open({ takesMs: 200 });
  await pass(100);
  collecting.stop();
  await tasks.stopAll();
  await pass(500);
  expect(reported).toEqual([]);
});
