// Faults of the cluster program: each hits healthy nodes, and the recovery from it overlaps the next fault.

import type { SimulatorPlace, SimulatorProcess } from "../../src/torture/crash/crash-fixture.ts";
import { restarted } from "../../src/torture/crash/load.ts";
import type { Child, Genrouter } from "../../src/torture/crash/processes.ts";
import type { ClusterServer } from "./database.ts";
import type { ClusterNode } from "./node.ts";
import type { Watch } from "./watch.ts";

export type Scene = {
  genrouter: Genrouter;
  nodes: readonly ClusterNode[];
  server: ClusterServer;
  watch: Watch;
  simulatorPlace: SimulatorPlace;
  simulator: SimulatorProcess;
  bucket: Child;
  roll: () => number;
  leaseMs: number;
  /** Work that continues in the background and is awaited at the end. */
  background: (work: Promise<unknown>) => void;
};

export const noHarms = () => ({
  kills: 0,
  killsInSending: 0,
  attemptsInSending: 0,
  killsInDrain: 0,
  completedDrains: 0,
  pauses: 0,
  wokenAfterTheirEnd: 0,
  killedInPause: 0,
  cuts: 0,
  cutsAtCommit: 0,
  stalls: 0,
  databaseCrashes: 0,
  databaseRestarts: 0,
  simulatorKills: 0,
  bucketPauses: 0,
});
export type Harmed = ReturnType<typeof noHarms>;

/** From a kill to the next start, and from the signal of a drain to the kill. */
const DEAD_MS = [0, 2000] as const;
const DRAIN_MS = [0, 200] as const;
/** No drain takes longer than this under these faults; the bound of the service is 25 s. */
const WHOLE_DRAIN_MS = 20_000;
/** A pause in which no node was ended is over after so many leases, whatever its submissions do. */
const LEASES_OF_PAUSE = 1.9;
/** After its end a paused node stays paused for a moment, while others continue with its generations. */
const STILL_MS = [0, 500] as const;
const SHORT_PAUSE_MS = [50, 900] as const;
const KILLED_IN_PAUSE = 0.15;
const BUCKET_PAUSE_MS = [100, 3000] as const;
const STALL_MS = [200, 3000] as const;
const SERVER_OUTAGE_MS = [0, 700] as const;
const LOOK_MS = 30;
const ENDS_WITHIN_MS = 15_000;

