// Bench of whole generations against queues, each with a worker that makes the same upstream calls and the same file.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dropScratch, makeScratch } from "../../scratch.ts";
import { type Bench, type Env, hold, type Result } from "../bench.ts";
import { seatedOn } from "../provided.ts";
import { beside } from "../rounds.ts";
import { BUCKET_KEY, BUCKET_NAME, type Shared } from "../shared.ts";
import { type Stage, withService } from "../sides.ts";
import { type LifeSide, pidsOf, playLives } from "../turns.ts";
import {
  IN_FLIGHT,
  INPUT,
  ON_FAL,
  type Player,
  POLL_EVERY_MS,
  type Provider,
  requireDelivery,
  startPlayer,
  startSubmitter,
  withProvider,
} from "../upstream.ts";
import { installPeers } from "./packages.ts";
import { type Storing, signalAll } from "./parts.ts";
import { eachThatIsThere, PEER_KEYS, sidesOf, startPeer } from "./peer.ts";
import type { QueueName } from "./queues.ts";
import type { PeerSubmitterPlan } from "./submitter.ts";

const PEERS: readonly LifePeer[] = [
  { name: "BullMQ", queue: "bullmq", target: 1 },
  { name: "pg-boss", queue: "pg-boss", target: 2.2 },
];
const { prompt, aspect_ratio, resolution } = INPUT;
const BODY = JSON.stringify({ model: ON_FAL.id, input: { prompt, aspect_ratio, resolution } });
const SUBMITTER = join(import.meta.dir, "submitter.ts");

const picturesIn = (dir: string): number =>
  readdirSync(dir)
    .filter((name) => name !== "incoming")
    .reduce((sum, shard) => sum + readdirSync(join(dir, shard)).length, 0);

/** The time after a pause in which a peer finishes its overdue work. */
const AWAKE_MS = 400;
/** Pauses the others while this player plays: they share its core, and some poll for work all the time. */
const pausing = (player: Player, others: () => readonly number[]): Player => {
  let turns = 0;
  return {
    ...player,
    begin: () => {
      turns += 1;
      if (turns > 1) signalAll(others(), "SIGSTOP");
      player.begin();
    },
    end: async () => {
      await player.end();
      if (turns === 1) return;
      signalAll(others(), "SIGCONT");
      await Bun.sleep(AWAKE_MS);
    },
  };
};

export type LifePeer = { name: string; queue: QueueName; target: number; isNote?: true };
export type OpenedPeer = Pick<LifePeer, "name" | "target" | "isNote"> & {
  part: Storing;
  side: LifeSide;
  insist(): Promise<void>;
  close(): Promise<void>;
};

/** Starts a queue with its worker. @param shared a shared server and bucket; default: a separate server and a directory. */
export const openLifePeer = async (
  { name, queue, target, isNote }: LifePeer,
  provider: Provider,
  env: Pick<Env, "report">,
  shared?: Pick<Shared, "postgres" | "bucket">,
): Promise<OpenedPeer> => {
  const dir = makeScratch(`bench-${queue}-`);
  const model = { ...ON_FAL, endpoint: `bench/${queue}` };
  const prefix = `${queue}/`;
  const task = {
    ...{ base: provider.falUrl, endpoint: model.endpoint, pollEveryMs: POLL_EVERY_MS, dir },
    ...(shared ? { bucket: { endpoint: shared.bucket.endpoint, name: BUCKET_NAME, key: BUCKET_KEY, prefix } } : {}),
  };
  const worker = { task, atATime: IN_FLIGHT };
  const part = await startPeer(queue, { worker, ...(shared ? { on: shared.postgres } : {}) }, env.report);
  const kept = async () => (shared ? (await shared.bucket.kept(prefix)).objects : picturesIn(dir));
  const url = `http://127.0.0.1:${part.port}`;
  const plan: PeerSubmitterPlan = { url, keys: PEER_KEYS, body: BODY, inFlight: IN_FLIGHT };
  const player = await startPlayer(SUBMITTER, plan);
  const ended = async () => (await (await fetch(`${url}/ended`, { headers: { connection: "close" } })).json()) as number[];
  return {
    ...{ name, target, part, ...(isNote ? { isNote } : {}) },
    side: {
      ...{ name, dir, model, pid: part.pids, player },
      helpers: [provider.pid, player.pid, ...(shared ? [shared.bucket.pid] : [])],
      ...(shared ? { databasePids: shared.postgres.pids, restless: part.ownPids ?? part.pids } : {}),
      count: async (fromMs, toMs) => (await ended()).filter((atMs) => atMs >= fromMs && atMs < toMs).length,
    },
    insist: async () => {
      player.stop();
      const finished = (await ended()).length;
      const { submitted, delivered } = (await provider.counts()).endpoints[model.endpoint] ?? { submitted: 0, delivered: 0 };
      const pictures = await kept();
      if (finished !== submitted || delivered !== submitted || pictures !== submitted)
        throw new Error(`${name}: ${submitted} jobs were paid for, ${delivered} fetched, ${finished} finished, ${pictures} kept`);
    },
    close: async () => {
      await part.stop();
      dropScratch(dir);
    },
  };
};

