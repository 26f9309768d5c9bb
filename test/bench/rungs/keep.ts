// Keeps result files as durably as the service does, for the sides that it is compared with: written aside, synced, moved, and one sync of the directory for all who wait for it.
import { mkdirSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  await directory.sync();
  await directory.close();
};

/** Makes work that is asked for while it is under way happen once more for all who asked. */
const forAll = (work: () => Promise<void>): (() => Promise<void>) => {
  let underWay: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    next = undefined;
    const now = work().finally(() => {
      if (underWay === now) underWay = undefined;
    });
    underWay = now;
    return now;
  };
  return () => {
    if (!underWay) return begin();
    next ??= underWay.then(begin);
    return next;
  };
};

/** All names of a queue's jobs begin alike within minutes, so the service would put them into one directory. */
const inOneHome = (id: string): string => join("gen_00000", `${id}.1`);

/** @param placeOf where the file of a name stands below the directory of files. */
export const openKeep = async (files: string, placeOf = inOneHome): Promise<(id: string, bytes: Uint8Array) => Promise<void>> => {
  const aside = join(files, "incoming");
  mkdirSync(aside, { recursive: true });
  const syncs = new Map<string, Promise<() => Promise<void>>>();
  const make = async (home: string): Promise<() => Promise<void>> => {
    mkdirSync(home, { recursive: true });
    await syncDirectory(files);
    return forAll(() => syncDirectory(home));
  };
  /** A new one is made and its name synced, once for all who wait for it, as the service does every few minutes. */
  const syncOf = (home: string): Promise<() => Promise<void>> => {
    const known = syncs.get(home) ?? make(home);
    syncs.set(home, known);
    return known;
  };
  return async (id, bytes) => {
    const path = join(aside, `${id}.1.part`);
    const part = await open(path, "wx", 0o600);
    await part.write(bytes);
    await part.sync();
    await part.close();
    const place = join(files, placeOf(id));
    const syncHome = await syncOf(dirname(place));
    await rename(path, place);
    await syncHome();
  };
};
