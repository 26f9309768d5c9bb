// Tests of the lease keeper of a node: when its lease is current, when it is not, and when the node must exit.
import { expect, test } from "bun:test";
import { createLeaseKeeper, type LeaseKeeperDeps } from "../../src/cluster/lease-keeper.ts";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { generationId } from "../../src/domain/ids.ts";
import type { GenerationRecord } from "../../src/domain/types.ts";
import { createRecordCache } from "../../src/generations/record-cache.ts";
import type { ClusterState } from "../../src/store/cluster-port.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";

const LEASE_MS = 30_000;
const ALIVE: ClusterState = {
  ...{ apartMs: 0, alive: 2, others: 1, isFirst: true, news: "0", hasHints: false },
  ...{ isAnythingLeft: false, ended: [] },
};

/** A lease keeper over a scripted store. */
const openScene = (node: Partial<LeaseKeeperDeps["node"]>, more: Partial<LeaseKeeperDeps> = {}) => {
  const clock = testClock();
  const reported = { ended: 0, lines: [] as string[] };
  const noted: (number | null)[] = [];
  const leaseKeeper = createLeaseKeeper({
    node: {
      leaseMs: LEASE_MS,
      renewLease: () => Promise.resolve(ALIVE),
      takeOver: () => Promise.resolve([]),
      recordUnavailable: (sinceMs) => void noted.push(sinceMs),
      ...node,
    },
    ...{
      clock,
      monoMs: clock.nowMs,
      takeUp: () => Promise.resolve(),
      looked: () => Promise.resolve(),
      changed: () => Promise.resolve(),
    },
    log: (event) => void reported.lines.push(event),
    ended: () => {
      reported.ended += 1;
    },
    ...more,
  });
  return { clock, leaseKeeper, reported, noted };
};

test("treats the lease as current from the first renewal until nine tenths of the lease after the last request", async () => {
  const { leaseKeeper, clock } = openScene({});
  expect(leaseKeeper.isSure()).toBe(false);
  await leaseKeeper.begin();
  expect(leaseKeeper.isSure()).toBe(true);
  clock.stall(0.9 * LEASE_MS - 1);
  expect(leaseKeeper.isSure()).toBe(true);
  const late = openScene({});
  await late.leaseKeeper.begin();
  late.leaseKeeper.stop();
  late.clock.stall(0.9 * LEASE_MS);
  expect(late.leaseKeeper.isSure()).toBe(false);
});

test("reports the outage of the store during and after it, and records its start and end for the next process", async () => {
  let isThere = true;
  const { leaseKeeper, clock, noted } = openScene({
    renewLease: () => (isThere ? Promise.resolve(ALIVE) : Promise.reject(new Error("connection refused"))),
  });
  await leaseKeeper.begin();
  expect(leaseKeeper.unavailableAtMs()).toBeNull();
  const reachedMs = clock.nowMs();
  isThere = false;
  clock.skip(1_000);
  await eventually(() => leaseKeeper.isUnavailable(), "an unavailable store");
  clock.stall(900);
  expect(leaseKeeper.unavailableAtMs()).toBe(clock.nowMs());
  expect(noted).toEqual([reachedMs]);
  isThere = true;
  clock.skip(1_000);
  await eventually(() => !leaseKeeper.isUnavailable(), "an available store");
  const backMs = clock.nowMs();
  clock.stall(900);
  expect([leaseKeeper.isUnavailable(), leaseKeeper.unavailableAtMs()]).toEqual([false, backMs]);
  expect(noted).toEqual([reachedMs, null]);
});

test("logs a clock skew once, and once when it ends", async () => {
  let apartMs = 60_000;
  const { leaseKeeper, reported } = openScene({ renewLease: () => Promise.resolve({ ...ALIVE, apartMs }) });
  await leaseKeeper.begin();
  await leaseKeeper.look();
  expect(reported.lines).toEqual(["clock skew detected"]);
  apartMs = 3;
  await leaseKeeper.look();
  apartMs = -60_000;
  await leaseKeeper.look();
  expect(reported.lines).toEqual(["clock skew detected", "clock skew ended", "clock skew detected"]);
});

