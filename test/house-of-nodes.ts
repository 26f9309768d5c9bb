// A house of several nodes over one PostgreSQL and one bucket, behind a front that sends each request to the next of them.
import { openPostgresStore } from "../src/store/postgres/client.ts";
import { type TestClock, testClock } from "./clock.ts";
import { openTestBucket } from "./files/s3/bucket.ts";
import { type House, type HouseOptions, openHouse } from "./house.ts";
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
const OF_ONE = ["around", "writer", "pragmas", "dir", "unrecovered"] as const;

/** Opens so many nodes; the house that is answered speaks to all of them, and closes them all. */
export const openHouseOfNodes = async (count: number, options: HouseOptions = {}): Promise<House> => {
  const single = OF_ONE.filter((name) => options[name] !== undefined);
  if (single.length > 0) throw new Error(`a house of several nodes has no ${single.join(", ")}`);
  const clock: TestClock = options.clock ?? testClock(options.factor ?? 100);
  const database = await freshDatabase();
  const bucket = await openTestBucket(clock.nowMs);
  const front = openFront();
  const houses: House[] = [];
  const open = async (): Promise<House> => {
    const store = await openPostgresStore({ url: database.url, prepare: true, readers: 3, mode: "test", nowMs: clock.nowMs() });
    const house = await openHouse({
      ...options,
      clock,
      node: { store, front: front.url },
      env: { ...bucket.settings, ...options.env },
      ...(houses[0] ? { simulator: houses[0].simulator } : {}),
    });
    front.nodes.push(house.own);
    return house;
  };
  for (let n = 0; n < count; n += 1) houses.push(await open());
  const [first, ...others] = houses;
  if (!first) throw new Error("a house needs a node");
  const end = async (how: "close" | "crash") => {
    await front.stop();
    if (how === "close") await first.verify();
    for (const house of [...others, first]) await house.crash();
    if (!options.clock) clock.stop();
    await bucket.close();
    await database.drop();
  };
  return { ...first, close: () => end("close"), crash: () => end("crash") };
};
