// A scene of the life of a generation: a harness with a small catalogue, and how everything is looked at when it has ended.
import { expect, onTestFinished, setDefaultTimeout } from "bun:test";
import type { Attempt, MediaKind } from "../../src/domain/types.ts";
import { MOVING_MS } from "../eventually.ts";
import { type Harness, type HarnessOptions, openHarness, type Shown, type Tenant } from "../harness.ts";
import { catalogueOf, FAL, INPUT, MODEL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";

export type Scene = Harness & {
  /** Submits the model of the scene. */
  begin(more?: Parameters<Harness["submit"]>[2]): Promise<Shown>;
  /** Another account's generation, whose job on a route (the first) never ends, or ends after `ms`; resolves when it is there. */
  occupy(more?: { on?: string; ms?: number }): Promise<string>;
  /** The states it has rested in, in order. */
  states(id: string): Promise<string[]>;
  attempts(id: string): Promise<Attempt[]>;
  /** Waits until the attempts are in these states, in order. */
  untilAttempts(id: string, ...states: string[]): Promise<Attempt[]>;
  /** The same as `eventually`, with time moved on by `ms` at every look: for what waits for pauses, not for deadlines. */
  hurry<T>(look: () => Promise<T | undefined | false | null> | T | undefined | false | null, ms?: number): Promise<T>;
  /** Names of the routes whose provider received a submission, in order. */
  received(): string[];
  seqOf(id: string): Promise<number>;
};

export type SceneOptions = HarnessOptions & { routes?: readonly TestRoute[]; files?: number; allFiles?: true; kind?: MediaKind };

// What does not come about is told by the harness itself, before the runner gives up.
setDefaultTimeout(60_000);

/** Opens a harness that is verified and closed at the end of the test. */
export const openScene = async ({
  routes = [FAL, REPLICATE, SPARE],
  files = 1,
  kind = "image",
  allFiles,
  ...options
}: SceneOptions = {}): Promise<Scene> => {
  const harness = await openHarness({ catalogue: catalogueOf(routes, files, kind, allFiles), ...options });
  // Not a hook of this module, which would be of the first file alone that imports it.
  onTestFinished(() => harness.close());
  const seqOf = async (id: string) => (await harness.store.findGeneration(id))?.seq ?? 0;
  const attempts = async (id: string) => harness.store.attemptsOf(await seqOf(id));
  return {
    ...harness,
    begin: (more) => harness.submit(MODEL, INPUT, more),
    occupy: async ({ on = routes[0]?.name, ms } = {}) => {
      const about = { endpoint: `${MODEL}/${on}`, prompt: "takes the seat" };
      harness.simulator.script(ms === undefined ? { fault: "stuck", ...about } : { fault: "late-ms", ms, ...about });
      harness.simulator.script({ fault: "fail", prompt: about.prompt });
      const { key } = await harness.newTenant();
      const body = { model: MODEL, input: { prompt: about.prompt } };
      const answered = await harness.ask("POST", "/v1/generations", { key, body });
      expect(answered.status).toBe(202);
      const id = String(answered.body.id);
      await harness.eventually(async () => {
        const last = (await attempts(id)).at(-1);
        return last?.state === "accepted" && last.route.endpoint === about.endpoint;
      }, "the job that takes the seat");
      return id;
    },
    states: async (id) => (await harness.store.journalOf(await seqOf(id))).map(({ stateAfter }) => stateAfter),
    attempts,
    untilAttempts: (id, ...states) =>
      harness.eventually(
        async () => {
          const all = await attempts(id);
          return all.map(({ state }) => state).join() === states.join() && all;
        },
        `attempts ${states.join(", ")}`,
      ),
    hurry: (look, ms = 1000) =>
      harness.eventually(
        () => {
          harness.clock.skip(ms);
          return look();
        },
        undefined,
        MOVING_MS,
      ),
    received: () => harness.simulator.submissions().map(({ endpoint }) => endpoint.slice(`${MODEL}/`.length)),
    seqOf,
  };
};

export const INITIAL_CREDITS = 100_000;

/** How a generation ends, from the API to the provider's log. */
export type End = {
  /** Credits charged: the generation succeeded; or the code it failed with. */
  ends: number | string;
  /** States of the attempt rows, in order. */
  attempts: string[];
  /** Routes whose provider received a submission, in order. */
  received: string[];
};

/** Holds an ended generation against what was promised, and the account against its charge. */
export const expectEnd = async (scene: Scene, id: string, { ends, attempts, received }: End, tenant?: Tenant): Promise<Shown> => {
  const shown = await scene.until(id);
  const charged = typeof ends === "number" ? ends : 0;
  expect({
    status: shown.status,
    attempts: shown.attempts,
    cost: shown.cost_usd,
    reserved: shown.reserved_usd,
    message: shown.message,
    code: shown.error?.code,
    files: shown.output === null ? null : shown.output.urls.length > 0,
  }).toEqual({
    status: typeof ends === "number" ? "succeeded" : "failed",
    attempts: attempts.length,
    cost: charged / 100,
    reserved: null,
    message: undefined,
    code: typeof ends === "number" ? undefined : ends,
    files: typeof ends === "number" ? true : null,
  });
  expect(shown.completed_at).not.toBeNull();
  if (shown.error) expect(shown.error.message).not.toMatch(/fal|replicate|spare|key/i);
  expect((await scene.attempts(id)).map(({ state }) => state as string)).toEqual(attempts);
  expect(scene.received()).toEqual(received);
  expect(await scene.balance(tenant)).toEqual({
    available: INITIAL_CREDITS - charged,
    held: 0,
    charged,
    inProgress: 0,
  });
  return shown;
};
