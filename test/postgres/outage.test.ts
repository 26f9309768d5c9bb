// A database that was away for longer than a lease costs no node: only who could reach it all along ends others.
import { expect, test } from "bun:test";
import { connect } from "../../src/store/postgres/connect.ts";
import { attend, openStreak } from "../../src/store/postgres/owner.ts";
import type { Store } from "../../src/store/store.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

const LEASE_MS = 3000;
const LONG_MS = 30_000;
const epochOf = ({ node }: Store): number => node?.epoch ?? 0;
/** Looks; once more where the connection was lost meanwhile. */
const look = async ({ node }: Store) => {
  if (node === null) throw new Error("a node was wanted");
  return await node.attend(false).catch(() => node.attend(false));
};

test("a streak is long after a third of a lease of renewals, and a gap of more than half a lease begins a new one", () => {
  let nowMs = 0;
  const streak = openStreak(6000, () => nowMs);
  const at = (ms: number, isRenewed: boolean): boolean => {
    nowMs = ms;
    const isLong = streak.isLong();
    if (isRenewed) streak.renewed();
    return isLong;
  };
  expect([at(0, true), at(1000, true), at(1999, true), at(2000, true), at(3000, true)]).toEqual([
    ...[false, false, false, false, true],
  ]);
  // Looks that fail do not end it, only time does.
  expect([at(6000, false), at(6001, false), at(6002, true)]).toEqual([true, false, false]);
  expect([at(7000, true), at(8001, true), at(8002, true), at(8003, true)]).toEqual([false, false, false, true]);
});

onPostgres("a database that was away", () => {
  checkNodes();

  /** Three nodes, and a connection that bends their leases. */
  const openScene = async () => {
    const { nodes, another, database } = await openNodes({ leaseMs: LONG_MS }, { leaseMs: LONG_MS }, { leaseMs: LONG_MS });
    const address = { url: database.url, prepare: true };
    const bend = async (store: Store, endsInMs: number) => {
      const line = await connect(address);
      await line
        .send("UPDATE lease SET ends_at_ms = now_ms() + CAST(?2 AS bigint) WHERE epoch = ?1", epochOf(store), endsInMs)
        .finally(line.close);
    };
    const ask = async (sql: string): Promise<Record<string, unknown>[]> => {
      const line = await connect(address);
      return (await line.send<Record<string, unknown>>(sql).finally(line.close)).rows;
    };
    return { nodes, another, address, bend, ask };
  };

  test("for longer than a lease: no node ends another when it is back, whoever comes first", async () => {
    const options = { leaseMs: LEASE_MS };
    const { nodes, database } = await openNodes(options, options, options);
    const [first, ...others] = nodes;
    for (let looks = 0; looks < LEASE_MS / 100; looks += 1) {
      for (const store of nodes) expect(await look(store)).toMatchObject({ alive: 3, ended: [] });
      await Bun.sleep(50);
    }
    await database.server.kill("fast");
    await Bun.sleep(1.2 * LEASE_MS);
    await database.server.start();
    for (let looks = 0; looks < 3; looks += 1) expect(await look(first)).toMatchObject({ alive: 3, ended: [] });
    for (const store of others) expect(await look(store)).toMatchObject({ alive: 3, ended: [] });
    for (const store of nodes) expect(await store.commit([{ deed: "beat", atMs: 1 }])).toHaveLength(1);
  }, 60_000);

  test("a look that was held up on its way, or by the server, renews a lease and ends nobody", async () => {
    const { nodes, address, bend } = await openScene();
    const [first, second] = nodes;
    await bend(second, -1000);
    await bend(first, LONG_MS / 2 - 1);
    const line = await connect(address);
    const seen = () => attend(line, { epoch: epochOf(first), leaseMs: LONG_MS, isLeaving: false, endsOthers: true });
    expect(await seen()).toMatchObject({ alive: 3, ended: [] });
    expect(await seen()).toMatchObject({ alive: 2, ended: [epochOf(second)] });
    line.close();
    expect(await look(second)).toBeNull();
  });

  test("a node that opens gives the others one more lease, and says of those that it ends who did", async () => {
    const { nodes, another, bend, ask } = await openScene();
    const [first, second, third] = nodes;
    await bend(first, -LONG_MS + 10_000);
    await bend(second, -LONG_MS - 1);
    const opened = await another({ leaseMs: LONG_MS });
    expect(opened.node?.slot).toBe(second.node?.slot ?? -1);
    expect([await look(first), await look(second), await look(third)]).toEqual([
      ...[expect.objectContaining({ alive: 3 }), null, expect.objectContaining({ alive: 3 })],
    ]);
    expect(await ask("SELECT epoch, fenced_by FROM owner WHERE ended_at_ms IS NOT NULL")).toEqual([
      { epoch: epochOf(second), fenced_by: epochOf(opened) },
    ]);
    expect((await opened.nodes?.list(10))?.find(({ endedAtMs }) => endedAtMs !== null)).toMatchObject({
      ...{ epoch: epochOf(second), endedBy: epochOf(opened) },
    });
  });

  test("where no share of the numbers is free, who opens ends whoever is dead", async () => {
    const { nodes, another, bend, ask } = await openScene();
    const [first, second] = nodes;
    await ask(`WITH made AS (INSERT INTO owner (pid, host, opened_at_ms, slot) SELECT 1, 'elsewhere', 0, generate_series(3, 63) RETURNING epoch)
      INSERT INTO lease (epoch, ends_at_ms) SELECT epoch, now_ms() + ${LONG_MS} FROM made`);
    await expect(another()).rejects.toThrow("64 nodes are open");
    await bend(second, -1);
    expect((await another()).node?.slot).toBe(second.node?.slot ?? -1);
    expect(await look(second)).toBeNull();
    expect(await look(first)).toMatchObject({ alive: 64 });
  });
});
