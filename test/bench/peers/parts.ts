// Processes that a peer consists of: on the core of what is measured, heard, counted with their children, gone when the bench is over.
import { readFileSync } from "node:fs";
import { type Child, start } from "../../../proof/crash/processes.ts";
import { dropScratch } from "../../scratch.ts";
import { Skipped } from "../bench.ts";

/** A process and the processes that it starts. */
export const familyOf = (pid: number): number[] => {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    return [pid, ...children.flatMap(familyOf)];
  } catch {
    // It ended while it was looked at.
    return [];
  }
};

export type Part = {
  port: number;
  /** Those of this moment: a server may start processes of its own. */
  pids(): number[];
  stop(): Promise<void>;
};

/** A peer that keeps what it accepts. */
export type Storing = Part & {
  /** Jobs that it has on disk. */
  stored(): Promise<number>;
};

/** What every peer is stopped with: at once, its data is thrown away. */
const STOPPED_WITH = "SIGQUIT";
const PATIENCE_MS = 5_000;

export const partOf = (child: Child, port: number): Part => ({
  port,
  pids: () => familyOf(child.pid),
  stop: async () => {
    const family = familyOf(child.pid);
    process.kill(child.pid, STOPPED_WITH);
    await Promise.race([child.ended, Bun.sleep(PATIENCE_MS)]);
    for (const pid of family)
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    await child.ended;
  },
});

const LOOK_MS = 50;
const START_MS = 60_000;

/** Starts a server and waits until it answers. @throws Skipped with what it said when it does not come up. */
export const startPart = async (
  name: string,
  {
    words,
    env = {},
    port,
    isUp,
  }: { words: readonly string[]; env?: Record<string, string>; port: number; isUp: () => Promise<boolean> },
): Promise<Part> => {
  const child = start(words, env);
  const part = partOf(child, port);
  const endMono = performance.now() + START_MS;
  let isOver = false;
  void child.ended.then(() => {
    isOver = true;
  });
  while (!(await isUp().catch(() => false))) {
    if (isOver || performance.now() > endMono) {
      if (!isOver) await part.stop();
      throw new Skipped(`${name} did not come up: ${child.said().trim().slice(-400)}`);
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
