// What providers answered to submissions while the store was unavailable: on this node's own disk until the store has it.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import { onDisk, sweepDirectory, writeDurably } from "./durable-write.ts";

/** The events that only the answer to a submission brings: once it is dropped, nobody can be asked for it. */
export type Outcome = Extract<GenerationEvent, { type: "accepted" | "announced" | "rejected" }>;

/** An answer with the account of the provider that gave it. `ref`: the reference of its attempt. */
export type SpooledOutcome = { ref: string; provider: string; outcome: Outcome };

/** Answers by the reference of their attempt. */
export interface OutcomeSpool {
  /** Keeps an answer, durably. @throws StorageRefused */
  keep(spooled: SpooledOutcome): Promise<void>;
  /** Fine when there is none. @throws StorageRefused */
  drop(ref: string): Promise<void>;
  /** What a former process has left; a file that is not whole is none. @throws StorageRefused */
  read(): Promise<SpooledOutcome[]>;
  /** Deletes what was kept so long ago and belongs to generations that have ended. @returns how many. @throws StorageRefused */
  sweep(olderThanMs: number, hasEnded: (generationId: string) => Promise<boolean>): Promise<number>;
}

/** The reference of an attempt: the body of its generation's id, and its number. */
const NAME = /^(([0-9a-z]{1,76})-\d{1,4})\.json$/;
const generationOf = (name: string): string | undefined => {
  const body = NAME.exec(name)?.[2];
  return body === undefined ? undefined : `gen_${body}`;
};
const TYPES: ReadonlySet<unknown> = new Set(["accepted", "announced", "rejected"]);

const parse = (ref: string, text: string): SpooledOutcome[] => {
  try {
    const { provider, outcome } = JSON.parse(text) as Partial<SpooledOutcome>;
    return typeof provider === "string" && TYPES.has(outcome?.type) ? [{ ref, provider, outcome: outcome as Outcome }] : [];
  } catch {
    return [];
  }
};

/** Opens the directory. @throws StorageRefused when it cannot be made */
export const createOutcomeSpool = async (dir: string, nowMs: () => number): Promise<OutcomeSpool> => {
  await onDisk(() => mkdir(dir, { recursive: true, mode: 0o700 }));
  return {
    keep: ({ ref, provider, outcome }) =>
      onDisk(async () => {
        const name = `${ref}.json`;
        if (!NAME.test(name)) throw new Error("that is not the reference of an attempt");
        await writeDurably(dir, name, [new TextEncoder().encode(JSON.stringify({ provider, outcome }))]);
      }),
    drop: (ref) => onDisk(() => rm(join(dir, `${ref}.json`), { force: true })),
    read: () =>
      onDisk(async () => {
        const found = await Promise.all(
          (await readdir(dir)).map(async (name) => {
            const ref = NAME.exec(name)?.[1];
            return ref === undefined ? [] : parse(ref, await readFile(join(dir, name), "utf8"));
          }),
        );
        return found.flat();
      }),
    sweep: (olderThanMs, hasEnded) =>
      onDisk(() => sweepDirectory(dir, { beforeMs: nowMs() - olderThanMs, ownerOf: generationOf, hasEnded })),
  };
};
