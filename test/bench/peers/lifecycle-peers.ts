// Whole generations against queues: the service, and each queue with a worker that makes the same upstream calls and the same file.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dropScratch, makeScratch } from "../../scratch.ts";
import { type Bench, type Env, hold, type Result } from "../bench.ts";
import { seatedOn } from "../provided.ts";
import { beside } from "../rounds.ts";
import { fillStored, type Stage, withService } from "../sides.ts";
import { type LifeSide, playLives } from "../turns.ts";
import {
  IN_FLIGHT,
  INPUT,
  insistOnDelivery,
  ON_FAL,
  type Player,
  POLL_EVERY_MS,
  type Provider,
  startPlayer,
  startSubmitter,
  withProvider,
} from "../upstream.ts";
import { signalAll } from "./parts.ts";
import { eachThatIsThere, PEER_KEYS, sidesOf, startPeer } from "./peer.ts";
import type { QueueName } from "./queues.ts";
import type { PeerSubmitterPlan } from "./submitter.ts";

const PEERS: readonly { name: string; queue: QueueName; target: number }[] = [
  { name: "BullMQ", queue: "bullmq", target: 1 },
  { name: "pg-boss", queue: "pg-boss", target: 2.5 },
];
const { prompt, aspect_ratio, resolution } = INPUT;
const BODY = JSON.stringify({ model: ON_FAL.id, input: { prompt, aspect_ratio, resolution } });
const SUBMITTER = join(import.meta.dir, "submitter.ts");

const picturesIn = (dir: string): number =>
  readdirSync(dir)
    .filter((name) => name !== "incoming")
    .reduce((sum, shard) => sum + readdirSync(join(dir, shard)).length, 0);

/** Whoever was paused is itself again after so long: what was due meanwhile is done. */
const AWAKE_MS = 400;
/** While this player plays, after both have warmed up, others are paused: they share its core, and some of them look for work all the time. */
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

/** Plays the service against one queue. */
const against = async (
  { name, queue, target }: (typeof PEERS)[number],
  { ours, provider, env }: { ours: LifeSide; provider: Provider; env: Env },
): Promise<Result> => {
  const dir = makeScratch(`bench-${queue}-`);
  const model = { ...ON_FAL, endpoint: `bench/${queue}` };
  const errand = { base: provider.falUrl, endpoint: model.endpoint, pollEveryMs: POLL_EVERY_MS, dir };
  const part = await startPeer(queue, { worker: { errand, atATime: IN_FLIGHT } }, env.tell);
  const service = typeof ours.pid === "number" ? [ours.pid] : ours.pid();
  const url = `http://127.0.0.1:${part.port}`;
  const plan: PeerSubmitterPlan = { url, keys: PEER_KEYS, body: BODY, inFlight: IN_FLIGHT };
  const player = await startPlayer(SUBMITTER, plan);
  const ended = async () => (await (await fetch(`${url}/ended`, { headers: { connection: "close" } })).json()) as number[];
  const other: LifeSide = {
    ...{ name, dir, model, pid: part.pids, helpers: [provider.pid, player.pid], player },
    count: async (fromMs, toMs) => (await ended()).filter((atMs) => atMs >= fromMs && atMs < toMs).length,
  };
  try {
    const seen = await playLives(
      {
        ours: { ...ours, player: pausing(ours.player, part.pids) },
        other: { ...other, player: pausing(player, () => service) },
      },
      env,
    );
    player.stop();
    const finished = (await ended()).length;
    const { submitted, delivered } = (await provider.counts()).endpoints[model.endpoint] ?? { submitted: 0, delivered: 0 };
    if (finished !== submitted || delivered !== submitted || picturesIn(dir) !== submitted)
      throw new Error(
        `${name}: ${submitted} jobs were paid for, ${delivered} fetched, ${finished} finished, ${picturesIn(dir)} kept`,
      );
    const held = {
      name: `lifecycle-peers, ${name}`,
      unit: "gen/s",
      sides: sidesOf(name, part),
      target,
      wants: "at least",
      ...beside(seen),
    } as const;
    return hold(held, seen.ours.perSecond, seen.other.perSecond);
  } finally {
    signalAll(service, "SIGCONT");
    await part.stop();
    dropScratch(dir);
  }
};

/**
 * 256 generations in flight on both sides, at the same provider, which takes no time; the same pauses between polls, the same picture,
 * written and synced in the same order. A peer makes two durable steps of a job, its accept and its end (and what its queue writes to
 * hand it out); the service makes six, so that it can go on after any of them, and holds and charges credits. Ten thousand have ended in the
 * service before the first is measured; the queues begin empty, which is in their favour.
 */
export const lifecyclePeers: Bench = {
  name: "lifecycle-peers",
  compares: "whole generations, 256 in flight: the service / BullMQ and pg-boss, each with a worker that does the same",
  run: (env) =>
    withProvider((provider) => {
      const settings = seatedOn(provider, [ON_FAL]);
      const live = async (stage: Stage) => {
        const player = await startSubmitter(stage, ON_FAL);
        const helpers = [provider.pid, player.pid];
        const ours: LifeSide = { name: "the service", dir: stage.dir, model: ON_FAL, pid: stage.service.pid, helpers, player };
        const results = await eachThatIsThere(PEERS, (peer) => against(peer, { ours, provider, env }), env);
        player.stop();
        await insistOnDelivery(ours, provider);
        return results;
      };
      return withService({ env: settings }, live, fillStored);
    }),
};
