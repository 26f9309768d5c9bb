// Tests of "no such job" responses: a job counts as gone after a minute of them, measured between the requests.
// A stalled process reads an old response late, so the time of reading does not count.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import { createCollect } from "../../src/effects/collect.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import type { Finding } from "../../src/effects/job-lookup.ts";
import { createPoll } from "../../src/effects/poll.ts";
import type { Task, TaskRunner, TaskStep } from "../../src/effects/task-runner.ts";
import { testClock } from "../clock.ts";

/** Polls a job that the provider reports as unknown. `whileAskedMs` passes between a request and the reading of its response. */
const polled = async (turns: readonly { afterMs: number; whileAskedMs: number }[]): Promise<GenerationEvent[]> => {
  const clock = testClock();
  const reported: GenerationEvent[] = [];
  let turn: ((task: Task) => Promise<number | null>) | undefined;
  const tasks = {
    repeat: <Memory>(_seq: number, _n: number, _kind: string, memory: Memory, once: TaskStep<Memory>) => {
      turn = (task) => once(task, memory);
    },
  } as unknown as TaskRunner;
  let whileAskedMs = 0;
  const parts = {
    ...{
      clock,
      noticed: () => undefined,
      usualEnd: () => undefined,
      pace: 1,
      chance: () => 0.5,
      judge: () => undefined,
      log: () => undefined,
    },
    reads: {
      attempt: async () => ({
        n: 1,
        route: { routeId: "m/p", provider: "p" },
        job: { jobId: "j" },
        results: null,
        watchUntilMs: null,
      }),
    },
    providers: {
      traits: () => ({ pollEveryMs: [2_000, 10_000], pollLeastMs: 1_000 }),
      poll: async () => {
        clock.skip(whileAskedMs);
        return { kind: "gone" };
      },
    },
    report: (_seq: number, event: GenerationEvent) => void reported.push(event),
  } as unknown as EffectsDeps;
  createPoll(parts, tasks, { finding: {} as Finding, collecting: createCollect(parts, tasks) }).poll(1, 1);
  const task: Task = { seq: 1, n: 1, signal: new AbortController().signal, pause: async () => undefined };
  // The first turn only returns when the first request is due.
  await turn?.(task);
  for (const { afterMs, whileAskedMs: ms } of turns) {
    clock.skip(afterMs);
    whileAskedMs = ms;
    await turn?.(task);
  }
  return reported;
};

const AT_ONCE = { afterMs: 5_000, whileAskedMs: 30 };

test("does not report a job as gone after three responses within ten seconds, the last read after a stall of 70 s", async () => {
  expect(await polled([AT_ONCE, AT_ONCE, { afterMs: 5_000, whileAskedMs: 70_000 }])).toEqual([]);
});

test("does not report a job as gone when the first of three responses was read after a stall of 70 s", async () => {
  expect(await polled([{ afterMs: 5_000, whileAskedMs: 70_000 }, AT_ONCE, AT_ONCE])).toEqual([]);
});

test("reports a job as gone when a request more than a minute after the first one gets the same response", async () => {
  const reported = await polled([AT_ONCE, AT_ONCE, { afterMs: 5_000, whileAskedMs: 70_000 }, AT_ONCE]);
  expect(reported).toMatchObject([{ type: "jobFailed", failure: { class: "gone" } }]);
});
