// Fixture of the generation tests: a harness with a small catalogue, and the checks of an ended generation.
import { expect, onTestFinished, setDefaultTimeout } from "bun:test";
import type { Attempt, MediaKind } from "../../src/domain/types.ts";
import { MOVING_MS } from "../eventually.ts";
import { type GenerationResource, type Harness, type HarnessOptions, openHarness, type Tenant } from "../harness.ts";
import { catalogueOf, FAL, INPUT, MODEL, REPLICATE, SPARE, type TestRoute } from "./catalogue.ts";

export type Scene = Harness & {
  /** Submits a generation of the fixture's model. */
  begin(more?: Parameters<Harness["submit"]>[2]): Promise<GenerationResource>;
  /** Submits another account's generation, whose job on a route (default: the first) never ends or ends after `ms`. */
  occupy(more?: { on?: string; ms?: number }): Promise<string>;
  /** Takes all submission slots of a provider, so that attempts wait in `intent`. @returns the function that frees them */
  fillSlots(provider: string): () => void;
  /** The states of the generation after each event, in order. */
  states(id: string): Promise<string[]>;
  attempts(id: string): Promise<Attempt[]>;
  /** Waits until the attempts are in these states, in order. */
  untilAttempts(id: string, ...states: string[]): Promise<Attempt[]>;
  /** Like `eventually`, but advances the clock by `ms` at every check: for conditions after pauses, not after deadlines. */
  hurry<T>(look: () => Promise<T | undefined | false | null> | T | undefined | false | null, ms?: number): Promise<T>;
  /** Names of the routes whose provider received a submission, in order. */
  received(): string[];
  seqOf(id: string): Promise<number>;
};

export type SceneOptions = HarnessOptions & { routes?: readonly TestRoute[]; files?: number; allFiles?: true; kind?: MediaKind };

// The harness reports a condition that does not occur before this timeout ends the test.
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
  // A hook at module level would run only for the first file that imports this module.
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
      const answered = await harness.request("POST", "/v1/generations", { key, body });
      expect(answered.status).toBe(202);
      const id = String(answered.body.id);
      await harness.eventually(async () => {
        const last = (await attempts(id)).at(-1);
        return last?.state === "accepted" && last.route.endpoint === about.endpoint;
      }, "the job that takes the place");
      return id;
    },
    fillSlots: (provider) => {
      const taken: (() => void)[] = [];
      for (;;) {
        const free = harness.components.providers.trySlot(provider);
        if (free === null) break;
        taken.push(free);
      }
      return () => {
        for (const free of taken.splice(0)) free();
      };
    },
    states: async (id) => (await harness.store.eventsOf(await seqOf(id))).map(({ stateAfter }) => stateAfter),
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

/** The expected end of a generation, from the API to the provider's log. */
export type End = {
  /** The charged credits if it succeeded, or the error code if it failed. */
  ends: number | string;
  /** States of the attempt rows, in order. */
  attempts: string[];
  /** Routes whose provider received a submission, in order. */
  received: string[];
};

/** Compares an ended generation with the expected end, and the balance with its charge. */
export const expectEnd = async (
  scene: Scene,
  id: string,
  { ends, attempts, received }: End,
  tenant?: Tenant,
): Promise<GenerationResource> => {
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
