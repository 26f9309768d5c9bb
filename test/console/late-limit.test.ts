// A first limit on a key in use includes earlier spend, which is rolled up before the mutation.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

let harness: Harness;
let me: Visitor;
/** The number of settled generations that were not rolled up when a key was changed. */
const behind: number[] = [];
const around = (store: Store): Store => ({
  ...store,
  commit: async (mutations) => {
    if (mutations.some(({ mutation }) => mutation === "set-key")) behind.push(await store.usageBehind());
    return store.commit(mutations);
  },
});
beforeAll(async () => {
  harness = await openHarness({ factor: 1000, around });
  me = await openVisitor(harness, "member", harness.tenant);
});
afterAll(() => harness.close());

test("a new limit includes rolled-up spend, and the roll-up adds no line to the audit log", async () => {
  const made = await Promise.all(Array.from({ length: 9 }, (_, n) => harness.submit("sim-image-1", { prompt: `kite ${n}` })));
  let spentCredits = 0;
  for (const { id } of made) {
    await harness.until(id);
    spentCredits += (await harness.store.findGeneration(id))?.costCredits ?? 0;
  }
  expect(spentCredits).toBeGreaterThan(0);
  expect(await harness.store.usageBehind()).toBeGreaterThan(0);
  const limits = { day: 5000, week: null, month: null };
  const { reported } = await me.ask("PATCH", `/console/api/keys/${harness.tenant.keyId}`, { limits });
  expect(reported).toMatchObject({ limits: { day: { limitCredits: 5000, spentCredits } } });
  expect(behind).toEqual([0]);
  const lines = await harness.store.audit(null, 9, { actor: me.email });
  expect(lines.map(({ action }) => action)).toEqual(["set-key"]);
});
