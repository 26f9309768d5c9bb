// A seeded simulation of generations in virtual time. It counts what the capacity calculator computes by formulas.

import { type Costs, linearAt } from "../../src/cli/capacity/costs.ts";
import { createRng, type Rng } from "../../src/torture/simulation/rng.ts";
import { openAgenda, openLevel, openLine } from "./queue.ts";

export type World = {
  seed: number;
  costs: Costs;
  isShared: boolean;
  rate: number;
  runS: number;
  polls: number;
  nodes: number;
  databaseCores: number;
  /** The max_running of each node. */
  maxRunning: number;
  syncMs: number;
  roundTripMs: number;
  /** The warm-up time and the measured time, in s. */
  warmS: number;
  countedS: number;
};

export type Seen = {
  /** The mean of running generations, and their 99.9th percentile. */
  inFlight: number;
  inFlightSeldomMore: number;
  /** The utilization of the main thread, as the mean over the nodes. */
  thread: number;
  databaseCores: number;
  commitsPerS: number;
  batch: number;
  writerBusy: number;
  looks: number;
  /** Mutations and generations that wait at the end of the simulation. */
  mutationsWaiting: number;
  seatsWaiting: number;
  /** Work in the queues of the threads and of the database at the end. */
  workWaiting: number;
  /** The mean wait of a mutation until its commit, in ms. */
  writtenAfterMs: number;
};

/**
 * Mutations of a generation before its job runs (its admission, its sending and its acceptance) and the one that ends it; the mean
 * time of an acceptance and of a download.
 */
const [BEFORE_RUN, AT_END] = [3, 1];
const ACCEPTS_MS = 250;
const COLLECTS_MS = 300;
/** The standard deviation of the logarithm of run times. Pauses between polls grow with jitter, as in the service. */
const SPREAD = 0.5;
const [FIRST_LOOK_MS, LONGEST_LOOK_MS, GROWS, LEAST, MORE] = [2000, 5000, 1.5, 0.85, 0.3];
const MOST_IN_A_COMMIT = 1000;
const ROUND_TRIPS = 2;
const SAMPLE_MS = 97;

const normal = (dice: Rng): number => Math.sqrt(-2 * Math.log(1 - dice.roll())) * Math.cos(2 * Math.PI * dice.roll());
const exponential = (dice: Rng, mean: number): number => -Math.log(1 - dice.roll()) * mean;

