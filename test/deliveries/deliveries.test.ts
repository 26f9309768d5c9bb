// Short run of `npm run deliveries`: a few wrong and right deliveries of every kind.
import { expect, test } from "bun:test";
import { RIGHT, WRONG } from "./orders.ts";
import { playDeliveries } from "./run.ts";

test("charges no wrong delivery and rejects no right delivery of any kind", async () => {
  const plan = { wrong: 2 * Object.keys(WRONG).length, right: 3 * Object.keys(RIGHT).length, seed: 7, lanes: 4 };
  expect(await playDeliveries(plan)).toEqual({
    ...{ reported: [], byKind: {} },
    ...{ wrong: { planted: plan.wrong, charged: 0 }, right: { played: plan.right, held: 0 } },
  });
}, 120_000);
