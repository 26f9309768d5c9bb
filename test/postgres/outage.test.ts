// A database outage longer than a lease ends no node: only a node with continuous access ends others.
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/store/postgres/connections.ts";
import { createRenewalStreak, renewLease } from "../../src/store/postgres/node-lease.ts";
import { noteFormer, readFormer } from "../../src/store/postgres/previous-lease.ts";
import type { Store } from "../../src/store/store.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { admit, openAccount } from "../store/fixture.ts";
import { onPostgres } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

afterAll(dropDirs);

test("reads since when the store was unreachable from the file of a build before the first release", () => {
  const dir = freshDir();
  writeFileSync(join(dir, "node.json"), '{"epoch":7,"openedAtMs":1000,"awaySinceMs":2000}\n');
  expect(readFormer(dir)).toEqual({ epoch: 7, openedAtMs: 1000, unavailableSinceMs: 2000 });
});

const LEASE_MS = 3000;
const LONG_MS = 30_000;
const epochOf = ({ node }: Store): number => node?.epoch ?? 0;
/** Renews the lease, and retries once after a lost connection. */
const look = async ({ node }: Store) => {
  if (node === null) throw new Error("the node is missing");
  return await node.renewLease(false).catch(() => node.renewLease(false));
};

test("a renewal streak is long after a third of a lease, and restarts after a gap of more than half a lease", () => {
  let nowMs = 0;
  const streak = createRenewalStreak(6000, () => nowMs);
  const at = (ms: number, isRenewed: boolean): boolean => {
    nowMs = ms;
    const isLong = streak.isLong();
    if (isRenewed) streak.renewed();
    return isLong;
  };
  expect([at(0, true), at(1000, true), at(1999, true), at(2000, true), at(3000, true)]).toEqual([
    ...[false, false, false, false, true],
  ]);
  // Failed renewals do not end the streak; only time does.
  expect([at(6000, false), at(6001, false), at(6002, true)]).toEqual([true, false, false]);
  expect([at(7000, true), at(8001, true), at(8002, true), at(8003, true)]).toEqual([false, false, false, true]);
});

onPostgres("after a database outage", () => {
  checkNodes();

  /** Three nodes, and a connection that changes the expiry of their leases. */
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

  test("longer than a lease, no node ends another, whichever renews first", async () => {
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
    for (const store of nodes) expect(await store.commit([{ mutation: "beat", atMs: 1 }])).toHaveLength(1);
  }, 60_000);

  test("a node that ended during the outage reports it only to the next process of its directory", async () => {
    const home = { dir: freshDir(), allowNetworkDisk: false };
    const { nodes, another } = await openNodes({ leaseMs: LONG_MS, home });
    const outageOf = ({ node }: Store) => node?.formerUnavailableSinceMs;
    expect(outageOf(nodes[0])).toBeNull();
    nodes[0].node?.recordUnavailable(1234);
    await nodes[0].close();
    const second = await another({ leaseMs: LONG_MS, home });
    expect(outageOf(second)).toBe(1234);
    await second.close();
    const third = await another({ leaseMs: LONG_MS, home });
    expect(outageOf(third)).toBeNull();
    third.node?.recordUnavailable(5678);
    third.node?.recordUnavailable(null);
    await third.close();
    expect(outageOf(await another({ leaseMs: LONG_MS, home }))).toBeNull();
  });

  test("a delayed renewal extends the lease and ends no other node", async () => {
    const { nodes, address, bend } = await openScene();
    const [first, second] = nodes;
    await bend(second, -1000);
    await bend(first, LONG_MS / 2 - 1);
    const line = await connect(address);
    const seen = () => renewLease(line, { epoch: epochOf(first), leaseMs: LONG_MS, isLeaving: false, endsOthers: true });
    expect(await seen()).toMatchObject({ alive: 3, ended: [] });
    expect(await seen()).toMatchObject({ alive: 2, ended: [epochOf(second)] });
    line.close();
    expect(await look(second)).toBeNull();
  });

  test("a node that opens ends no other node, however long ago their leases expired", async () => {
    const { nodes, another, bend } = await openScene();
    for (const store of nodes) await bend(store, -20 * LONG_MS);
    const opened = await another({ leaseMs: LONG_MS });
    for (const store of [...nodes, opened]) expect(await look(store)).toMatchObject({ alive: 4, ended: [] });
  });

  test("a process that opens the directory of a former one owns its generations before others can take them over", async () => {
    const openedAtMs = 1_000;
    const { nodes, another } = await openNodes({ leaseMs: LONG_MS, nowMs: openedAtMs }, { leaseMs: LONG_MS });
    const [former, other] = nodes;
    const { seq } = await admit(former, await openAccount(former, 5000));
    const home = { dir: freshDir(), allowNetworkDisk: false };
    noteFormer(home.dir, { epoch: epochOf(former), openedAtMs });
    const opened = await another({ leaseMs: LONG_MS, home });
    expect(await other.node?.takeOver(10)).toEqual([]);
    expect((await opened.unfinished(0, 10)).map((one) => one.seq)).toEqual([seq]);
    expect(await look(former)).toBeNull();
    expect((await opened.nodes?.list(10))?.find(({ endedAtMs }) => endedAtMs !== null)).toMatchObject({
      ...{ epoch: epochOf(former), endedBy: epochOf(opened) },
    });
  });

  test("a node that opens ends expired nodes when no slot is free", async () => {
    const { nodes, another, bend, ask } = await openScene();
    const [first, second] = nodes;
    await ask(`WITH made AS (INSERT INTO node (pid, host, opened_at_ms, slot) SELECT 1, 'elsewhere', 0, generate_series(3, 63) RETURNING epoch)
      INSERT INTO lease (epoch, ends_at_ms) SELECT epoch, now_ms() + ${LONG_MS} FROM made`);
    await expect(another()).rejects.toThrow("64 nodes are open");
    await bend(second, -1);
    expect((await another()).node?.slot).toBe(second.node?.slot ?? -1);
    expect(await look(second)).toBeNull();
    expect(await look(first)).toMatchObject({ alive: 64 });
  });
});
