// Simulated outcome spool: provider responses on a node's disk that wait for the store.
import type { OutcomeSpool, SpooledName, SpooledOutcome } from "../../files/outcome-spool.ts";
import { StorageRefused } from "../../files/port.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";

/** A response that names a job and was completely read by a process. */
export type Answer = {
  provider: string;
  ref: string;
  jobId: string;
  atMs: number;
  life: NodeLife;
  /** Whether the node has a disk besides the store. */
  hasDisk: boolean;
  /** The response is or was on that disk. */
  wasKept: boolean;
  /** The disk refused it at least once. */
  wasRefused: boolean;
};
/** A response on a node's disk at its start is delivered within this time. */
const REPORTED_WITHIN_MS = 30_000;
/** By the reference of its attempt. */
export type Answers = Map<string, Answer>;

/** The content of a node's own disk, which outlives its processes: responses by their send. */
export type NodeDisk = Map<string, string>;
const nameOf = ({ ref, sentAtMs }: SpooledName): string => `${ref} ${sentAtMs}`;

const jobIdOf = (kept: string): string | undefined => {
  const { outcome } = JSON.parse(kept) as SpooledOutcome;
  return "job" in outcome ? outcome.job?.jobId : undefined;
};

export const createUnsavedOutcomes = (of: {
  life: NodeLife;
  dice: Rng;
  disk: NodeDisk;
  answers: Answers;
  isFull: () => boolean;
  situations: CoverageCounters;
  /** Whether this process could reach its store, and was not stopped, since then. */
  wasCalmSince: (sinceMs: number) => boolean;
  /** Whether the store knows the job of the response's attempt. */
  isKnown: (answer: Answer) => Promise<boolean>;
  fault: (text: string) => void;
}): OutcomeSpool => {
  const { life, dice, disk, answers, situations } = of;
  /**
   * Checks the delivery of a response from a former process. Its target is the statechart on this node, the owner of its
   * generation, or the store.
   */
  const look = async (name: SpooledName, sinceMs: number): Promise<void> => {
    const { ref } = name;
    const answer = answers.get(ref);
    const kept = disk.get(nameOf(name));
    // An earlier send of the attempt has another response, which named no job.
    if (!life.isAlive() || !answer || kept === undefined || jobIdOf(kept) !== answer.jobId) return;
    if (!of.wasCalmSince(sinceMs)) check(name, life.world.nowMs());
    else if (!(await of.isKnown(answer))) of.fault(`${ref}: the response on the disk of ${life.name} was not processed`);
  };
  const check = (name: SpooledName, sinceMs: number) => void life.world.after(REPORTED_WITHIN_MS, () => void look(name, sinceMs));
  return {
    keep: async (spooled) => {
      const answer = answers.get(spooled.ref);
      await life.sleep(dice.between(0, 20));
      if (of.isFull()) {
        situations.count("answersRefused");
        if (answer) answer.wasRefused = true;
        throw new StorageRefused("write: ENOSPC");
      }
      disk.set(nameOf(spooled), JSON.stringify(spooled));
      situations.count("answersOnDisk");
      if (answer) answer.wasKept = true;
      await life.cross("answer: on disk");
    },
    drop: async (name) => {
      if (disk.has(nameOf(name))) await life.cross("answer: committed, still on disk");
      disk.delete(nameOf(name));
    },
    read: async () => {
      const found = [...disk.values()].map((text) => JSON.parse(text) as SpooledOutcome);
      for (const spooled of found) {
        situations.count("answersTakenUp");
        check(spooled, life.world.nowMs());
      }
      return found;
    },
    sweep: () => Promise.resolve(0),
  };
};
