// One node of a cluster as a process over many lifetimes: it is restarted after every end, and each end is recorded.

import { listening, type ServicePlace, spawnService } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, type Ended, type Genrouter, until } from "../../src/torture/crash/processes.ts";
import type { Wire } from "../postgres/proxy.ts";
import type { Life } from "./take-over.ts";

/** An end that was not a kill. `wasSignalled`: it had received SIGTERM. `wasCut`: its connection to the database had broken before. */
export type OwnEnd = Ended & { pid: number; wasSignalled: boolean; wasCut: boolean; atMs: number; said: string };

export type NodeParts = {
  genrouter: Genrouter;
  place: ServicePlace;
  /** Its proxy to the database. */
  wire: Wire;
  /** The time after its start at which it is killed, before it listens; undefined: no kill. */
  bootKillMs: () => number | undefined;
  /** Whether a start between these moments may have failed because the database was unavailable. */
  mayHaveFailed: (fromMs: number, toMs: number) => boolean;
  /** Work that continues in the background and is awaited at the end. */
  background: (work: Promise<unknown>) => void;
};

export type ClusterNode = {
  wire: Wire;
  /** It listens, and no fault is being applied to it. */
  isWell(): boolean;
  /** The process of its current lifetime. @throws if there is none. */
  child(): Child;
  /** Starts it, and retries as long as a start fails for an expected reason. */
  begin(): Promise<void>;
  /** Marks it as harmed, so that its end is expected. @returns its process. */
  strike(): Child;
  /** Resumes it. `hasToEnd`: another node had ended it, and it must exit; otherwise it is healthy again. */
  wake(hasToEnd: boolean, withinMs: number): Promise<void>;
  /** Sends SIGTERM and waits for the exit. */
  drain(longestMs: number): Promise<void>;
  /** Sends SIGKILL. `wasSignalled`: after a SIGTERM, so it may have exited before. */
  kill(wasSignalled?: boolean): Promise<void>;
  lives: Life[];
  ends: OwnEnd[];
  /** The last output line of each start that failed because the database was unavailable. */
  failedStarts: string[];
  counts: { bootKills: number; longestBootMs: number; longestDrainMs: number };
};

/** Exit codes of `genrouter serve`: a retry may succeed, and another node ended this one. */
const CANNOT_START = 75;
const STOPPED = 70;
const PAUSE_MS = 200;
const MOST_FAILED_STARTS = 30;
const SAID = 1500;

export const openNode = (deps: NodeParts): ClusterNode => {
  const { genrouter, place, wire, bootKillMs, mayHaveFailed, background } = deps;
  const lives: Life[] = [];
  const ends: OwnEnd[] = [];
  const failedStarts: string[] = [];
  const counts = { bootKills: 0, longestBootMs: 0, longestDrainMs: 0 };
  let present: Child | undefined;
  let well: Life | undefined;

  const note = async (child: Child, wasSignalled = false): Promise<Ended> => {
    const ended = await child.ended;
    if (ended.signal !== "SIGKILL")
      ends.push({
        ...{ ...ended, pid: child.pid, wasSignalled, wasCut: wire.times() > 0 },
        ...{ atMs: Date.now(), said: child.output().slice(-SAID) },
      });
    return ended;
  };
  const endsBySelf = async (child: Child, wasSignalled: boolean, withinMs: number): Promise<void> => {
    const tooLate = setTimeout(() => child.kill("SIGKILL"), withinMs);
    const { signal } = await note(child, wasSignalled);
    clearTimeout(tooLate);
    if (signal !== "SIGKILL") return;
    const why = wasSignalled ? "had received SIGTERM" : "had been ended by another node";
    throw new Error(`a node that ${why} was still running after ${withinMs} ms:\n${child.output().slice(-SAID)}`);
  };
  const strike = (): Child => {
    if (!present) throw new Error("there is no process to harm");
    if (well) well.toMs = Date.now();
    well = undefined;
    return present;
  };
  const heal = (): void => {
    if (!present) return;
    const life = { pid: present.pid, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    lives.push(life);
    well = life;
  };
  /** Restarts a healthy node that exits although no fault is being applied. */
  const watch = (child: Child): void =>
    void child.ended.then(() => {
      if (present !== child || !well) return;
      strike();
      background(note(child).then(begin));
    });

  const killInBoot = async (afterMs: number): Promise<void> => {
    const child = spawnService(genrouter, place);
    await Bun.sleep(afterMs);
    child.kill("SIGKILL");
    await child.ended;
    counts.bootKills += 1;
  };
  const begin = async (): Promise<void> => {
    for (let failed = 0; ; failed += 1) {
      const killMs = bootKillMs();
      if (killMs !== undefined) await killInBoot(killMs);
      const fromMs = Date.now();
      const child = spawnService(genrouter, place);
      try {
        await listening(child);
        counts.longestBootMs = Math.max(counts.longestBootMs, Date.now() - fromMs);
        present = child;
        heal();
        watch(child);
        return;
      } catch (fault) {
        child.kill("SIGKILL");
        // A node that another one ended before it had started is judged like all nodes that exit.
        const { code } = await child.ended;
        if (code === STOPPED) await note(child);
        const isForWantOfIt = code === CANNOT_START && /database of GENROUTER_STORE__URL cannot be/.test(child.output());
        const isOver = code === STOPPED || (isForWantOfIt && mayHaveFailed(fromMs, Date.now()));
        if (!isOver || failed >= MOST_FAILED_STARTS) throw fault;
        failedStarts.push(child.output().trimEnd().split("\n").at(-1) ?? "");
        await Bun.sleep(PAUSE_MS);
      }
    }
  };

  return {
    ...{ wire, lives, ends, failedStarts, counts, begin, strike },
    isWell: () => well !== undefined,
    child: () => {
      if (!present) throw new Error("there is no process");
      return present;
    },
    wake: async (hasToEnd, withinMs) => {
      if (!present) return;
      present.kill("SIGCONT");
      if (hasToEnd) {
        await endsBySelf(present, false, withinMs);
        return begin();
      }
      heal();
      // The process may have exited between the two calls.
      watch(present);
    },
    drain: async (longestMs) => {
      const child = strike();
      const fromMs = Date.now();
      child.kill("SIGTERM");
      await endsBySelf(child, true, longestMs);
      counts.longestDrainMs = Math.max(counts.longestDrainMs, Date.now() - fromMs);
    },
    kill: async (wasSignalled) => {
      const child = strike();
      child.kill("SIGKILL");
      await note(child, wasSignalled);
    },
  };
};

/** Waits until so many nodes are healthy. */
export const untilWell = (nodes: readonly ClusterNode[], count: number, isBroken: () => unknown): Promise<unknown> =>
  until(`${count} healthy nodes`, () => isBroken() !== undefined || nodes.filter((node) => node.isWell()).length >= count);