export const simulate = (world: World): Seen => {
  const { costs, nodes, isShared } = world;
  const atResult = costs.mutations - BEFORE_RUN - AT_END;
  if (!(atResult >= 0)) throw new Error(`a generation has ${costs.mutations} mutations, fewer than this simulation makes`);
  const dice = createRng(world.seed);
  const [arriving, running, polling] = [dice.fork("arrivals"), dice.fork("runs"), dice.fork("polls")];
  const agenda = openAgenda();
  const database = openLine(agenda, world.databaseCores);
  const inFlight = openLevel(agenda);
  let counted = { commits: 0, mutations: 0, writingMs: 0, looks: 0, ended: 0, waitedMs: 0 };

  /** One node: a thread that works sequentially, a writer with group commit, and a run queue. */
  const openNode = () => {
    const thread = openLine(agenda, 1);
    const writing = openLine(agenda, 1);
    const mailbox: { sinceMs: number; then: () => void }[] = [];
    let isWriting = false;
    let free = world.maxRunning;
    const line: (() => void)[] = [];

    const flush = (): void => {
      const batch = mailbox.splice(0, MOST_IN_A_COMMIT);
      if (batch.length === 0) {
        isWriting = false;
        return;
      }
      isWriting = true;
      const beganMs = agenda.nowMs();
      const nodeMs = linearAt(costs.commit.nodeMs, batch.length);
      const done = (): void => {
        counted.commits += 1;
        counted.mutations += batch.length;
        counted.writingMs += agenda.nowMs() - beganMs;
        for (const { sinceMs, then } of batch) {
          counted.waitedMs += agenda.nowMs() - sinceMs;
          then();
        }
        flush();
      };
      if (!isShared) {
        writing.work(nodeMs, () => agenda.after(world.syncMs, done));
        return;
      }
      // Serialized and sent, processed by the database over two round trips, synced, and read again.
      thread.work(nodeMs / 2, () =>
        agenda.after(ROUND_TRIPS * world.roundTripMs, () =>
          database.work(linearAt(costs.commit.databaseMs, batch.length), () =>
            agenda.after(world.syncMs, () => thread.work(nodeMs / 2, done)),
          ),
        ),
      );
    };
    return {
      thread,
      waiting: () => mailbox.length,
      inLine: () => line.length,
      post: (then: () => void): void => {
        mailbox.push({ sinceMs: agenda.nowMs(), then });
        if (!isWriting) flush();
      },
      slot: (then: () => void): void => {
        if (free === 0) return void line.push(then);
        free -= 1;
        then();
      },
      leave: (): void => {
        const next = line.shift();
        if (next) next();
        else free += 1;
      },
    };
  };
  type Node = ReturnType<typeof openNode>;
  const all = Array.from({ length: nodes }, openNode);
  const at = (n: number): Node => all[n % nodes] as Node;

  /** A mutation: its work, its reads, then its commit. */
  const step = (node: Node, then: () => void): void =>
    node.thread.work(costs.lifeMs / costs.mutations, () => {
      if (isShared) database.work(costs.readsMs / costs.mutations, () => node.post(then));
      else node.post(then);
    });
  const steps = (node: Node, count: number, then: () => void): void =>
    count === 0 ? then() : step(node, () => steps(node, count - 1, then));

  const pollOf = (owner: Node): void => {
    const node = at(polling.whole(0, nodes - 1));
    if (node === owner) node.thread.work(costs.pollMs, () => undefined);
    else node.thread.work(costs.pollElsewhere.nodeMs, () => database.work(costs.pollElsewhere.databaseMs, () => undefined));
  };

  const live = (node: Node): void => {
    const wantedMs = world.runS * 1000;
    const runMs = Math.exp(Math.log(wantedMs) - SPREAD ** 2 / 2 + SPREAD * normal(running));
    for (let n = 0; n < world.polls; n += 1) agenda.after(polling.between(0, runMs), () => pollOf(node));
    const end = (): void =>
      steps(node, atResult, () =>
        agenda.after(exponential(running, COLLECTS_MS), () =>
          step(node, () => {
            counted.ended += 1;
            inFlight.add(-1);
            node.leave();
          }),
        ),
      );
    const look = (overAtMs: number, pauseMs: number): void =>
      agenda.after(pauseMs * (LEAST + MORE * running.roll()), () => {
        counted.looks += 1;
        node.thread.work(costs.lookMs, () => {
          if (agenda.nowMs() >= overAtMs) end();
          else look(overAtMs, Math.min(LONGEST_LOOK_MS, pauseMs * GROWS));
        });
      });
    step(node, () =>
      node.slot(() => {
        inFlight.add(1);
        steps(node, BEFORE_RUN - 2, () => {
          const overAtMs = agenda.nowMs() + runMs;
          agenda.after(exponential(running, ACCEPTS_MS), () => step(node, () => look(overAtMs, FIRST_LOOK_MS)));
        });
      }),
    );
  };
  let born = 0;
  const arrive = (): void =>
    agenda.after(exponential(arriving, 1000 / world.rate), () => {
      live(at(born++));
      arrive();
    });
  arrive();
  agenda.runUntil(world.warmS * 1000);

  inFlight.mean();
  counted = { commits: 0, mutations: 0, writingMs: 0, looks: 0, ended: 0, waitedMs: 0 };
  const worked = () => all.reduce((sum, { thread }) => sum + thread.worked(), 0);
  const [threadsBefore, databaseBefore] = [worked(), database.worked()];
  const samples: number[] = [];
  const sample = (): void => {
    samples.push(inFlight.now());
    agenda.after(SAMPLE_MS, sample);
  };
  sample();
  agenda.runUntil((world.warmS + world.countedS) * 1000);
  const ms = world.countedS * 1000;
  samples.sort((a, b) => a - b);
  return {
    inFlight: inFlight.mean(),
    inFlightSeldomMore: samples[Math.floor(samples.length * 0.999)] ?? 0,
    thread: (worked() - threadsBefore) / ms / nodes,
    databaseCores: (database.worked() - databaseBefore) / ms,
    commitsPerS: counted.commits / world.countedS,
    batch: counted.mutations / counted.commits,
    writerBusy: counted.writingMs / ms / nodes,
    looks: counted.looks / counted.ended,
    mutationsWaiting: all.reduce((sum, { waiting }) => sum + waiting(), 0),
    seatsWaiting: all.reduce((sum, { inLine }) => sum + inLine(), 0),
    workWaiting: all.reduce((sum, { thread }) => sum + thread.waiting(), database.waiting()),
    writtenAfterMs: counted.waitedMs / counted.mutations,
  };
};
