// Processes that a peer consists of: on the core of what is measured, heard, counted with their children, gone when the bench is over.
import { readFileSync } from "node:fs";
import { type Child, start } from "../../../src/torture/crash/processes.ts";
import { dropScratch } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    // It ended while it was looked at, or this kernel keeps no such list.
    return [];
  }
};
/** A process and the processes that it starts. */
export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(familyOf)];

/** Sends a signal to those that are still there. */
export const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
};

export type Part = {
  port: number;
  /** Those of this moment: a server may start processes of its own. */
  pids(): number[];
  stop(): Promise<void>;
};
/** A server that a peer keeps its jobs in; `server` is its name with its version. */
export type Server = Part & { server: string };

/** A peer that keeps what it accepts. */
export type Storing = Part & {
  /** What it runs on, where that is not itself. */
  server?: string;
  /** Of its server, and of what is not: absent where it is one. */
  serverPids?: () => number[];
  ownPids?: () => number[];
  /** Jobs that it began with. */
  filled: number;
  /** Jobs that it has on disk. */
  stored(): Promise<number>;
};

const PATIENCE_MS = 5_000;
const LOOK_MS = 50;

const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
/** Leave shared memory behind unless they hear a signal of their own and have time for it. */
const tidy = new Map<number, NodeJS.Signals>();
// Before those who kill at once whatever still runs.
process.prependListener("exit", () => {
  for (const [pid, signal] of tidy) {
    signalAll(familyOf(pid), "SIGCONT");
    signalAll([pid], signal);
  }
  for (let ms = 0; ms < PATIENCE_MS && [...tidy.keys()].some(isRunning); ms += LOOK_MS) Bun.sleepSync(LOOK_MS);
});

/** @param tidily the signal that it cleans up at; its data is thrown away whatever it is stopped with. */
const partOf = (child: Child, port: number, tidily: NodeJS.Signals | undefined): Part & { isOver(): boolean } => {
  let isOver = false;
  if (tidily) tidy.set(child.pid, tidily);
  void child.ended.then(() => {
    isOver = true;
    tidy.delete(child.pid);
  });
  return {
    port,
    isOver: () => isOver,
    pids: () => familyOf(child.pid),
    stop: async () => {
      if (isOver) return;
      const family = familyOf(child.pid);
      // Whoever is paused hears nothing.
      signalAll(family, "SIGCONT");
      signalAll([child.pid], tidily ?? "SIGTERM");
      await Promise.race([child.ended, Bun.sleep(PATIENCE_MS)]);
      signalAll(family, "SIGKILL");
      await child.ended;
    },
  };
};

const START_MS = 60_000;

type Starting = {
  words: readonly string[];
  env?: Record<string, string>;
  port: number;
  isUp: () => Promise<boolean>;
  /** The signal that it cleans up at, where that is not SIGTERM. */
  tidily?: NodeJS.Signals;
  /** A script of the bench and no program of a peer: that it does not come up is a fault. */
  isOurs?: boolean;
};

/** Starts a server and waits until it answers. @throws with what it said when it does not come up. */
export const startPart = async (
  name: string,
  { words, env = {}, port, isUp, tidily, isOurs = false }: Starting,
): Promise<Part> => {
  const child = start(words, env);
  const part = partOf(child, port, tidily);
  const endMono = performance.now() + START_MS;
  while (!(await isUp().catch(() => false))) {
    if (part.isOver() || performance.now() > endMono) {
      await part.stop();
      const why = `${name} did not come up: ${child.output().trim().slice(-400)}`;
      throw isOurs ? new Error(why) : new NoPeer(why);
    }
    await Bun.sleep(LOOK_MS);
  }
  return part;
};

/** The same, with what it kept thrown away when it stops. */
export const dropping = (part: Part, home: string): Part => ({
  ...part,
  stop: async () => {
    await part.stop();
    dropScratch(home);
  },
});

/** Whether something listens there. */
export const isListening = async (port: number): Promise<boolean> => {
  const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  socket.end();
  return true;
};