export const openHarms = (scene: Scene, figures: Harmed) => {
  const { nodes, server, watch, roll, leaseMs, background } = scene;
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);
  const wellOnes = () => nodes.filter((node) => node.isWell());
  const pick = (): ClusterNode | undefined => {
    const some = wellOnes();
    return some[Math.floor(roll() * some.length)];
  };
  const later = (node: ClusterNode, ms = between(DEAD_MS)) => background(Bun.sleep(ms).then(node.begin));

  /** Unknown while the database is unavailable. */
  const countSending = async (pid: number): Promise<void> => {
    const found = await watch.inSending(pid).catch(() => 0);
    figures.killsInSending += found > 0 ? 1 : 0;
    figures.attemptsInSending += found;
  };
  const killAll = async (some: readonly ClusterNode[], wasSignalled = false): Promise<void> => {
    const pids = some.map((node) => node.child().pid);
    await Promise.all(some.map((node) => node.kill(wasSignalled)));
    figures.kills += some.length;
    for (const pid of pids) await countSending(pid);
    for (const node of some) later(node);
  };
  const kill = (count: number) => async () => {
    const some = wellOnes();
    const from = Math.floor(roll() * some.length);
    await killAll([...some.slice(from), ...some.slice(0, from)].slice(0, count));
  };

  /** Pauses a node until the database has ended it, and a moment longer. */
  const pausePastLease = async () => {
    const node = pick();
    if (!node) return;
    const child = node.strike();
    child.kill("SIGSTOP");
    figures.pauses += 1;
    const isKilled = roll() < KILLED_IN_PAUSE;
    const stillMs = between(STILL_MS);
    const recover = async () => {
      const untilMono = performance.now() + LEASES_OF_PAUSE * leaseMs;
      let isEnded = false;
      while (!isEnded && performance.now() < untilMono) {
        await Bun.sleep(LOOK_MS);
        isEnded = await watch.isEnded(child.pid).catch(() => false);
      }
      if (isEnded) await Bun.sleep(Math.max(0, Math.min(stillMs, untilMono - performance.now())));
      if (isKilled) {
        figures.killedInPause += 1;
        await node.kill();
        return node.begin();
      }
      if (isEnded) figures.wokenAfterTheirEnd += 1;
      await node.wake(isEnded, ENDS_WITHIN_MS);
    };
    background(recover());
  };
  const pauseBriefly = async () => {
    const node = pick();
    if (!node) return;
    node.strike().kill("SIGSTOP");
    figures.pauses += 1;
    await Bun.sleep(between(SHORT_PAUSE_MS));
    background(node.wake(false, ENDS_WITHIN_MS));
  };

  const drain = async () => {
    const node = pick();
    if (!node) return;
    figures.completedDrains += 1;
    background(node.drain(WHOLE_DRAIN_MS).then(() => later(node)));
  };
  const killInDrain = async () => {
    const node = pick();
    if (!node) return;
    node.strike().kill("SIGTERM");
    figures.killsInDrain += 1;
    await Bun.sleep(between(DRAIN_MS));
    await killAll([node], true);
  };
  const roll3 = async () => {
    const recover = async () => {
      for (const node of nodes) {
        if (!node.isWell()) continue;
        figures.completedDrains += 1;
        await node.drain(WHOLE_DRAIN_MS);
        await node.begin();
      }
    };
    background(recover());
  };

  const cut = async () => {
    pick()?.wire.cut();
    figures.cuts += 1;
  };
  const cutAtCommit = async () => {
    const node = pick();
    if (roll() < 0.5) node?.wire.cutBeforeCommit();
    else node?.wire.cutAfterCommit();
    figures.cutsAtCommit += 1;
  };
  const stall = async () => {
    const node = pick();
    if (!node) return;
    const child = node.strike();
    node.wire.stallAtCommit();
    figures.stalls += 1;
    const recover = async () => {
      await Bun.sleep(between(STALL_MS));
      node.wire.resume();
      await node.wake(await watch.isEnded(child.pid).catch(() => false), ENDS_WITHIN_MS);
    };
    background(recover());
  };

  const restartServer = (how: "crash" | "fast") => async () => {
    figures[how === "crash" ? "databaseCrashes" : "databaseRestarts"] += 1;
    await server.restart(how, between(SERVER_OUTAGE_MS));
  };
  const killSimulator = async () => {
    figures.simulatorKills += 1;
    scene.simulator = await restarted(scene.simulator, scene.genrouter, scene.simulatorPlace);
  };
  const pauseBucket = async () => {
    scene.bucket.kill("SIGSTOP");
    figures.bucketPauses += 1;
    background(Bun.sleep(between(BUCKET_PAUSE_MS)).then(() => scene.bucket.kill("SIGCONT")));
  };

  /** The first number of each row is its share in percent. */
  const SHARES: readonly (readonly [number, string, () => Promise<void>])[] = [
    [31, "kill -9 of a node", kill(1)],
    [8, "kill -9 of two nodes", kill(2)],
    [4, "kill -9 of all nodes", kill(3)],
    [20, "a node is paused past its lease", pausePastLease],
    [4, "a node is paused for a moment", pauseBriefly],
    [5, "a drain", drain],
    [4, "kill -9 during a drain", killInDrain],
    [2, "a rolling restart", roll3],
    [4, "a node loses its connections", cut],
    [5, "a node loses the connection of a commit", cutAtCommit],
    [4, "a node is stalled at a commit", stall],
    [3, "the database crashes", restartServer("crash")],
    [2, "the database is restarted", restartServer("fast")],
    [2, "the simulator is killed", killSimulator],
    [2, "the bucket is paused", pauseBucket],
  ];
  /** Applies one of them. @returns its name */
  return async (): Promise<string> => {
    let left = roll() * SHARES.reduce((sum, [share]) => sum + share, 0);
    for (const [share, name, play] of SHARES) {
      left -= share;
      if (left > 0) continue;
      await play();
      return name;
    }
    return "nothing";
  };
};
