// Tests of a late result in each state of the next attempt: only it is charged, and the other job is an orphan.
import { expect, test } from "bun:test";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";
import { type End, expectEnd, openScene, type Scene } from "./fixture.ts";

const LATE_MS = 900_000;
const REST_MS = 320_000;

/** Skips past the cap of the first attempt, whose job ends later. */
const capFirst = async (scene: Scene): Promise<string> => {
  scene.simulator.script({ fault: "late-ms", ms: LATE_MS, endpoint: "life/fal", times: 1 });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  scene.clock.skip(600_000);
  return id;
};
const lastState = async (scene: Scene, id: string) => (await scene.states(id)).at(-1);

type Row = {
  meanwhile: string;
  rests: string;
  routes?: TestRoute[];
  before?: (scene: Scene) => Promise<unknown>;
  rules?: Rule[];
  end: Pick<End, "attempts" | "received">;
  /** Attempts that `orphans` lists at the end, with the fate of each. */
  orphans: [n: number, fate: string][];
};

const ROWS: Row[] = [
  {
    meanwhile: "waits for a place in the run queue",
    rests: "running.awaitingSlot",
    routes: [FAL, { ...REPLICATE, maxRunning: 1, timeoutS: 2400 }],
    before: (scene) => scene.occupy({ on: "replicate" }),
    end: { attempts: ["delivered"], received: ["fal", "replicate", "fal"] },
    orphans: [],
  },
  {
    meanwhile: "backs off after a 429",
    rests: "running.backingOff",
    rules: [{ fault: "429", retry_after_s: 550, provider: "replicate" }],
    end: { attempts: ["delivered", "cancelled"], received: ["fal", "replicate"] },
    orphans: [],
  },
  {
    meanwhile: "is being submitted and has no response",
    rests: "running.submitting.sending",
    rules: [{ fault: "hang", provider: "replicate" }],
    end: { attempts: ["delivered", "superseded"], received: ["fal", "replicate"] },
    orphans: [[2, "unknown"]],
  },
  {
    meanwhile: "is being confirmed after a lost response",
    rests: "running.confirming.acceptance",
    routes: [FAL, { ...REPLICATE, confirmS: 600 }, SPARE],
    rules: [
      { fault: "drop-after", provider: "replicate" },
      { fault: "list-5xx", provider: "replicate" },
      { fault: "stuck", provider: "replicate" },
    ],
    end: { attempts: ["delivered", "superseded"], received: ["fal", "replicate"] },
    orphans: [[2, "unknown"]],
  },
];

for (const { meanwhile, rests, routes = [FAL, REPLICATE, SPARE], before, rules = [], end, orphans } of ROWS)
  test(`charges only the late result that arrives while the next attempt ${meanwhile}`, async () => {
    const scene = await openScene({ routes });
    for (const rule of rules) scene.simulator.script(rule);
    await before?.(scene);
    const id = await capFirst(scene);
    await scene.eventually(async () => (await lastState(scene, id)) === rests, rests);
    scene.clock.skip(REST_MS);
    await expectEnd(scene, id, { ends: 20, ...end });
    const listed = (await scene.store.orphans(0)).filter(({ generationId }) => generationId === id);
    expect(listed.map(({ n, fate }) => [n, fate] as [number, string])).toEqual(orphans);
    const kinds = (await scene.store.transfersOf(await scene.seqOf(id))).map(({ kind, attemptN }) => [kind, attemptN]);
    expect(kinds.slice(0, 2)).toEqual([
      ["hold", null],
      ["capture", 1],
    ]);
  });

test("lists a capped attempt as an orphan until its result is charged and the other job is cancelled", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  const ofThis = async () => (await scene.store.orphans(0)).map(({ generationId, n, isWatched }) => [generationId, n, isWatched]);
  expect(await ofThis()).toEqual([[id, 1, true]]);
  scene.clock.skip(REST_MS);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered", "superseded"], received: ["fal", "replicate"] });
  await scene.eventually(async () => (await ofThis()).length === 0, "an empty list");
});

test("charges a late result once and changes nothing when its events are reported again after the end", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  scene.clock.skip(REST_MS);
  await scene.until(id);
  const seq = await scene.seqOf(id);
  await scene.eventually(async () => (await scene.attempts(id))[1]?.watchUntilMs === null, "the end of the watch");
  const before = [await scene.show(id), await scene.store.transfersOf(seq), await scene.attempts(id), await scene.states(id)];
  const reported = (await scene.store.eventsOf(seq)).filter(
    ({ event }) => event.type === "announced" || event.type === "collected",
  );
  expect(reported.map(({ event }) => [event.type, event.n] as [string, unknown])).toEqual([
    ["announced", 1],
    ["collected", 1],
  ]);
  for (const { event } of [...reported, ...reported])
    scene.components.supervisor.report(seq, { ...event, atMs: scene.clock.nowMs() } as unknown as GenerationEvent);
  await scene.components.ledger.idle();
  await scene.components.post({ mutation: "beat", atMs: scene.clock.nowMs() });
  const [shown, ...rest] = [
    await scene.show(id),
    await scene.store.transfersOf(seq),
    await scene.attempts(id),
    await scene.states(id),
  ];
  const bare = (of: typeof shown) => ({ ...of, output: null });
  expect([bare(shown), ...rest] as unknown).toEqual([bare(before[0] as typeof shown), ...before.slice(1)]);
  expect(scene.lines.map(({ event }) => event)).not.toContain("late result received");
});

test("charges a late result once when it is announced twice before its files are downloaded", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck", provider: "replicate" });
  const id = await capFirst(scene);
  await scene.untilAttempts(id, "capped", "accepted");
  const seq = await scene.seqOf(id);
  scene.clock.skip(REST_MS);
  const announced = await scene.eventually(
    async () => (await scene.store.eventsOf(seq)).find(({ event }) => event.type === "announced"),
    "the announcement",
  );
  scene.components.supervisor.report(seq, { ...announced.event, atMs: scene.clock.nowMs() } as unknown as GenerationEvent);
  await expectEnd(scene, id, { ends: 20, attempts: ["delivered", "superseded"], received: ["fal", "replicate"] });
  expect((await scene.store.transfersOf(seq)).map(({ kind }) => kind)).toEqual(["hold", "capture", "release"]);
});
