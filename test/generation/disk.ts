// A storage wrapper for result files that refuses or delays writes on demand.
import { type Files, StorageRefused } from "../../src/files/port.ts";

export type TestDisk = {
  aroundFiles: (files: Files) => Files;
  /** Refuses every file until `accept`. */
  refuse(): void;
  /** Delays every file until `accept`. */
  hold(): void;
  accept(): void;
  /** The number of files that were refused or delayed. */
  rejectedCount(): number;
  /** The number of files that were stored. */
  kept(): number;
};

export const testDisk = (): TestDisk => {
  let mood: "accepts" | "refuses" | "holds" = "accepts";
  let rejected = 0;
  let kept = 0;
  const waiting: (() => void)[] = [];
  const answer = async () => {
    if (mood === "accepts") return;
    rejected += 1;
    if (mood === "refuses") throw new StorageRefused("the disk returned an error: ENOSPC");
    await new Promise<void>((wake) => waiting.push(wake));
  };
  return {
    aroundFiles: (files) => ({
      ...files,
      receive: async (generationId, n) => {
        await answer();
        const incoming = await files.receive(generationId, n);
        const keep: typeof incoming.keep = async (file) => {
          await incoming.keep(file);
          kept += 1;
        };
        return { ...incoming, keep };
      },
    }),
    refuse: () => {
      mood = "refuses";
    },
    hold: () => {
      mood = "holds";
    },
    accept: () => {
      mood = "accepts";
      for (const wake of waiting.splice(0)) wake();
    },
    rejectedCount: () => rejected,
    kept: () => kept,
  };
};
