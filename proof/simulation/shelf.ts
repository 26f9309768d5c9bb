// Where results are fetched from and kept in a simulated world: the media port over the upstream's jobs, and what is on the shelf.
import type { CollectOutcome, Media } from "../../src/media/port.ts";
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { NodeLife } from "./node-life.ts";
import type { Upstream } from "./upstream.ts";

/** The name a job's file is known by: what a client sees in place of a hash. */
export const fileNameOf = (provider: string, jobId: string): string =>
  Bun.CryptoHasher.hash("sha256", `${provider}/${jobId}`, "hex");

/** What lies on the shelf: one file per generation, the last that was put there. It outlives every process. */
export type Kept = Map<string, string>;
/** In a bucket that nodes share, a file's name says what is in it, so that no node writes over another's. */
export const sharedName = (generationId: string, file: string): string => `${generationId} ${file}`;

export const openShelf = (parts: {
  life: NodeLife;
  dice: Dice;
  faults: () => Faults;
  upstream: Upstream;
  kept: Kept;
  isShared: boolean;
}): Media => {
  const { life, dice, upstream } = parts;
  return {
    measure: async () => [],
    keepInline: async (_, results) => [...results],
    collect: async ({ generationId, results }, signal): Promise<CollectOutcome> => {
      const faults = parts.faults();
      await life.cross("collect: before");
      await life.sleep(dice.between(5, 3_000), signal);
      const [, provider = "", jobId = ""] = /^https:\/\/files\.test\/([^/]+)\/([^/]+)\//.exec(results[0]?.url ?? "") ?? [];
      const job = upstream.job(provider, jobId);
      if (!job || job.fileIsLost || dice.chance(faults.badFile)) return { kind: "unreadable", detail: "not a picture" };
      if (dice.chance(faults.expiredFile)) return { kind: "expired", detail: "403" };
      if (dice.chance(faults.storageRefuses)) return { kind: "storage-refused", detail: "no space" };
      if (signal.aborted) return { kind: "unreadable", detail: "given up" };
      const name = fileNameOf(provider, jobId);
      parts.kept.set(parts.isShared ? sharedName(generationId, name) : generationId, name);
      await life.cross("collect: kept");
      const file = { n: 1, sha256: fileNameOf(provider, jobId), bytes: 1000, mime: "image/png" };
      return { kind: "collected", output: { kind: "image", files: [file], width: 64, height: 64 } };
    },
  };
};
