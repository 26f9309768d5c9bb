// A queue as a peer: its server, and its HTTP front (with or without a worker) on the same core.
import { join } from "node:path";
import { type Env, Skipped } from "../bench.ts";
import { onServerCore } from "../machine.ts";
import { FIRST_DATABASE, type Postgres, startPostgres } from "../postgres.ts";
import { ACCOUNTS, keyOf } from "../rungs/parts.ts";
import { installPeers } from "./packages.ts";
import { familyOf, type Part, type Server, type Storing } from "./parts.ts";
import type { QueueName } from "./queues.ts";
import { startRedis } from "./redis.ts";
import type { PeerPlan } from "./server.ts";

const GATE = join(import.meta.dir, "server.ts");
export const PEER_KEYS = Array.from({ length: ACCOUNTS }, (_, account) => keyOf(account));

const alive = new Set<ReturnType<typeof Bun.spawn>>();
// Stopped before its server, because it would log errors about the server's end.
process.prependListener("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

const startGate = async (plan: PeerPlan): Promise<Part> => {
  const child = Bun.spawn(onServerCore([process.execPath, GATE, JSON.stringify(plan)]), {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit" },
    // The same limit of requests in flight as the service's.
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: "4096", NODE_ENV: "production" },
  });
  alive.add(child);
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    const port = /^ready (\d+)$/m.exec(said)?.[1];
    if (port === undefined) continue;
    return {
      ...{ port: Number(port), pids: () => familyOf(child.pid) },
      stop: async () => {
        alive.delete(child);
        child.kill("SIGKILL");
        await child.exited;
      },
    };
  }
  throw new Error(`the server of ${plan.queue} ended early: ${said}`);
};

/** A shared server, which only its owner stops. */
const sharing = (server: Postgres): Server => ({ ...server, stop: async () => undefined });

type Starting = Partial<Pick<PeerPlan, "worker" | "filled" | "gathers">> & {
  /** A shared server: the peer gets a separate database and does not stop it. */
  on?: Postgres;
};

/** Starts a queue with its server. @throws NoPeer if its packages or its server are unavailable. */
export const startPeer = async (
  queue: QueueName,
  { worker = null, filled = 0, gathers = false, on }: Starting,
  report: (line: string) => void,
): Promise<Storing> => {
  await installPeers(report);
  const server = on ? sharing(on) : queue === "bullmq" ? await startRedis(report) : await startPostgres();
  try {
    const database = on
      ? `${queue.replaceAll("-", "_")}${gathers ? "_gathering" : ""}${worker ? "_working" : ""}`
      : FIRST_DATABASE;
    if (on) await on.make(database);
    const proxy = await startGate({ queue, place: { port: server.port, database }, worker, filled, gathers });
    return {
      ...{ port: proxy.port, server: server.server, filled },
      pids: () => [...proxy.pids(), ...server.pids()],
      serverPids: server.pids,
      ownPids: proxy.pids,
      stored: async () =>
        Number(await (await fetch(`http://127.0.0.1:${proxy.port}/stored`, { headers: { connection: "close" } })).text()),
      stop: async () => {
        await proxy.stop();
        await server.stop();
      },
    };
  } catch (fault) {
    await server.stop();
    throw fault;
  }
};

/** A peer as a side of a bench. */
export const sideOf = (name: string, part: Part & Partial<Pick<Storing, "serverPids">>) => ({
  name,
  port: part.port,
  // Read again each time: PostgreSQL has a process for each connection.
  get pids(): readonly number[] {
    return part.pids();
  },
  ...(part.serverPids ? { databasePids: part.serverPids } : {}),
});

/** Descriptions of both sides of a comparison. */
export const sidesOf = (name: string, { server }: Pick<Storing, "server">, ours = "the service"): string =>
  `${ours} / ${name}${server === undefined ? "" : ` on ${server}`}`;

/** Calls a function for each available peer, with all running at the same time. */
export const eachThatIsThere = async <Peer extends { name: string }, T>(
  peers: readonly Peer[],
  work: (peer: Peer) => Promise<T>,
  { skip }: Pick<Env, "skip">,
): Promise<T[]> => {
  const attempt = async (peer: Peer): Promise<T[]> => {
    try {
      return [await work(peer)];
    } catch (fault) {
      if (!(fault instanceof Skipped) || fault.isFault) throw fault;
      skip(peer.name, fault.message);
      return [];
    }
  };
  const attempts = await Promise.allSettled(peers.map(attempt));
  // All have settled, so that the caller can close everything that was opened.
  const failed = attempts.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  return attempts.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
};
