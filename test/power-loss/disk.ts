// The disk of a power cut: replaces the directory by the synced state that the shim recorded.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildShim } from "../fault-injection/build.ts";
import { dropScratch } from "../scratch.ts";

/**
 * The loss of a cut. `bytes`: written to remaining files and never synced. `names`: created and never synced. `isEarly`: the
 * process had not started its own code, and the directory is unchanged.
 */
export type Loss = { bytes: number; names: number; isEarly: boolean };

export type PowerDisk = {
  /** Prepares an empty copy. @returns the environment of the process whose power will be cut. */
  plug: () => Record<string, string>;
  /**
   * With the process dead: restores the synced state. Above 0, `late` is the share of blocks and directories that were never
   * synced and reached the disk all the same, in no order, as caches write them.
   */
  cut: (late: number, roll: () => number) => Loss;
};

/** As on a plain disk: long enough that cuts fall between a write and the end of its sync. */
const SYNC_MS = 4;
/** A file system writes whole blocks. */
const BLOCK = 4096;

/** A line of a list of names: see the head of powerfs.c. */
type Name = { isDirectory: boolean; id: string; inode: number; mode: number; name: string };

const namesIn = (list: string): Name[] => {
  if (!existsSync(list)) return [];
  const lines = readFileSync(list, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => {
    const [type = "", id = "", inode = "", mode = "", ...name] = line.split(" ");
    return { isDirectory: type === "d", id, inode: Number(inode), mode: Number.parseInt(mode, 8), name: name.join(" ") };
  });
};

/** The names that the dead process had created: files and directories, without the index that SQLite recreates. */
const liveNames = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir, { withFileTypes: true })
        .filter((one) => (one.isFile() || one.isDirectory()) && !one.name.endsWith("-shm"))
        .map(({ name }) => name)
    : [];

/** Puts some of the differing blocks over the synced ones; `bytes` counts all differing bytes. */
const mixIn = (synced: Uint8Array, live: Uint8Array, late: number, roll: () => number) => {
  const mixed = new Uint8Array(Math.max(synced.length, live.length));
  mixed.set(synced);
  let bytes = 0;
  let end = synced.length;
  for (let at = 0; at < live.length; at += BLOCK) {
    const block = live.subarray(at, at + BLOCK);
    if (Buffer.compare(block, synced.subarray(at, at + block.length)) === 0) continue;
    bytes += block.length;
    if (roll() >= late) continue;
    mixed.set(block, at);
    end = Math.max(end, at + block.length);
  }
  return { mixed: mixed.subarray(0, end), bytes };
};

/** @param deaf Part of the paths whose syncs do nothing, as on a disk that lies. */
export const openPowerDisk = (dir: string, say: (line: string) => void, deaf?: string): PowerDisk => {
  const shim = buildShim("powerfs", say);
  const [copy, restored] = [`${dir}.synced`, `${dir}.restored`];

  const cut: PowerDisk["cut"] = (late, roll) => {
    const loss: Loss = { bytes: 0, names: 0, isEarly: !existsSync(join(copy, "begun")) };
    const restore = (id: string, from: string, to: string): void => {
      mkdirSync(to, { recursive: true, mode: 0o700 });
      const names = namesIn(join(copy, `d${id}`));
      const unsynced = liveNames(from).filter((name) => !names.some((one) => one.name === name));
      loss.names += unsynced.length;
      const hasCome = late > 0 && roll() < late;
      for (const { isDirectory, id: own, inode, mode, name } of names) {
        const [live, target] = [join(from, name), join(to, name)];
        if (isDirectory) {
          restore(own, live, target);
          continue;
        }
        const isThere = existsSync(live);
        // A removal that was not synced may also have reached the disk.
        if (!isThere && hasCome) continue;
        const source = join(copy, `f${own}`);
        const synced = existsSync(source) ? readFileSync(source) : new Uint8Array();
        // A different file of the same name has no blocks to mix in.
        const isSame = isThere && statSync(live).ino === inode;
        const { mixed, bytes } = isSame ? mixIn(synced, readFileSync(live), late, roll) : { mixed: synced, bytes: 0 };
        loss.bytes += bytes;
        writeFileSync(target, mixed, { mode });
      }
      if (hasCome)
        for (const name of unsynced)
          if (statSync(join(from, name)).isFile()) writeFileSync(join(to, name), readFileSync(join(from, name)), { mode: 0o600 });
    };
    if (loss.isEarly) return loss;
    dropScratch(restored);
    restore("0", dir, restored);
    rmSync(dir, { recursive: true });
    rmSync(copy, { recursive: true });
    renameSync(restored, dir);
    return loss;
  };

  return {
    plug: () => {
      dropScratch(copy);
      mkdirSync(copy);
      const hearing = deaf === undefined ? {} : { POWERFS_DEAF: deaf };
      return { LD_PRELOAD: shim, POWERFS_DIR: dir, POWERFS_COPY: copy, POWERFS_SYNC_MS: String(SYNC_MS), ...hearing };
    },
    cut,
  };
};
