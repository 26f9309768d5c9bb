// Crash loop guard: parks a generation after five starts that died in its recovery.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parkingOf } from "../../actors/supervisor/park.ts";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import type { OpenGeneration } from "../../src/domain/transition.ts";
import { createCrashLoopGuard } from "../../src/generations/crash-loop-guard.ts";
import type { Store } from "../../src/store/store.ts";
import { type TestClock, testClock } from "../clock.ts";
import { catalogueOf, FAL, INPUT, MODEL } from "../generation/catalogue.ts";
import { type Harness, openHarness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";
import { stepMutation, violations } from "./fixture.ts";
import { openHere } from "./open-store.ts";

let dir: string;
let clock: TestClock;
/** Row numbers of generations that poll jobs which never end, in order. */
let running: number[];

const open = (): Promise<Harness> => openHarness({ dir, catalogue: catalogueOf([FAL]) });

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "loop-"));
  clock = testClock(1000);
  const harness = await open();
  harness.simulator.script({ fault: "stuck" });
  running = [];
  for (let i = 0; i < 4; i += 1) {
    const { id } = await harness.submit(MODEL, INPUT);
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    await harness.eventually(async () => (await harness.store.attempt(seq, 1))?.state === "accepted");
    running.push(seq);
  }
  await harness.crash();
});
afterEach(() => {
  clock.stop();
  dropScratch(dir);
});

class Died extends Error {}
const isParked = ({ snapshot }: OpenGeneration) => snapshot?.includes('"parked"') ?? false;
const withStore = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openHere({ path: join(dir, "genrouter.db"), mode: "test" });
  const answer = await work(store);
  await store.close();
  return answer;
};
const parked = () =>
  withStore(async (store) => (await store.unfinished(0, 100)).filter(isParked).map(({ seq }) => running.indexOf(seq)));

/** One lifetime of the process: it dies when it resumes a generation of `deadly` or after recovery, or it stops cleanly. */
const live = async (deadly: readonly number[], end: "dies after recovery" | "stops" = "stops"): Promise<number[]> =>
  withStore(async (store) => {
    const loop = createCrashLoopGuard({
      clock,
      noted: store.recoveryNote,
      commit: store.commit,
      unfinished: store.unfinished,
      snapshotOf: store.snapshotOf,
      failed: (_, fault) => {
        throw fault;
      },
      parkingOf,
    });
    const taken: number[] = [];
    try {
      await loop.begin();
      for (const found of await store.unfinished(0, 100))
        loop.takingUp(found, () => {
          taken.push(running.indexOf(found.seq));
          if (!isParked(found) && deadly.includes(running.indexOf(found.seq))) throw new Died();
        });
      await loop.recovered();
      if (end === "stops") await loop.stopped();
    } catch (fault) {
      if (!(fault instanceof Died)) throw fault;
    }
    return taken;
  });
const lives = async (times: number, ...how: Parameters<typeof live>): Promise<void> => {
  for (let i = 0; i < times; i += 1) await live(...how);
};

test("suspects a generation after two deaths, resumes it last, and parks it after five deaths in its recovery", async () => {
  await lives(2, [2]);
  expect(await live([2])).toEqual([0, 1, 2]);
  // The suspect is resumed after all others have proved harmless.
  for (let i = 0; i < 4; i += 1) expect(await live([2])).toEqual([0, 1, 3, 2]);
  expect(await parked()).toEqual([]);
  expect(await live([2])).toEqual([0, 1, 2, 3]);
  expect(await parked()).toEqual([2]);
});

test("finds two generations that cause a crash loop, and parks no other", async () => {
  await lives(12, [0, 3]);
  expect(await live([0, 3])).toEqual([0, 1, 2, 3]);
  expect(await parked()).toEqual([0, 3]);
});

test("resets the count after a start that completes recovery and stops cleanly", async () => {
  await lives(6, [1]);
  await live([]);
  await lives(6, [1]);
  await live([], "stops");
  await lives(6, [1]);
  expect(await parked()).toEqual([]);
});

test("parks nothing after clean restarts or after deaths that follow recovery", async () => {
  await lives(12, []);
  await lives(12, [], "dies after recovery");
  expect(await live([])).toEqual([0, 1, 2, 3]);
  expect(await parked()).toEqual([]);
});

test("parks nothing when each start dies at another generation", async () => {
  for (let i = 0; i < 12; i += 1) await live([i % 4]);
  expect(await parked()).toEqual([]);
});

test("parks nothing when the process is killed from outside at regular intervals", async () => {
  await fetching(1);
  clock.stop();
  clock = testClock(20);
  const killedAfterMs = 1500;
  for (let start = 0; start < 12; start += 1)
    await withStore(async (store) => {
      const { recoveryNote: noted, commit, unfinished, snapshotOf } = store;
      const bornMs = clock.nowMs();
      // After its death the process writes nothing more.
      const lives = () => {
        if (clock.nowMs() > bornMs + killedAfterMs) throw new Died();
      };
      const loop = createCrashLoopGuard({
        ...{ clock, noted, unfinished, parkingOf },
        commit: async (mutations) => {
          lives();
          return commit(mutations);
        },
        snapshotOf: async (seq) => {
          lives();
          return snapshotOf(seq);
        },
        failed: (_, fault) => {
          throw fault;
        },
      });
      await loop.begin();
      for (const found of await store.unfinished(0, 100)) loop.takingUp(found, () => undefined);
      await loop.recovered().catch((fault: unknown) => {
        if (!(fault instanceof Died)) throw fault;
      });
    });
  expect(await parked()).toEqual([]);
});

