// An attempt that begins with a free slot: it is committed and sent at once, unless a drain begins.
import { expect, test } from "bun:test";
import type { Effect, GenerationEvent } from "../../actors/generation/types.ts";
import { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { SupervisorDeps } from "../../actors/supervisor/types.ts";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import { type ApplyTransition, appliedEvents, type TransitionResult } from "../../src/domain/transition.ts";
import type { PlannedRoute } from "../../src/domain/types.ts";

const PLAN: PlannedRoute[] = [{ routeId: "r", timeoutMs: 600_000, priceCredits: 10, onLost: "next", onRefusal: "next" }];
const QUEUED = { seq: 1, id: "gen_a", accountSeq: 1, plan: PLAN, waitEndsAtMs: 1e9, awaitsPins: false };

const open = () => {
  const committed: string[] = [];
  const performed: string[] = [];
  const freed: number[] = [];
  const disk = { isFull: false };
  const space = Promise.withResolvers<void>();
  const deps = {
    clock: { nowMs: () => 1000, after: () => () => undefined },
    lastAliveMs: 0,
    limits: { maxRunning: 10, maxRunningOf: () => 10, maxLiveActors: 10, collectMs: 1, keepFilesMs: 1 },
    post: async (mutation: ApplyTransition): Promise<TransitionResult> => {
      if (disk.isFull) throw new StoreFull("full");
      committed.push(
        appliedEvents(mutation)
          .map(({ event }) => event.type)
          .join(" + "),
      );
      return { kind: "stepped", record: { seq: 1, completedAtMs: null } } as unknown as TransitionResult;
    },
    space: () => space.promise,
    writesRejectedAtMs: () => null,
    unfinished: async () => [{ ...QUEUED, status: "queued", createdAtMs: 0, version: 0, snapshot: null, deadline: null }],
    unread: async () => undefined,
    gate: () => ({ kind: "open", spec: { routeId: "r", provider: "p" }, watchMs: 1 }),
    takingUp: (_: unknown, restore: () => void) => restore(),
    breathe: async () => undefined,
    prepare: (_: number, { n, atMs }: Extract<GenerationEvent, { type: "begun" }>) => ({
      type: "slotTaken",
      n,
      request: "x",
      atMs,
    }),
    freeSlot: (_: number, n: number) => void freed.push(n),
    perform: (_: number, effect: Effect) => void performed.push(effect.type),
    ...{ lateReport: () => undefined, stepped: () => undefined, foundParked: () => undefined, stopped: () => undefined },
  } as unknown as SupervisorDeps;
  return { supervisor: new Supervisor(deps), committed, performed, freed, disk, space };
};
const settle = async () => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

test("begin and sending are one transaction, after which the attempt is sent and nothing else is performed", async () => {
  const { supervisor, committed, performed } = open();
  supervisor.admitted(QUEUED);
  await settle();
  expect(committed).toEqual(["begun + slotTaken"]);
  expect(performed).toEqual(["effect.send"]);
});

test("an attempt that was prepared before a full disk is not sent when there is space again during a drain", async () => {
  const { supervisor, committed, performed, freed, disk, space } = open();
  disk.isFull = true;
  supervisor.admitted(QUEUED);
  await settle();
  supervisor.drain();
  disk.isFull = false;
  space.resolve();
  await settle();
  expect(committed).toEqual(["begun"]);
  expect(performed).toEqual(["effect.submit"]);
  expect(freed).toEqual([1]);
});

const ACCEPTED: GenerationEvent = { type: "accepted", n: 1, job: { jobId: "job-1" }, atMs: 900 };
const CANCELLED: GenerationEvent = { type: "cancelRequested", by: "key-1", decidedAtMs: 900, atMs: 900 };

test("a queued generation keeps its place when a response to an attempt that it does not have waits for it", async () => {
  const { supervisor, committed } = open();
  await supervisor.recover(undefined, new Map([[1, [ACCEPTED]]]));
  supervisor.resume();
  await settle();
  expect(committed).toEqual(["begun + slotTaken"]);
});

test("a queued generation takes a cancellation that waits for it before it begins", async () => {
  const { supervisor, committed, performed, freed } = open();
  await supervisor.recover(undefined, new Map([[1, [CANCELLED]]]));
  supervisor.resume();
  await settle();
  expect([committed[0], performed.includes("effect.send")]).toEqual(["cancelRequested", false]);
  expect(freed).toEqual([]);
});
