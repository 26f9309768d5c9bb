// Bench of submission against queues: the service as shipped, and each peer's durable accept behind the same HTTP front.
import { type Bench, type Env, hold, type Result } from "../bench.ts";
import { startMeter } from "../measure.ts";
import { beside, playRounds, type Side } from "../rounds.ts";
import { BODY, keyOf, STORED } from "../rungs/parts.ts";
import { IN_LINE, submissions, withService } from "../sides.ts";
import { installPeers } from "./packages.ts";
import type { Storing } from "./parts.ts";
import { eachThatIsThere, PEER_KEYS, sideOf, sidesOf, startPeer } from "./peer.ts";
import type { QueueName } from "./queues.ts";
import { RESTATE_PATH, startRestate } from "./restate.ts";

const CONNECTIONS = 64;
/** Restate can be filled only through its ingress. */
const FILL_MS = 500;

/** Restate's ingress: no API key, no schema and no price, which favors it; its idempotency key is the same header. */
const toRestate: Side["streams"][number] = {
  heads: [
    `POST ${RESTATE_PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${keyOf(0)}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n`,
  ],
  isKeyed: true,
  body: BODY,
};

type Peer = Pick<Result, "target" | "isNote"> & {
  name: string;
  stream: Side["streams"][number];
  start: (report: (line: string) => void) => Promise<Storing>;
};
const startQueue = (queue: QueueName, report: (line: string) => void) => startPeer(queue, { filled: STORED }, report);
const PEERS: readonly Peer[] = [
  { name: "BullMQ", target: 1.5, stream: submissions(PEER_KEYS), start: (report) => startQueue("bullmq", report) },
  {
    ...{ name: "Restate", target: 2.5, stream: toRestate },
    start: async (report) => {
      await installPeers(report);
      return startRestate();
    },
  },
  { name: "pg-boss", target: 10, stream: submissions(PEER_KEYS), start: (report) => startQueue("pg-boss", report) },
  {
    ...{ name: "graphile-worker", target: 10, isNote: true, stream: submissions(PEER_KEYS) },
    start: (report) => startQueue("graphile", report),
  },
];

/** Submits until `count` are stored. @returns the number of stored jobs. */
const fill = async (side: Side, filled: number): Promise<number> => {
  if (filled >= STORED) return filled;
  const meter = startMeter(side);
  try {
    let made = filled;
    while (made < STORED) {
      const { count } = await meter.measure({ connections: CONNECTIONS, rate: null, warmMs: 0, forMs: FILL_MS });
      if (count === 0) throw new Error(`${side.name} took nothing`);
      made += count;
    }
    return made;
  } finally {
    meter.stop();
  }
};

type Opened = { peer: Peer; part: Storing };

/** Plays the service and all peers in the same rounds. @throws also if a peer has fewer jobs on disk than it accepted. */
const playAll = async (ours: Side, opened: readonly Opened[], env: Env): Promise<Result[]> => {
  const sides: Record<string, Side> = { [ours.name]: ours };
  const filled = new Map<string, number>();
  for (const { peer, part } of opened) {
    const side = Object.assign(sideOf(peer.name, part), { streams: [peer.stream] });
    filled.set(peer.name, await fill(side, part.filled));
    sides[peer.name] = side;
  }
  const plan = { ...env, forMs: env.roundMs, connections: CONNECTIONS, rate: null, warmTogether: true };
  const played = await playRounds(sides, plan, (status) => status === "202");
  const mine = played[ours.name];
  const results: Result[] = [];
  for (const { peer, part } of opened) {
    const { name, target, isNote } = peer;
    const theirs = played[name];
    if (!mine || !theirs) throw new Error(`${name} was not played`);
    const accepted = (filled.get(name) ?? 0) + theirs.accepted;
    const stored = await part.stored();
    if (!(stored >= accepted)) throw new Error(`${name} said of ${accepted} that they are stored, and has ${stored}`);
    const reported = { unit: "req/s", sides: sidesOf(name, part), ...beside({ ours: mine, other: theirs }) } as const;
    const held = { ...reported, name: `submit-peers, ${name}`, target, wants: "at least" } as const;
    results.push(hold(isNote ? { ...held, isNote } : held, mine.perSecond, theirs.perSecond));
  }
  return results;
};

/**
 * Every side has its server and its database on one core, begins with ten thousand stored, and returns 202 after the job is on
 * disk; all jobs stay queued. Other peers keep running, but only with the background work of their servers. A peer's job is its
 * payload and its idempotency key: it holds no credits, plans no routes and writes no events.
 */
export const submitPeers: Bench = {
  name: "submit-peers",
  compares:
    "POST /v1/generations at 64 connections: the service / BullMQ on Redis (fsync always), Restate, pg-boss (and, in a long run, graphile-worker)",
  fetches: installPeers,
  run: (env) =>
    withService(
      { env: IN_LINE },
      async ({ service, keys }) => {
        const ours: Side = { name: "the service", port: service.port, pids: [service.pid], streams: [submissions(keys)] };
        const played = PEERS.filter(({ isNote }) => !(isNote && env.isShort));
        const opened: Opened[] = [];
        try {
          const open = async (peer: Peer) => void opened.push({ peer, part: await peer.start(env.report) });
          await eachThatIsThere(played, open, env);
          const inOrder = opened.toSorted((a, b) => played.indexOf(a.peer) - played.indexOf(b.peer));
          return inOrder.length === 0 ? [] : await playAll(ours, inOrder, env);
        } finally {
          for (const { part } of opened) await part.stop();
        }
      },
      "stored",
    ),
};
