// mark-restored on a PostgreSQL database after a restore or a failover to a late standby: no job is purchased twice.
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "bun:test";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import type { Store } from "../../src/store/store.ts";
import { runHere } from "../cli/captured.ts";
import { testClock } from "../clock.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { catalogueOf, INPUT, MODEL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { someApply } from "../generation/transitions.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openFront } from "../harness-nodes.ts";
import { admit, openAccount } from "../store/fixture.ts";
import { type Database, freshDatabase, onPostgres, ownDatabase } from "./databases.ts";
import { checkNodes, openNodes } from "./nodes.ts";

const STORY_MS = 120_000;

const adopt = (url: string, ...words: string[]) => runHere(["backup", "mark-restored", ...words], { GENROUTER_STORE__URL: url });
const marksIn = async (url: string): Promise<Record<string, number>> => {
  const line = await connect({ url, prepare: true });
  const { rows } = await line.send<{ name: string; value: string }>("SELECT name, value FROM meta WHERE name LIKE 'restored_%'");
  line.close();
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
};

/** Copies a database to which nothing is connected. */
const copyOf = async ({ url, server }: Database, copy: string): Promise<string> => {
  const admin = await connect({ url: server.url("postgres"), prepare: true });
  const name = new URL(url).pathname.slice(1);
  // A closed connection remains for a moment.
  await admin.send("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ?1", name);
  await admin.script(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  admin.close();
  return server.url(copy);
};

onPostgres("a restored database", () => {
  describe("from before a generation was submitted to its provider", () => {
    /**
     * Accepts a generation, copies the database, completes the generation on the original, and then opens nodes on the copy.
     * @returns the number of purchased jobs.
     */
    const live = async (copy: string, before: (url: string) => Promise<void>) => {
      const clock = testClock(100);
      const database = await freshDatabase();
      const bucket = await openTestBucket(clock.nowMs);
      const simulator = await createSimulator({ clock, kindOf: () => "image" });
      const front = openFront();
      onTestFinished(async () => {
        await front.stop();
        await bucket.close();
        await simulator.stop();
        clock.stop();
        database.drop();
      });
      const open = async (url: string, around = (store: Store) => store): Promise<Harness> => {
        const store = await openPostgresStore({ url, prepare: true, readers: 2, mode: "test", nowMs: clock.nowMs() });
        const harness = await openHarness({
          ...{ clock, simulator, catalogue: catalogueOf([{ ...REPLICATE, usd: "0.20", timeoutS: 2_000 }, SPARE]) },
          node: { store: around(store), front: front.url, lines: [] },
          env: { GENROUTER_LIMITS__SLOW_COMMIT_MS: "3600000", ...bucket.settings },
        });
        front.nodes.splice(0, front.nodes.length, harness.nodeUrl);
        return harness;
      };
      let died: () => void = () => undefined;
      const isDead = new Promise<void>((resolve) => {
        died = resolve;
      });
      const first = await open(database.url, (store) => ({
        ...store,
        commit: async (mutations) => {
          if (!someApply(mutations, "slotTaken")) return await store.commit(mutations);
          died();
          throw new StoreUnknown("the process has died");
        },
      }));
      const { id } = await first.submit(MODEL, INPUT);
      await isDead;
      await first.crash();
      const url = await copyOf(database, copy);
      const seq = (harness: Harness) => harness.store.findGeneration(id);
      const ended = async (harness: Harness) => {
        await harness.eventually(async () => {
          const found = await seq(harness);
          return found?.completedAtMs != null;
        }, `generation ${id}`);
        const status = (await seq(harness))?.status;
        await harness.verify();
        await harness.crash();
        return status;
      };
      expect(await ended(await open(database.url))).toBe("succeeded");
      expect(simulator.jobs()).toHaveLength(1);
      await before(url);
      expect(await ended(await open(url))).toBe("succeeded");
      return simulator.jobs().length;
    };

    test(
      "collects the purchased job instead of purchasing it again, once it is marked as restored",
      async () => {
        const jobs = await live("copy_adopted", async (url) => {
          const { exit, out } = await adopt(url);
          expect(exit).toBe(0);
          expect(out).toMatch(/^postgres:\/\/.*copy_adopted: as of 20.*. In-flight attempts are confirmed/);
        });
        expect(jobs).toBe(1);
      },
      STORY_MS,
    );

    test(
      "purchases the job a second time when it is not marked as restored",
      async () => {
        expect(await live("copy_not_adopted", async () => undefined)).toBe(2);
      },
      STORY_MS,
    );
  });

  describe("mark-restored", () => {
    checkNodes();
    let url = "";
    let nodes: Store[] = [];
    let another: Awaited<ReturnType<typeof openNodes>>["another"];
    beforeEach(async () => {
      const opened = await openNodes({}, {});
      [url, nodes, another] = [opened.database.url, [...opened.nodes], opened.another];
    });
    afterEach(() => {
      nodes = [];
    });
    const closeAll = () => Promise.all(nodes.map((node) => node.close()));

    test("rejects a database with a live node, names the node and marks nothing", async () => {
      const [one] = nodes;
      await nodes[1]?.close();
      const { exit, err } = await adopt(url);
      expect(exit).toBe(75);
      expect(err).toMatch(
        new RegExp(`live nodes: \\S+/${one?.node?.slot}/${one?.node?.epoch} \\(pid ${process.pid}, its lease ends in \\d+ s\\)`),
      );
      expect(err).toContain("stop every node");
      expect(await marksIn(url)).toEqual({});
      await one?.close();
      expect((await adopt(url)).exit).toBe(0);
    });

    test("stores the same marks when it runs twice: the last seen time and the newest generation", async () => {
      const [one] = nodes;
      if (!one) throw new Error("the node is missing");
      const mutation = await admit(one, await openAccount(one, 1000));
      const takenAtMs = await one.lastSeenMs();
      await closeAll();
      const answers = [await adopt(url, "--json"), await adopt(url, "--json")];
      for (const { out } of answers)
        expect(JSON.parse(out)).toMatchObject({
          taken_at: new Date(takenAtMs).toISOString(),
          store: expect.stringMatching(/^postgres:/),
        });
      expect(await marksIn(url)).toEqual({
        restored_taken_at_ms: takenAtMs,
        restored_up_to_seq: mutation.seq,
        restored_at_ms: expect.any(Number),
      });
      expect(await (await another()).restored()).toEqual({ takenAtMs, upToSeq: mutation.seq, isSettled: false });
    });

    test("fences a node that was paused for longer than its lease", async () => {
      await closeAll();
      const still = await another();
      const line = await connect({ url, prepare: true });
      await line.send("UPDATE lease SET ends_at_ms = now_ms() - 1 WHERE epoch = ?1", still.node?.epoch ?? 0);
      line.close();
      expect((await adopt(url)).exit).toBe(0);
      expect(await still.node?.renewLease(false)).toBeNull();
      await expect(still.commit([{ mutation: "beat", atMs: 1 }])).rejects.toBeInstanceOf(StoreUnknown);
    });
  });

  test("mark-restored reports an empty or unreachable database in one line", async () => {
    const { url } = await ownDatabase();
    for (const [address, reported] of [
      [url, "is empty: run the command after its restore"],
      [url.replace(/[^/]+$/, "no_such_database"), "cannot be adopted"],
    ] as const) {
      const { exit, err } = await adopt(address);
      expect(exit).toBe(75);
      expect(err).toContain(reported);
      expect(err.trim().split("\n")).toHaveLength(1);
    }
  });
});
