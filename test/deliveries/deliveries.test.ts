// The short setting of `npm run deliveries`: of every kind of wrong and of right delivery a few.
import { expect, test } from "bun:test";
import { RIGHT, WRONG } from "./orders.ts";
import { playDeliveries } from "./run.ts";

test("wrong deliveries of every kind are not charged, and right ones of every kind are not held back", async () => {
  const plan = { wrong: 2 * Object.keys(WRONG).length, right: 3 * Object.keys(RIGHT).length, seed: 7, lanes: 4 };
  expect(await playDeliveries(plan)).toEqual({
    ...{ told: [], byKind: {} },
    ...{ wrong: { planted: plan.wrong, charged: 0 }, right: { played: plan.right, held: 0 } },
  });
}, 120_000);
