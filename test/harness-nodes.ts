// A harness of several nodes with one PostgreSQL database and one bucket, behind a round-robin proxy.

import type { JsonObject } from "../src/domain/types.ts";
import { openPostgresStore } from "../src/store/postgres/client.ts";
import { connect } from "../src/store/postgres/connections.ts";
import { type TestClock, testClock } from "./clock.ts";
import { eventually } from "./eventually.ts";
import { openTestBucket } from "./files/s3/bucket.ts";
import { type Harness, type HarnessOptions, openHarness } from "./harness.ts";
import { freshDatabase } from "./postgres/databases.ts";

export type Front = { url: string; nodes: string[]; stop(): Promise<void> };

/** Forwards each request to the next node, as a load balancer does. */
export const openFront = (): Front => {
  const nodes: string[] = [];
  let turn = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    fetch: async (request) => {
      const node = nodes[turn++ % nodes.length];
      const { pathname, search } = new URL(request.url);
      // The body stays unchanged, so compressed bytes stay compressed.
      return await fetch(`${node}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        decompress: false,
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, nodes, stop: () => server.stop(true) };
};

/** Options of a single node that a harness of several nodes does not take. */
const OF_ONE = ["pragmas", "dir"] as const;

/** A transition of a generation takes several round trips to the database and to its provider. */
const ROUNDS = 4;

/** A lease for a stopped clock: no node renews its lease then, and no node must count as dead. */
const STILL_LEASE_MS = 3_600_000;

/** `each`: the harnesses of the single nodes, in the order in which they were opened. */
export type HarnessOfNodes = Harness & { each: readonly Harness[]; databaseUrl: string };

/**
 * Opens `count` nodes. The returned harness sends requests to all of them and closes all of them.
 * @param leaseMs How long a node counts as alive without a renewal, by the clock of the database.
 */
export const openHarnessOfNodes = async (
  count: number,
  options: HarnessOptions = {},
  leaseMs?: number,
): Promise<HarnessOfNodes> => {
  const single = OF_ONE.filter((name) => options[name] !== undefined);
  if (single.length > 0) throw new Error(`a harness of several nodes has no ${single.join(", ")}`);
  const clock: TestClock = options.clock ?? testClock(options.factor ?? 100);
  const database = await freshDatabase();
  const bucket = await openTestBucket(clock.nowMs);
  const front = openFront();
  const harnesses: Harness[] = [];
  const lines: Harness["lines"] = [];
  const isStill = (options.factor ?? 100) === 0;
  const open = async (): Promise<Harness> => {
    const opening = { url: database.url, prepare: true, readers: 3, mode: "test", nowMs: clock.nowMs() } as const;
    const store = await openPostgresStore({
      ...opening,
      ...(isStill ? { leaseMs: STILL_LEASE_MS } : leaseMs ? { leaseMs } : {}),
    });
    const harness = await openHarness({
      ...options,
      clock,
      node: { store, front: front.url, lines },
      // A fast clock does not make the database commit faster.
      env: { ...(isStill ? {} : { GENROUTER_LIMITS__SLOW_COMMIT_MS: "3600000" }), ...bucket.settings, ...options.env },
      ...(harnesses[0] ? { simulator: harnesses[0].simulator } : {}),
    });
    front.nodes.push(harness.nodeUrl);
    return harness;
  };
  for (let n = 0; n < count; n += 1) harnesses.push(await open());
  const [first, ...others] = harnesses;
  if (!first) throw new Error("a harness needs a node");
  const all = async (work: (harness: Harness) => unknown): Promise<void> => {
    await Promise.all(harnesses.map((harness) => work(harness)));
  };
  // Two rounds: all nodes receive in the second round what the last node published in the first.
  const synchronize = async (): Promise<void> => {
    for (let round = 0; round < 2; round += 1)
      await all(async ({ components }) => {
        await components.ledger.idle();
        await components.leaseKeeper?.look();
      });
  };
  await synchronize();
  const firstComponents = first.components;
  const everywhere: Harness["components"] = {
    ...firstComponents,
    post: async (mutation) => {
      // Each node sends its own heartbeat; all other mutations of one node reach the others through the database.
      const [outcome] = await Promise.all([
        firstComponents.post(mutation),
        ...(mutation.mutation === "beat" ? others.map((harness) => harness.components.post(mutation)) : []),
      ]);
      if (mutation.mutation !== "beat") await synchronize();
      return outcome;
    },
    ledger: {
      ...firstComponents.ledger,
      load: () => {
        const loads = harnesses.map((harness) => harness.components.ledger.load());
        return { ...firstComponents.ledger.load(), waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0) };
      },
    },
    upkeep: { ...firstComponents.upkeep, rollUpUsage: () => all((harness) => harness.components.upkeep.rollUpUsage()) },
    learnRetentions: () => all((harness) => harness.components.learnRetentions()),
    rekeyed: (account, key) => {
      for (const harness of harnesses) harness.components.rekeyed(account, key);
    },
    drain: (longestMs) => all((harness) => harness.components.drain(longestMs)),
    replaceCatalogue: (next) => {
      for (const harness of harnesses) harness.components.replaceCatalogue(next);
    },
    recover: () =>
      all(async (harness) => {
        await harness.components.recover();
        await harness.components.leaseKeeper?.begin();
      }),
  };
  const countRows = async (): Promise<JsonObject> => {
    const line = await connect({ url: database.url, prepare: true });
    const { rows } = await line.send<{ name: string; n: number }>(
      `SELECT tablename AS name, CAST((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', tablename), false, true, '')))[1]
         AS text)::bigint AS n FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'burst' ORDER BY 1`,
    );
    line.close();
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  };
  /** A node reads only its own generations, so this reads those of all nodes. */
  const unfinished: Harness["store"]["unfinished"] = async (afterSeq, limit) => {
    const pages = await Promise.all(harnesses.map(({ store }) => store.unfinished(afterSeq, limit)));
    return pages
      .flat()
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit);
  };
  /** Waits until the database has answered earlier requests of every node. */
  const answered = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) await all(({ store }) => store.lastSeenMs());
  };
  const end = async (how: "close" | "crash") => {
    await front.stop();
    if (how === "close") await first.verify();
    for (const harness of [...others, first]) await harness.crash();
    if (!options.clock) clock.stop();
    await bucket.close();
    await database.drop();
  };
  return {
    ...first,
    ...{ each: harnesses, databaseUrl: database.url },
    ...{ components: everywhere, store: { ...first.store, unfinished }, nodes: count, synchronize: synchronize, countRows },
    eventually: (look, what) =>
      eventually(async () => {
        await answered();
        return await look();
      }, what),
    newTenant: async (...words) => {
      const tenant = await first.newTenant(...words);
      await synchronize();
      return tenant;
    },
    close: () => end("close"),
    crash: () => end("crash"),
  };
};
