// Stores result files as durably as the service does, for the compared sides.
//
// Each file is written under a temporary name, synced and renamed; all waiting files share one sync of the directory.
import { mkdirSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  await directory.sync();
  await directory.close();
};

/** Coalesces work: calls during a run share one more run. */
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

/** The names of a queue's jobs have the same prefix for minutes, so the service would put them into one directory. */
const inOneHome = (id: string): string => join("gen_00000", `${id}.1`);

/** @param placeOf the path of a file below the directory of files. */
export const openKeep = async (files: string, placeOf = inOneHome): Promise<(id: string, bytes: Uint8Array) => Promise<void>> => {
  const aside = join(files, "incoming");
  mkdirSync(aside, { recursive: true });
  const syncs = new Map<string, Promise<() => Promise<void>>>();
  const make = async (home: string): Promise<() => Promise<void>> => {
    mkdirSync(home, { recursive: true });
    await syncDirectory(files);
    return forAll(() => syncDirectory(home));
  };
  /** Creates a new directory and syncs its name, once for all callers, as the service does every few minutes. */
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