test("does not accept a renewal whose response arrives after a stall longer than the lease", async () => {
  const answers: (() => void)[] = [];
  const { leaseKeeper, clock } = openScene({ renewLease: () => new Promise((answer) => answers.push(() => answer(ALIVE))) });
  const turn = () => new Promise((wake) => setImmediate(wake));
  void leaseKeeper.begin();
  let isSure = false;
  void leaseKeeper.sure().then(() => {
    isSure = true;
  });
  clock.stall(LEASE_MS);
  answers.shift()?.();
  await turn();
  expect({ isSure, now: leaseKeeper.isSure() }).toEqual({ isSure: false, now: false });
  clock.skip(1000);
  answers.shift()?.();
  await turn();
  expect({ isSure, now: leaseKeeper.isSure() }).toEqual({ isSure: true, now: true });
});

test("treats the store as unavailable while renewals fail or one is overdue, and as available after the next response", async () => {
  let renewLease: LeaseKeeperDeps["node"]["renewLease"] = () => Promise.resolve(ALIVE);
  const { leaseKeeper, clock } = openScene({ renewLease: (isLeaving) => renewLease(isLeaving) });
  const turn = async () => {
    clock.skip(1000);
    await new Promise((wake) => setImmediate(wake));
    return leaseKeeper.isUnavailable();
  };
  await leaseKeeper.begin();
  expect(leaseKeeper.isUnavailable()).toBe(false);
  renewLease = () => Promise.reject(new Error("no"));
  expect([await turn(), await turn()]).toEqual([true, true]);
  renewLease = () => Promise.resolve(ALIVE);
  expect(await turn()).toBe(false);
  let answer = (): void => undefined;
  renewLease = () =>
    new Promise((reported) => {
      answer = () => reported(ALIVE);
    });
  expect([await turn(), await turn(), await turn(), await turn()]).toEqual([false, false, false, false]);
  expect(await turn()).toBe(true);
  answer();
  await new Promise((wake) => setImmediate(wake));
  expect(leaseKeeper.isUnavailable()).toBe(false);
  leaseKeeper.stop();
});

test('logs "node considered dead" only for an expired lease, not for generations that a draining node hands over', async () => {
  const looks = [{ ...ALIVE, isAnythingLeft: true }, { ...ALIVE, isAnythingLeft: true, ended: [4] }, ALIVE];
  let left: number[] = [];
  const { leaseKeeper, reported, clock } = openScene({
    renewLease: async () => {
      left = [7];
      return looks.shift() ?? ALIVE;
    },
    takeOver: async () => left.splice(0),
  });
  await leaseKeeper.begin();
  await new Promise((turn) => setImmediate(turn));
  expect(reported.lines).toEqual(["generations reclaimed"]);
  clock.skip(1000);
  await new Promise((turn) => setImmediate(turn));
  expect(reported.lines).toEqual(["generations reclaimed", "node considered dead", "generations reclaimed"]);
  leaseKeeper.stop();
});

test("ends the node after a takeover with an unknown outcome", async () => {
  const { leaseKeeper, reported } = openScene({
    renewLease: () => Promise.resolve({ ...ALIVE, isAnythingLeft: true }),
    takeOver: () => Promise.reject(new StoreUnknown("the database does not respond")),
  });
  await leaseKeeper.begin();
  expect(reported).toEqual({ ended: 1, lines: ["node fenced, exiting"] });
});

test("logs a failed takeover and retries it at the next renewal", async () => {
  let tries = 0;
  const { leaseKeeper, reported, clock } = openScene({
    renewLease: () => Promise.resolve({ ...ALIVE, isAnythingLeft: true }),
    takeOver: () => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error("no")) : Promise.resolve([]);
    },
  });
  await leaseKeeper.begin();
  clock.skip(1000);
  await new Promise((turn) => setImmediate(turn));
  expect({ tries, ...reported }).toEqual({ tries: 2, ended: 0, lines: ["takeover failed"] });
});

test("serves a generation from the record cache while the lease is current, and from the store afterwards", async () => {
  const record = { id: generationId(4096), seq: 4096, accountSeq: 1, status: "running", completedAtMs: null } as GenerationRecord;
  const asked: string[] = [];
  let isSure = true;
  const records = createRecordCache(
    {
      generationById: async (id) => {
        asked.push(id);
        return { ...record, status: "succeeded" } as GenerationRecord;
      },
    },
    false,
    () => isSure,
  );
  records.keep(record);
  expect((await records.find(record.id, 1))?.status).toBe("running");
  expect(asked).toEqual([]);
  isSure = false;
  expect(records.recent(record.id, 1)).toBeUndefined();
  expect((await records.find(record.id, 1))?.status).toBe("succeeded");
  expect(asked).toEqual([record.id]);
});
