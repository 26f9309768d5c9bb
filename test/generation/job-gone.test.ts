// "No such job" is believed after a minute of such answers, counted from question to question: a process that stood still reads an old answer late.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import type { Finding } from "../../src/effects/job-lookup.ts";
import { createPoll } from "../../src/effects/poll.ts";
import type { Task, TaskRunner, TaskStep } from "../../src/effects/task-runner.ts";
import { testClock } from "../clock.ts";

/** Polls of one job whose provider says each time that it knows none; `whileAskedMs`: what passes between each question and the reading of its answer. */
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
    ...{ clock, pace: 1, chance: () => 0.5, judge: () => undefined, log: () => undefined },
    reads: { attempt: async () => ({ n: 1, route: { routeId: "m/p", provider: "p" }, job: { jobId: "j" }, watchUntilMs: null }) },
    providers: {
      traits: () => ({ pollEveryMs: [2_000, 10_000] }),
      poll: async () => {
        clock.skip(whileAskedMs);
        return { kind: "gone" };
      },
    },
    report: (_seq: number, event: GenerationEvent) => void reported.push(event),
  } as unknown as EffectsDeps;
  createPoll(parts, tasks, {} as Finding).poll(1, 1);
  const task: Task = { seq: 1, n: 1, signal: new AbortController().signal, pause: async () => undefined };
  // The first turn only says when the first question is due.
  await turn?.(task);
  for (const { afterMs, whileAskedMs: ms } of turns) {
    clock.skip(afterMs);
    whileAskedMs = ms;
    await turn?.(task);
  }
  return reported;
};

const AT_ONCE = { afterMs: 5_000, whileAskedMs: 30 };

test("three answers within ten seconds, the last of them read after 70 s of standing still, prove nothing", async () => {
  expect(await polled([AT_ONCE, AT_ONCE, { afterMs: 5_000, whileAskedMs: 70_000 }])).toEqual([]);
});

test("nor does a first answer that was read late begin the minute before it was read", async () => {
  expect(await polled([{ afterMs: 5_000, whileAskedMs: 70_000 }, AT_ONCE, AT_ONCE])).toEqual([]);
});

test("the next question, a minute after the first answer, does", async () => {
  const reported = await polled([AT_ONCE, AT_ONCE, { afterMs: 5_000, whileAskedMs: 70_000 }, AT_ONCE]);
  expect(reported).toMatchObject([{ type: "jobFailed", failure: { class: "gone" } }]);
});
