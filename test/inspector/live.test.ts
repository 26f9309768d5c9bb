// The live inspector on a running service: every actor and every committed event, without prompts.
import { expect, test } from "bun:test";
import type { MutationResult } from "../../src/domain/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { openHarness } from "../harness.ts";
import { connectViewer } from "./viewer.ts";

const CANARY = "canary-4711";

test("shows a generation in every stored state with its event, and then as ended", async () => {
  const harness = await openHarness();
  const eye = await connectViewer(harness);
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:fal:fail]" });
  await harness.until(id);
  await harness.eventually(() => eye.rows.get(id)?.actor === "ended", "the ended actor");
  const { seq } = (await harness.store.findGeneration(id)) ?? { seq: 0 };
  const events = await harness.store.eventsOf(seq);
  const seen = eye.events.filter((event) => event.id === id);
  expect(events.length).toBeGreaterThan(6);
  expect(seen.map(({ type, to, atMs }) => ({ type, to, atMs }))).toEqual(
    events.map(({ event, stateAfter, atMs }) => ({ type: event.type, to: stateAfter, atMs })),
  );
  expect(seen.map(({ from }) => from)).toEqual(["queued", ...events.slice(0, -1).map(({ stateAfter }) => stateAfter)]);
  expect(eye.rows.get(id)).toMatchObject({
    state: "succeeded",
    model: "sim-image-1",
    attempts: 2,
    route: "sim-image-1/replicate",
    account: { id: harness.tenant.accountId, name: "tenant" },
  });
  // The failed route has a circuit breaker, which is listed too.
  await harness.eventually(() => eye.rows.get("route sim-image-1/fal"), "the route's machine");
  expect(eye.rows.get("ledger")?.actor).toBe("live");
  await eye.close();
  await harness.close();
}, 30_000);

test("shows a late viewer every generation that has not ended: running, queued and passivated", async () => {
  const harness = await openHarness({
    factor: 20,
    env: { GENROUTER_LIMITS__MAX_RUNNING: "2", GENROUTER_LIMITS__MAX_LIVE_ACTORS: "1" },
  });
  const submit = () => harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
  const [first, second, third] = [await submit(), await submit(), await submit()];
  await harness.until(second.id, ({ status }) => status === "running");
  const eye = await connectViewer(harness);
  const stands = (id: string) => eye.rows.get(id)?.state;
  await harness.eventually(() => stands(first.id) === "running.polling" && stands(second.id) === "running.polling", "both");
  expect(eye.rows.get(first.id)).toMatchObject({ model: "sim-image-1", route: "sim-image-1/fal", attempts: 1 });
  expect(eye.rows.get(third.id)).toMatchObject({ actor: "none", state: "queued" });
  // One actor more than the limit of actors in memory: the other one is passivated, and its row remains.
  const inMemory = (of: typeof eye) => [first, second].map(({ id }) => of.rows.get(id)?.actor).sort();
  await harness.eventually(() => inMemory(eye)[1] === "none", "a passivated actor");
  const late = await connectViewer(harness);
  await harness.eventually(() => late.rows.get(third.id), "all rows");
  expect(inMemory(late)).toEqual(["live", "none"]);
  expect(late.batches.map(({ counts }) => counts?.generation).findLast((counts) => counts !== undefined)).toEqual({
    queued: 1,
    "running.polling": 2,
  });
  // Every actor is listed, even while the existing ones are still being read.
  const leftOut = [eye, late].flatMap(({ batches }) => batches.flatMap(({ totals }) => totals?.unlisted ?? []));
  expect(leftOut.length).toBeGreaterThan(1);
  expect(new Set(leftOut)).toEqual(new Set([0]));
  await Promise.all([eye.close(), late.close()]);
  await harness.close();
}, 30_000);

