// Processes of a peer: pinned to the measured core, counted with their children, and stopped after the bench.
import { readFileSync } from "node:fs";
import { type Child, start } from "../../../src/torture/crash/processes.ts";
import { dropScratch } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    // The process has ended meanwhile, or this kernel has no such list.
    return [];
  }
};
/** A process and its descendants. */
export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(familyOf)];

/** Sends a signal to the remaining processes. */
export const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
};

export type Part = {
  port: number;
  /** The current processes: a server may start more. */
  pids(): number[];
  stop(): Promise<void>;
};
/** The server that stores a peer's jobs; `server` is its name and version. */
export type Server = Part & { server: string };

/** A peer that stores its accepted jobs. */
export type Storing = Part & {
  /** The server on which it runs, if it is not the peer itself. */
  server?: string;
  /** Process ids of its server and of the rest; absent if it is one process. */
  serverPids?: () => number[];
  ownPids?: () => number[];
  /** The number of initial jobs. */
  filled: number;
  /** The number of jobs on disk. */
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
/** Servers that leave shared memory unless they receive a certain signal and have time to handle it. */
const tidy = new Map<number, NodeJS.Signals>();
// Registered before the handlers that kill remaining processes at once.
process.prependListener("exit", () => {
  for (const [pid, signal] of tidy) {
    signalAll(familyOf(pid), "SIGCONT");
    signalAll([pid], signal);
  }
  for (let ms = 0; ms < PATIENCE_MS && [...tidy.keys()].some(isRunning); ms += LOOK_MS) Bun.sleepSync(LOOK_MS);
});

/** @param tidily the signal on which it cleans up; its data is discarded in any case. */
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
      // A paused process handles no signals.
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
  /** The signal on which it cleans up, if it is not SIGTERM. */
  tidily?: NodeJS.Signals;
  /** It is a script of the bench, so a failed start is a fault. */
  isOurs?: boolean;
};

/** Starts a server and waits until it responds. @throws with its output if it does not start. */
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

/** The same, and discards its data when it stops. */
export const dropping = (part: Part, home: string): Part => ({
  ...part,
  stop: async () => {
    await part.stop();
    dropScratch(home);
  },
});

/** Whether a process listens on the port. */
export const isListening = async (port: number): Promise<boolean> => {
  const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  socket.end();
  return true;
};
