// Purchases and submissions at several nodes: all mutations lock balances in the order of their accounts.
import { expect, test } from "bun:test";
import { connect } from "../../src/store/postgres/connections.ts";
import { admitMutation, openAccount } from "../store/fixture.ts";
import { openPurchaseMutation, payMutation } from "../store/purchases.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

const ROUNDS = 15;

onPostgres("purchases beside submissions", () => {
  checkNodes();

  test("do not deadlock when two nodes commit payments and submissions of two accounts in opposite orders", async () => {
    const { nodes, database } = await openNodes({}, {});
    const [a, b] = nodes;
    const [low, high] = [await openAccount(a, 100_000), await openAccount(a, 100_000)];
    await a.commit(Array.from({ length: ROUNDS }, (_, n) => openPurchaseMutation(low.seq, `p${n}`, 1000)));
    const line = await connect({ url: database.url, prepare: true });
    const deadlocks = async (): Promise<number> => {
      const { rows } = await line.send<{ n: number }>(
        "SELECT CAST(deadlocks AS bigint) AS n FROM pg_stat_database WHERE datname = current_database()",
      );
      return rows[0]?.n ?? 0;
    };
    const before = await deadlocks();
    for (let n = 0; n < ROUNDS; n += 1) {
      const [paying, admitting] = await Promise.all([
        a.commit([admitMutation(high), payMutation(`p${n}`, 1000)]),
        b.commit([admitMutation(low), admitMutation(high)]),
      ]);
      expect(paying.map(({ kind }) => kind)).toEqual(["admitted", "purchase"]);
      expect(admitting.map(({ kind }) => kind)).toEqual(["admitted", "admitted"]);
    }
    expect((await deadlocks()) - before).toBe(0);
    line.close();
  }, 60_000);
});