test("does not show an event before its commit", async () => {
  let letGo: () => void = () => undefined;
  let isHeld = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations): Promise<MutationResult[]> => {
      if (mutations.some((mutation) => mutation.mutation === "step" && mutation.event.type === "accepted")) {
        isHeld = true;
        await new Promise<void>((resolve) => {
          letGo = resolve;
        });
      }
      return store.commit(mutations);
    },
  });
  const harness = await openHarness({ around });
  const eye = await connectViewer(harness);
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
  await harness.eventually(() => isHeld, "the commit that is held back");
  const late = await connectViewer(harness);
  await harness.eventually(() => late.rows.get(id), "the row");
  for (const one of [eye, late]) expect(one.rows.get(id)?.state).toBe("running.submitting.sending");
  expect(eye.events.some(({ type, id: of }) => type === "accepted" && of === id)).toBe(false);
  letGo();
  await harness.eventually(() => eye.events.some(({ type }) => type === "accepted"), "the accepted event");
  await harness.until(id);
  await Promise.all([eye.close(), late.close()]);
  await harness.close();
}, 30_000);

test("shows the context of the chosen actor, its earlier events, and an empty result for an unknown actor", async () => {
  const harness = await openHarness({ factor: 20 });
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
  const eye = await connectViewer(harness);
  await harness.eventually(() => eye.rows.get(id)?.state === "running.polling", "polling");
  eye.say({ choose: id });
  const chosen = await harness.eventually(() => eye.batches.find((batch) => batch.chosen)?.chosen, "the chosen one");
  expect(chosen).toMatchObject({ id, row: { id }, context: { tried: 1, current: { n: 1, sends: 1 }, watched: [] } });
  // The events before the connection are sent once, from the store.
  const history = await harness.eventually(
    () => eye.batches.find(({ chosen: of }) => of?.history)?.chosen?.history,
    "what was before",
  );
  expect(history.map(({ type, from, to, version }) => [type, from, to, version])).toEqual([
    ["begun", "queued", "running.submitting.intent", 1],
    ["slotTaken", "running.submitting.intent", "running.submitting.sending", 2],
    ["accepted", "running.submitting.sending", "running.polling", 3],
  ]);
  eye.say({ choose: "gen_unknown" });
  const none = await harness.eventually(
    () => eye.batches.find(({ chosen: of }) => of?.id === "gen_unknown")?.chosen,
    "the unknown actor",
  );
  expect(none).toEqual({ id: "gen_unknown", row: null, context: null });
  await eye.close();
  await harness.close();
}, 30_000);

test.each([
  { prompts: "false", shows: false },
  { prompts: "true", shows: true },
])(
  "with inspector.prompts $prompts, a frame contains the prompt and the provider's message: $shows",
  async ({ prompts, shows }) => {
    const harness = await openHarness({ env: { GENROUTER_INSPECTOR__PROMPTS: prompts } });
    const eye = await connectViewer(harness);
    const { id } = await harness.submit("sim-image-1", { prompt: `${CANARY} [sim:refuse]` });
    await harness.until(id);
    await harness.eventually(() => eye.rows.get(id)?.actor === "ended", "the ended actor");
    expect(eye.texts.join("\n").includes(CANARY)).toBe(shows);
    const failed = eye.events.find(({ type, id: of }) => of === id && (type === "jobFailed" || type === "rejected"));
    const failure = failed?.more?.failure as { class: string; detail: string } | undefined;
    expect(failure?.class).toBe("refused_input");
    expect(failure?.detail === "hidden").toBe(!shows);
    await eye.close();
    await harness.close();
  },
  30_000,
);

test("follows commits only while a viewer is connected", async () => {
  const harness = await openHarness();
  const isFollowed = () => harness.components.watch.committed !== null;
  expect(isFollowed()).toBe(false);
  const [one, two] = [await connectViewer(harness), await connectViewer(harness)];
  expect(isFollowed()).toBe(true);
  await one.close();
  expect(isFollowed()).toBe(true);
  await two.close();
  await harness.eventually(() => !isFollowed(), "no viewer");
  const again = await connectViewer(harness);
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
  await harness.eventually(
    () => again.events.some((event) => event.id === id && event.to === "succeeded"),
    "the events of the second viewer",
  );
  await again.close();
  await harness.close();
}, 30_000);
