// A house of several nodes over one PostgreSQL and one bucket, behind a front that sends each request to the next of them.

import type { JsonObject } from "../src/domain/types.ts";
import { openPostgresStore } from "../src/store/postgres/client.ts";
import { connect } from "../src/store/postgres/connections.ts";
import { type TestClock, testClock } from "./clock.ts";
import { eventually } from "./eventually.ts";
import { openTestBucket } from "./files/s3/bucket.ts";
import { type House, type HouseOptions, openHouse } from "./harness.ts";
import { freshDatabase } from "./postgres/databases.ts";

export type Front = { url: string; nodes: string[]; stop(): Promise<void> };

/** Sends each request on to the next node, as a load balancer does. */
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
      // As it came: bytes that are told to be packed stay so.
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

/** What belongs to one node alone, and cannot be put around each of several. */
const OF_ONE = ["pragmas", "dir"] as const;

/** A step of a generation is some journeys to the database and to its provider. */
const ROUNDS = 4;

/** Where time stands still nobody looks, and nobody is to be taken for dead. */
const STILL_LEASE_MS = 3_600_000;

/** `each`: the nodes by themselves, in the order of their opening. */
export type HouseOfNodes = House & { each: readonly House[]; databaseUrl: string };

/**
 * Opens so many nodes; the house that is answered speaks to all of them, and closes them all.
 * @param leaseMs how long one that says nothing is taken to be alive, by the database's clock.
 */
export const openHouseOfNodes = async (count: number, options: HouseOptions = {}, leaseMs?: number): Promise<HouseOfNodes> => {
  const single = OF_ONE.filter((name) => options[name] !== undefined);
  if (single.length > 0) throw new Error(`a house of several nodes has no ${single.join(", ")}`);
  const clock: TestClock = options.clock ?? testClock(options.factor ?? 100);
  const database = await freshDatabase();
  const bucket = await openTestBucket(clock.nowMs);
  const front = openFront();
  const houses: House[] = [];
  const lines: House["lines"] = [];
  const isStill = (options.factor ?? 100) === 0;
  const open = async (): Promise<House> => {
    const opening = { url: database.url, prepare: true, readers: 3, mode: "test", nowMs: clock.nowMs() } as const;
    const store = await openPostgresStore({
      ...opening,
      ...(isStill ? { leaseMs: STILL_LEASE_MS } : leaseMs ? { leaseMs } : {}),
    });
    const house = await openHouse({
      ...options,
      clock,
      node: { store, front: front.url, lines },
      // A database does not commit faster because time does.
      env: { ...(isStill ? {} : { GENROUTER_LIMITS__SLOW_COMMIT_MS: "3600000" }), ...bucket.settings, ...options.env },
      ...(houses[0] ? { simulator: houses[0].simulator } : {}),
    });
    front.nodes.push(house.own);
    return house;
  };
  for (let n = 0; n < count; n += 1) houses.push(await open());
  const [first, ...others] = houses;
  if (!first) throw new Error("a house needs a node");
  const all = async (work: (house: House) => unknown): Promise<void> => {
    await Promise.all(houses.map((house) => work(house)));
  };
  // Twice: what the last of them said in the first round is heard by all in the second.
  const told = async (): Promise<void> => {
    for (let round = 0; round < 2; round += 1)
      await all(async ({ rooms }) => {
        await rooms.ledger.idle();
        await rooms.tenure?.look();
      });
  };
  await told();
  const { rooms } = first;
  const everywhere: House["rooms"] = {
    ...rooms,
    post: async (deed) => {
      // Each node tells by itself that it lives; what the office of one does, all follow.
      const [outcome] = await Promise.all([
        rooms.post(deed),
        ...(deed.deed === "beat" ? others.map((house) => house.rooms.post(deed)) : []),
      ]);
      if (deed.deed !== "beat") await told();
      return outcome;
    },
    ledger: {
      ...rooms.ledger,
      load: () => {
        const loads = houses.map((house) => house.rooms.ledger.load());
        return { ...rooms.ledger.load(), waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0) };
      },
    },
    upkeep: { ...rooms.upkeep, rollUpUsage: () => all((house) => house.rooms.upkeep.rollUpUsage()) },
    rekeyed: (account, key) => {
      for (const house of houses) house.rooms.rekeyed(account, key);
    },
    drain: (longestMs) => all((house) => house.rooms.drain(longestMs)),
    replaceCatalogue: (next) => {
      for (const house of houses) house.rooms.replaceCatalogue(next);
    },
    recover: () =>
      all(async (house) => {
        await house.rooms.recover();
        await house.rooms.tenure?.begin();
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
  /** A node reads its own alone. */
  const unfinished: House["store"]["unfinished"] = async (afterSeq, limit) => {
    const pages = await Promise.all(houses.map(({ store }) => store.unfinished(afterSeq, limit)));
    return pages
      .flat()
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit);
  };
  /** What was asked of the database before has been answered. */
  const answered = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) await all(({ store }) => store.lastSeenMs());
  };
  const end = async (how: "close" | "crash") => {
    await front.stop();
    if (how === "close") await first.verify();
    for (const house of [...others, first]) await house.crash();
    if (!options.clock) clock.stop();
    await bucket.close();
    await database.drop();
  };
  return {
    ...first,
    ...{ each: houses, databaseUrl: database.url },
    ...{ rooms: everywhere, store: { ...first.store, unfinished }, nodes: count, told, countRows },
    eventually: (look, what) =>
      eventually(async () => {
        await answered();
        return await look();
      }, what),
    newTenant: async (...words) => {
      const tenant = await first.newTenant(...words);
      await told();
      return tenant;
    },
    close: () => end("close"),
    crash: () => end("crash"),
  };
};
