// Spools provider responses to submissions on local disk while the store is unavailable.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import { onDisk, sweepDirectory, writeDurably } from "./durable-write.ts";

/** Events that only the response to a submission carries; once it is lost, no request can retrieve it again. */
export type Outcome = Extract<GenerationEvent, { type: "accepted" | "announced" | "rejected" }>;

/**
 * A response with the account of its provider. `ref`: the reference of its attempt. `sentAtMs`: the send that it answers, because an
 * attempt is sent again after some rejections; null in a file of an earlier build.
 */
export type SpooledOutcome = { ref: string; sentAtMs: number | null; provider: string; outcome: Outcome };
/** Identifies a spooled response. */
export type SpooledName = Pick<SpooledOutcome, "ref" | "sentAtMs">;

/** Responses by attempt reference and send. */
export interface OutcomeSpool {
  /** Stores a response durably. @throws StorageRefused */
  keep(spooled: SpooledOutcome): Promise<void>;
  /** Deletes a response; succeeds if there is none. @throws StorageRefused */
  drop(name: SpooledName): Promise<void>;
  /** Reads the responses that an earlier process left; incomplete files are ignored. @throws StorageRefused */
  read(): Promise<SpooledOutcome[]>;
  /** Deletes old responses of generations that have ended. @returns the number of deleted responses @throws StorageRefused */
  sweep(olderThanMs: number, hasEnded: (generationId: string) => Promise<boolean>): Promise<number>;
}

/** An attempt reference, which is the body of the generation id and the attempt number, then the time of the send. */
const NAME = /^(([0-9a-z]{1,76})-\d{1,4})(?:-(\d{1,16}))?\.json$/;
const fileOf = ({ ref, sentAtMs }: SpooledName): string => (sentAtMs === null ? `${ref}.json` : `${ref}-${sentAtMs}.json`);
const generationOf = (name: string): string | undefined => {
  const body = NAME.exec(name)?.[2];
  return body === undefined ? undefined : `gen_${body}`;
};
const TYPES: ReadonlySet<unknown> = new Set(["accepted", "announced", "rejected"]);

const parse = (name: SpooledName, text: string): SpooledOutcome[] => {
  try {
    const { provider, outcome } = JSON.parse(text) as Partial<SpooledOutcome>;
    return typeof provider === "string" && TYPES.has(outcome?.type) ? [{ ...name, provider, outcome: outcome as Outcome }] : [];
  } catch {
    return [];
  }
};

/** Creates the directory. @throws StorageRefused if it cannot be created */
export const createOutcomeSpool = async (dir: string, nowMs: () => number): Promise<OutcomeSpool> => {
  await onDisk(() => mkdir(dir, { recursive: true, mode: 0o700 }));
  return {
    keep: ({ ref, sentAtMs, provider, outcome }) =>
      onDisk(async () => {
        const name = fileOf({ ref, sentAtMs });
        if (!NAME.test(name)) throw new Error("that is not the reference of an attempt");
        await writeDurably(dir, name, [new TextEncoder().encode(JSON.stringify({ provider, outcome }))]);
      }),
    drop: (name) => onDisk(() => rm(join(dir, fileOf(name)), { force: true })),
    read: () =>
      onDisk(async () => {
        const found = await Promise.all(
          (await readdir(dir)).map(async (name) => {
            const [, ref, , sentAtMs] = NAME.exec(name) ?? [];
            if (ref === undefined) return [];
            return parse({ ref, sentAtMs: sentAtMs ? Number(sentAtMs) : null }, await readFile(join(dir, name), "utf8"));
          }),
        );
        return found.flat();
      }),
    sweep: (olderThanMs, hasEnded) =>
      onDisk(() => sweepDirectory(dir, { beforeMs: nowMs() - olderThanMs, ownerOf: generationOf, hasEnded })),
  };
};
