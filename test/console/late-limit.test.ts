// A first limit on a key in use counts what was spent before, and the writer is not held up by it: what has ended is added up beforehand.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { type House, openHouse } from "../harness.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

let house: House;
let me: Visitor;
/** How much of what has ended was not added up when a key was changed. */
const behind: number[] = [];
const around = (store: Store): Store => ({
  ...store,
  commit: async (deeds) => {
    if (deeds.some(({ deed }) => deed === "set-key")) behind.push(await store.usageBehind());
    return store.commit(deeds);
  },
});
beforeAll(async () => {
  house = await openHouse({ factor: 1000, around });
  me = await openVisitor(house, "member", house.tenant);
});
afterAll(() => house.close());

test("it is counted from what was added up, and upkeep is no change that the audit log tells of", async () => {
  const made = await Promise.all(Array.from({ length: 9 }, (_, n) => house.submit("sim-image-1", { prompt: `kite ${n}` })));
  let spentCredits = 0;
  for (const { id } of made) {
    await house.until(id);
    spentCredits += (await house.store.findGeneration(id))?.costCredits ?? 0;
  }
  expect(spentCredits).toBeGreaterThan(0);
  expect(await house.store.usageBehind()).toBeGreaterThan(0);
  const limits = { day: 5000, week: null, month: null };
  const { told } = await me.ask("PATCH", `/console/api/keys/${house.tenant.keyId}`, { limits });
  expect(told).toMatchObject({ limits: { day: { limitCredits: 5000, spentCredits } } });
  expect(behind).toEqual([0]);
  const lines = await house.store.audit(null, 9, { actor: me.email });
  expect(lines.map(({ action }) => action)).toEqual(["set-key"]);
});