/** Puts a generation into the state in which its result is fetched. */
const fetching = (index: number) =>
  withStore(async (store) => {
    const [found] = await store.unfinished((running[index] ?? 0) - 1, 1);
    if (!found?.snapshot) throw new Error("no snapshot");
    const snapshot = found.snapshot.replace('"polling"', '{"collecting":"fetching"}');
    const step = stepMutation(found.seq, found.version + 1, { stateAfter: "running.collecting.fetching", snapshot });
    expect(await store.commit([step])).toMatchObject([{ kind: "stepped" }]);
  });

test("parks a generation whose result kills the process shortly after the generation was resumed", async () => {
  await fetching(1);
  // Two seconds of service time are long enough for a busy machine to poll once.
  clock.stop();
  clock = testClock(20);
  // The process dies while it reads the fetched bytes. If all generations resume at once, that is after recovery.
  const liveAndDie = async () =>
    withStore(async (store) => {
      let dies = false;
      const ticking: Store["snapshotOf"] = async (seq) => {
        if (dies) throw new Died();
        return store.snapshotOf(seq);
      };
      const { recoveryNote: noted, commit, unfinished } = store;
      const failed = (_: unknown, fault: unknown) => {
        throw fault;
      };
      const loop = createCrashLoopGuard({ clock, noted, commit, unfinished, snapshotOf: ticking, parkingOf, failed });
      await loop.begin();
      try {
        for (const found of await store.unfinished(0, 100))
          loop.takingUp(found, () => {
            dies ||= found.seq === running[1] && !isParked(found);
          });
        // The death falls into the time that a recovery with such a result has to survive.
        await loop.recovered();
        if (dies) throw new Died();
      } catch (fault) {
        if (!(fault instanceof Died)) throw fault;
      }
    });
  for (let i = 0; i < 7; i += 1) await liveAndDie();
  expect(await parked()).toEqual([]);
  await liveAndDie();
  expect(await parked()).toEqual([1]);
});

test("keeps the hold of a parked generation, reports it in a gauge and in verify, and continues the others", async () => {
  await lives(8, [1]);
  const harness = await open();
  const [row] = (await violations(harness.store, harness.clock.nowMs())).flatMap(({ offending }) => offending);
  expect(row).toMatchObject({ fault: expect.stringContaining("parked: its hold remains") });
  const id = String(row?.generation);
  expect([harness.components.readiness().ready, harness.components.stuck.count("parked")]).toEqual([true, 1]);
  const record = await harness.store.findGeneration(id);
  expect(record).toMatchObject({
    seq: running[1],
    status: "running",
    message: expect.stringContaining("operator"),
    costCredits: null,
  });
  const accounts = await harness.store.accounts();
  expect(accounts.map(({ heldCredits, inProgress }) => [heldCredits, inProgress])).toContainEqual([80, 4]);
  const last = (await harness.store.eventsOf(running[1] ?? 0)).at(-1);
  expect(last?.event).toEqual({
    type: "parked",
    reason: expect.stringMatching(/^\d consecutive starts ended during its recovery$/),
  });
  expect(harness.components.supervisor.counts().deadlines).toBe(3);
  await harness.crash();
});

test("stores a recovery note at the start, and clears it after recovery", async () => {
  const settings = readSettings({ GENROUTER_DATA__DIR: dir, GENROUTER_SERVER__PORT: "0", GENROUTER_CATALOGUE__DIR: "" });
  const notes: string[] = [];
  const service = await createServer(settings, {
    simulate: true,
    telemetry: testTelemetry(),
    around: (store) => ({
      ...store,
      commit: (mutations) => {
        for (const mutation of mutations) if (mutation.mutation === "note-recovery") notes.push(mutation.text);
        return store.commit(mutations);
      },
    }),
  });
  expect(notes).toEqual([
    '{"deaths":1,"seq":null,"without":null,"suspects":[]}',
    '{"deaths":0,"seq":null,"without":null,"suspects":[]}',
  ]);
  await service.drain();
  expect(await withStore((store) => store.recoveryNote())).toBe('{"deaths":0,"seq":null,"without":null,"suspects":[]}');
});

test.each([
  ["a later version with another context", '{"v":2,"value":{"running":"polling"},"memory":{"x":1}}'],
  ["this version without a context", '{"v":1,"value":{"running":"polling"},"memory":{}}'],
  ["no JSON", "damaged"],
])("a snapshot of %s stops its generation only, and the service starts", async (_, snapshot) => {
  const [seq = 0] = running;
  await withStore(async (store) => {
    const found = (await store.unfinished(0, 100)).find((one) => one.seq === seq);
    await store.commit([stepMutation(seq, (found?.version ?? 0) + 1, { snapshot })]);
  });
  const settings = readSettings({ GENROUTER_DATA__DIR: dir, GENROUTER_SERVER__PORT: "0", GENROUTER_CATALOGUE__DIR: "" });
  const stopped: unknown[] = [];
  const telemetry = testTelemetry((event, fields) => {
    if (event === "generation stopped") stopped.push(fields?.generation_id);
  });
  const service = await createServer(settings, { simulate: true, telemetry });
  const ids = (await service.reads.unfinished(0, 100)).filter((one) => one.seq === seq).map(({ id }) => id);
  expect(ids).toHaveLength(1);
  expect(stopped).toEqual(ids);
  await service.drain();
});
