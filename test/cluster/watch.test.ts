// Tests of the cluster watch: it finds planted writes of an ended node, and reports nothing else.
import { afterEach, expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import type { Store } from "../../src/store/store.ts";
import { freshDatabase, onPostgres } from "../postgres/databases.ts";
import { type Account, admit, openAccount, releasedMutation, startedMutation, stepMutation } from "../store/fixture.ts";
import { openWatch, type Watch } from "./watch.ts";

const LEASE_MS = 700;
const LOOK_MS = 50;

onPostgres("the cluster watch", () => {
  let opened: (Store | Watch)[] = [];
  afterEach(async () => {
    for (const one of opened) await one.close().catch(() => undefined);
    opened = [];
  });

  /** Two nodes; the second may be one without fencing. The database has tables beside our schema and is not reused. */
  const openScene = async (minds: boolean) => {
    const { url } = await freshDatabase();
    const open = (mindsOwners: boolean) =>
      openPostgresStore({ url, prepare: true, mode: "test", leaseMs: LEASE_MS, mindsOwners });
    const [alive, other] = [await open(true), await open(minds)];
    const watch = openWatch(url, LEASE_MS);
    opened = [alive, other, watch];
    await watch.begin();
    const account: Account = await openAccount(alive, 5000);
    const mutation = await admit(other, account);
    const started = startedMutation(mutation);
    // An erasure rewrites events with a text of the provider.
    await other.commit([{ ...started, event: { ...started.event, detail: "a text of the provider" } }]);
    /** Waits until the first node has ended the second and taken over its generation. */
    const takenOver = async (): Promise<void> => {
      while (((await alive.node?.renewLease(false))?.ended ?? []).length === 0) await Bun.sleep(LOOK_MS);
      expect(await alive.node?.takeOver(10)).toEqual([mutation.seq]);
    };
    return { alive, other, watch, mutation, takenOver };
  };

  test("finds the writes of an ended node without fencing: its transaction and its step of a generation of another node", async () => {
    const { other, watch, mutation, takenOver } = await openScene(false);
    await takenOver();
    expect([await watch.stale(), await watch.unowned()]).toEqual([[], []]);
    expect(await other.commit([stepMutation(mutation.seq, 2)])).toMatchObject([{ kind: "stepped" }]);
    const epoch = other.node?.epoch ?? 0;
    const stale = await watch.stale();
    expect(stale.map(({ what, epoch: whose }) => [what, whose]).sort()).toEqual([
      ["generation_event", epoch],
      ["noted_batch", epoch],
    ]);
    expect(stale.every(({ lateMs }) => lateMs > 0)).toBe(true);
    expect((await watch.unowned()).map((one) => one.epoch)).toEqual([epoch]);
  }, 60_000);

  test("finds no write of a fenced node, dates its death by the last renewal, and counts its generations", async () => {
    const { alive, other, watch, mutation, takenOver } = await openScene(true);
    await takenOver();
    await expect(other.commit([stepMutation(mutation.seq, 2)])).rejects.toThrow();
    await alive.commit([stepMutation(mutation.seq, 2)]);
    expect([await watch.stale(), await watch.unowned()]).toEqual([[], []]);
    const epoch = other.node?.epoch ?? 0;
    const [death] = await watch.deaths();
    expect(death).toMatchObject({ epoch, pid: process.pid, isFenced: true });
    expect((death?.endedMs ?? 0) - (death?.diedMs ?? 0)).toBeGreaterThan(LEASE_MS);
    expect((await watch.takenOver()).map((one) => [one.epoch, one.count])).toEqual([[epoch, 1]]);
    expect(await watch.sentBy()).toEqual([]);
  }, 60_000);

  test("does not report the events of an ended node that another node has erased", async () => {
    const { alive, watch, mutation, takenOver } = await openScene(true);
    await takenOver();
    const { seq, accountSeq } = mutation;
    await alive.commit([releasedMutation(seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] })]);
    const erasure = { mutation: "erase-generation", seq, accountSeq, withFiles: true, atMs: Date.now() } as const;
    expect(await alive.commit([erasure])).toEqual([{ kind: "done", count: 1 }]);
    expect([await watch.stale(), await watch.unowned()]).toEqual([[], []]);
  }, 60_000);

  test("does not report a node that closed as ended by another", async () => {
    const { other, watch, alive } = await openScene(true);
    await other.close();
    expect(await watch.deaths()).toMatchObject([{ epoch: other.node?.epoch ?? 0, isFenced: false }]);
    expect(await alive.node?.takeOver(10)).toHaveLength(1);
  }, 60_000);
});
