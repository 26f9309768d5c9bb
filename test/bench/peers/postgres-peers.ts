// Bench of one node over PostgreSQL against queues in the same server: submissions and whole generations.
import { type Bench, type Env, hold, type Result } from "../bench.ts";
import { seatedOn } from "../provided.ts";
import { beside, playRounds, type Side } from "../rounds.ts";
import { STORED } from "../rungs/parts.ts";
import { type Shared, withShared } from "../shared.ts";
import { IN_LINE, submissions } from "../sides.ts";
import { ON_FAL, withProvider } from "../upstream.ts";
import { type LifePeer, type OpenedPeer, openLifePeer, playWithPeers } from "./lifecycle-peers.ts";
import { installPeers } from "./packages.ts";
import type { Storing } from "./parts.ts";
import { eachThatIsThere, PEER_KEYS, sideOf, startPeer } from "./peer.ts";
import type { QueueName } from "./queues.ts";

const CONNECTIONS = 64;
const OURS = "one node";

/** `gathers`: orders that arrive during a write use the queue's batch call, which no manual recommends for an HTTP front. */
const PEERS: readonly { name: string; queue: QueueName; gathers: boolean; target?: number }[] = [
  { name: "pg-boss", queue: "pg-boss", gathers: false },
  { name: "graphile-worker", queue: "graphile", gathers: false },
  { name: "pg-boss, gathering", queue: "pg-boss", gathers: true, target: 1.1 },
  { name: "graphile-worker, gathering", queue: "graphile", gathers: true },
];
const LIFE_PEERS: readonly LifePeer[] = [
  { name: "pg-boss", queue: "pg-boss", target: 1 },
  { name: "graphile-worker", queue: "graphile", target: 1, isNote: true },
];
/** The bound of the CPU time of a life in the node and in its server, µs. */
const LIFE_US = 2_500;
/** These have no target. */
const INFORMATIONAL = { target: 1, wants: "at least", isNote: true } as const;

const playSubmissions = async ({ postgres, open }: Shared, env: Env): Promise<Result[]> => {
  const node = await open(OURS, 1, IN_LINE);
  const parts = new Map<string, Storing>();
  try {
    const wanted = PEERS.filter(({ gathers, target }) => !(gathers && env.isShort) || target !== undefined);
    await eachThatIsThere(
      wanted,
      async ({ name, queue, gathers }) => {
        parts.set(name, await startPeer(queue, { filled: STORED, gathers, on: postgres }, env.report));
      },
      env,
    );
    const sides: Record<string, Side> = { [OURS]: node.side };
    for (const { name } of wanted) {
      const part = parts.get(name);
      if (part) sides[name] = Object.assign(sideOf(name, part), { streams: [submissions(PEER_KEYS)] });
    }
    const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null, warmTogether: true };
    const { [OURS]: mine, ...theirs } = await playRounds(sides, plan, (status) => status === "202");
    if (!mine) throw new Error(`${OURS} was not played`);
    await node.requireRows(mine.accepted);
    const results: Result[] = [];
    for (const { name, target } of wanted) {
      const [part, played] = [parts.get(name), theirs[name]];
      if (!part) continue;
      if (!played) throw new Error(`${name} was not played`);
      const stored = await part.stored();
      if (!(stored >= STORED + played.accepted))
        throw new Error(`${name} said of ${played.accepted} that they are stored, and has ${stored - STORED}`);
      const reported = { ...INFORMATIONAL, sides: `${OURS} / ${name}, on the same ${postgres.server}` };
      const both = { ours: mine, other: played };
      const [ours, other] = [mine.databaseUs, played.databaseUs];
      const { isNote: _, ...judged } = reported;
      const rate = target === undefined ? reported : { ...judged, target };
      results.push(
        hold({ ...rate, ...beside(both), name: `postgres-peers, ${name}`, unit: "req/s" }, mine.perSecond, played.perSecond),
        hold({ ...reported, wants: "at most", name: `postgres-peers, ${name}, CPU of PostgreSQL`, unit: "µs/req" }, ours, other),
      );
    }
    return results;
  } finally {
    for (const part of parts.values()) await part.stop();
    await node.stop();
  }
};

const playWholeLives = (shared: Shared, env: Env): Promise<Result[]> =>
  withProvider(async (provider) => {
    const node = await shared.open(`${OURS} with lives`, 1, seatedOn(provider, [ON_FAL]));
    const peers: OpenedPeer[] = [];
    try {
      const ours = { ...(await node.play(ON_FAL, provider)), name: OURS, restless: () => [] };
      const wanted = LIFE_PEERS.filter(({ isNote }) => !(isNote && env.isShort));
      await eachThatIsThere(wanted, async (peer) => void peers.push(await openLifePeer(peer, provider, env, shared)), env);
      const inOrder = wanted.flatMap(({ name }) => peers.filter((peer) => peer.name === name));
      const { results, mine } = await playWithPeers("postgres-peers, lives", ours, inOrder, env);
      ours.player.stop();
      await node.requireDelivery(ON_FAL, provider);
      if (mine) {
        const held = { unit: "µs/gen", sides: "the node and its server / the bound", target: 1, wants: "at most" } as const;
        const lifeUs = mine.cpuUs.median + mine.databaseUs.median;
        results.push(hold({ ...held, name: "postgres-peers, CPU of a life" }, lifeUs, LIFE_US));
      }
      return results;
    } finally {
      for (const { close } of peers) await close();
      await node.stop();
    }
  });

/**
 * One server for all, with synchronous commits, and a database for each side that begins with ten thousand stored. Server, node
 * and HTTP fronts share one core; the load has the other. A peer's accept is one row and its key. The node checks the input,
 * prices it, plans routes, looks up the key, holds the credits, chains the ledger and writes the row for recovery. Pictures go to
 * the same bucket, with one PUT for each.
 */
export const postgresPeers: Bench = {
  name: "postgres-peers",
  compares:
    "submissions at 64 connections, and whole generations: one node over PostgreSQL / pg-boss and graphile-worker on the same server",
  fetches: installPeers,
  run: async (env) => {
    await installPeers(env.report);
    return await withShared(false, async (shared) => [
      ...(await playSubmissions(shared, env)),
      ...(await playWholeLives(shared, env)),
    ]);
  },
};
