// Small separate disks for tests: a tmpfs where mounting is permitted, or the reason why it is not.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropScratch, killAtTheEnd } from "../scratch.ts";

export type SmallDisk = {
  path: string;
  remount: (options: string) => void;
  drop: () => void;
};

/** The mounted disks, which the end of the program unmounts. */
const mounted = new Set<SmallDisk>();
killAtTheEnd(() => {
  for (const disk of mounted) disk.drop();
});

const mount = (...words: string[]): string | undefined => {
  const { status, stderr, error } = spawnSync("mount", words, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr).trim();
};

/** @param size As for mount, for example `3m`. @returns a mounted disk with a directory in it, or why there is none. */
export const mountSmallDisk = (size: string, at?: string): SmallDisk | string => {
  if (process.getuid?.() !== 0) return "mounting needs root";
  const path = at ?? mkdtempSync(join(tmpdir(), "faults-disk-"));
  if (at !== undefined) mkdirSync(at);
  const refused = mount("-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", path);
  if (refused !== undefined) {
    rmSync(path, { recursive: true });
    return refused;
  }
  if (at === undefined) mkdirSync(join(path, "data"), { mode: 0o700 });
  const disk: SmallDisk = {
    path: at ?? join(path, "data"),
    remount: (options) => {
      const fault = mount("-o", `remount,${options}`, path);
      if (fault !== undefined) throw new Error(`remount ${options}: ${fault}`);
    },
    drop: () => {
      mounted.delete(disk);
      spawnSync("umount", ["-l", path]);
      dropScratch(path);
    },
  };
  mounted.add(disk);
  return disk;
};