const OURS = "the service";
/** A round of all peers takes 7 s, and in a short run no figure is near its target. */
const SHORT_ROUNDS = 2;

/** Plays the service and all queues in the same rounds. @param prefix of the result names. */
export const playWithPeers = async (
  prefix: string,
  ours: LifeSide,
  peers: readonly OpenedPeer[],
  env: Env,
): Promise<{ results: Result[]; mine: Awaited<ReturnType<typeof playLives>>[string] | undefined }> => {
  const all = [ours, ...peers.map(({ side }) => side)];
  const restless = (side: LifeSide) => side.restless?.() ?? pidsOf(side);
  const resting = (side: LifeSide) => all.filter((other) => other !== side).flatMap(restless);
  const sides = Object.fromEntries(
    all.map((side) => [side.name, { ...side, player: pausing(side.player, () => resting(side)) }]),
  );
  // More processes share the cores during the warm-up.
  const warmAtMostMs = (env.lives.warmAtMostMs * all.length) / 2;
  const lives = { ...env.lives, ...(env.isShort ? { rounds: SHORT_ROUNDS } : {}), warmAtMostMs };
  try {
    const { [ours.name]: mine, ...theirs } = await playLives(sides, { ...env, lives });
    for (const { insist } of peers) await insist();
    const results = peers.map(({ name, target, isNote, part }) => {
      const played = theirs[name];
      if (!mine || !played) throw new Error(`${name} was not played`);
      const of = { unit: "gen/s", sides: sidesOf(name, part, ours.name), target, wants: "at least" } as const;
      const held = { ...of, ...(isNote ? { isNote } : {}), ...beside({ ours: mine, other: played }), name: `${prefix}, ${name}` };
      return hold(held, mine.perSecond, played.perSecond);
    });
    return { results, mine };
  } finally {
    signalAll(all.flatMap(restless), "SIGCONT");
  }
};

/**
 * 256 generations in flight on both sides, at the same provider, which takes no time, so that one poll shows the result; the same
 * picture, written and synced in the same order. A peer makes two durable writes for a job, its accept and its end (plus those
 * of its queue to hand it out). The service makes four, so that it can continue after any of them, and holds and charges credits.
 * The service begins with ten thousand ended generations; the queues begin empty, which favors them.
 */
export const lifecyclePeers: Bench = {
  name: "lifecycle-peers",
  compares: "whole generations, 256 in flight: the service / BullMQ and pg-boss, each with a worker that does the same",
  fetches: installPeers,
  run: (env) =>
    withProvider((provider) => {
      const settings = seatedOn(provider, [ON_FAL]);
      const live = async (stage: Stage) => {
        const player = await startSubmitter(stage, ON_FAL);
        const helpers = [provider.pid, player.pid];
        const ours: LifeSide = { name: OURS, dir: stage.dir, model: ON_FAL, pid: stage.service.pid, helpers, player };
        const peers: OpenedPeer[] = [];
        try {
          await eachThatIsThere(PEERS, async (peer) => void peers.push(await openLifePeer(peer, provider, env)), env);
          const inOrder = PEERS.flatMap(({ name }) => peers.filter((peer) => peer.name === name));
          const results = inOrder.length === 0 ? [] : (await playWithPeers("lifecycle-peers", ours, inOrder, env)).results;
          player.stop();
          await requireDelivery(ours, provider);
          return results;
        } finally {
          for (const { close } of peers) await close();
        }
      };
      return withService({ env: settings }, live, "stored");
    }),
};
