// One node of a cluster as a process through life after life: started again whatever ended it, each of its ends noted with its reason.

import { listening, type ServicePlace, spawnService } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, type Ended, type Genrouter, until } from "../../src/torture/crash/processes.ts";
import type { Wire } from "../postgres/proxy.ts";
import type { Life } from "./take-over.ts";

/** How a life ended that nobody had killed. `wasTold`: it was told to stop; `wasCut`: its door to the database had broken before. */
export type OwnEnd = Ended & { pid: number; wasTold: boolean; wasCut: boolean; atMs: number; said: string };

export type NodeParts = {
  genrouter: Genrouter;
  place: ServicePlace;
  /** Its door to the database. */
  wire: Wire;
  /** So long after its start it is killed, before it listens; undefined: not this time. */
  bootKillMs: () => number | undefined;
  /** Whether a start between these moments may have failed for want of the database. */
  mayHaveFailed: (fromMs: number, toMs: number) => boolean;
  /** What goes on by itself, and is waited for at the end. */
  background: (work: Promise<unknown>) => void;
};

export type ClusterNode = {
  wire: Wire;
  /** It listens, and nobody is harming it. */
  isWell(): boolean;
  /** The process of its present life. @throws when there is none. */
  child(): Child;
  /** Starts it, and again as long as that fails for a good reason. */
  begin(): Promise<void>;
  /** From now on it counts as harmed; whatever ends it is the harm's own business. @returns its process. */
  strike(): Child;
  /** Lets it go on. `hasToEnd`: it had been ended, and has to see that by itself; otherwise it is well again. */
  wake(hasToEnd: boolean, withinMs: number): Promise<void>;
  /** Tells it to stop and waits for that. */
  drain(longestMs: number): Promise<void>;
  /** Kills it, without a word; `wasTold`: after it was told to stop, so that it may have ended before. */
  kill(wasTold?: boolean): Promise<void>;
  lives: Life[];
  ends: OwnEnd[];
  /** What it said when it could not start, for want of the database. */
  failedStarts: string[];
  counts: { bootKills: number; longestBootMs: number; longestDrainMs: number };
};

/** What `genrouter serve` ends with when it may be tried again, and when another has ended it. */
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

  const note = async (child: Child, wasTold = false): Promise<Ended> => {
    const ended = await child.ended;
    if (ended.signal !== "SIGKILL")
      ends.push({
        ...{ ...ended, pid: child.pid, wasTold, wasCut: wire.times() > 0 },
        ...{ atMs: Date.now(), said: child.output().slice(-SAID) },
      });
    return ended;
  };
  const endsBySelf = async (child: Child, wasTold: boolean, withinMs: number): Promise<void> => {
    const tooLate = setTimeout(() => child.kill("SIGKILL"), withinMs);
    const { signal } = await note(child, wasTold);
    clearTimeout(tooLate);
    if (signal !== "SIGKILL") return;
    const why = wasTold ? "was told to stop" : "had been ended by another";
    throw new Error(`a node that ${why} went on for ${withinMs} ms:\n${child.output().slice(-SAID)}`);
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
  /** It was well, and ends although nobody harms it. */
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
        // One that was ended by another before it had begun is judged as all are that end by themselves.
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
      // It may have ended between the two.
      watch(present);
    },
    drain: async (longestMs) => {
      const child = strike();
      const fromMs = Date.now();
      child.kill("SIGTERM");
      await endsBySelf(child, true, longestMs);
      counts.longestDrainMs = Math.max(counts.longestDrainMs, Date.now() - fromMs);
    },
    kill: async (wasTold) => {
      const child = strike();
      child.kill("SIGKILL");
      await note(child, wasTold);
    },
  };
};

/** Waits until so many nodes are well. */
export const untilWell = (nodes: readonly ClusterNode[], count: number, isBroken: () => unknown): Promise<unknown> =>
  until(`${count} nodes that are well`, () => isBroken() !== undefined || nodes.filter((node) => node.isWell()).length >= count);
