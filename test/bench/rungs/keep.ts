// Keeps result files as durably as the service does, for the sides that it is compared with: written aside, synced, moved, and one sync of the directory for all who wait for it.
import { mkdirSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";

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

/** All names begin alike within minutes, so the service would put them into one directory; so are these. */
export const openKeep = async (files: string): Promise<(id: string, bytes: Uint8Array) => Promise<void>> => {
  const [aside, home] = [join(files, "incoming"), join(files, "gen_00000")];
  mkdirSync(aside, { recursive: true });
  mkdirSync(home);
  await syncDirectory(files);
  const syncHome = forAll(() => syncDirectory(home));
  return async (id, bytes) => {
    const path = join(aside, `${id}.1.part`);
    const part = await open(path, "wx", 0o600);
    await part.write(bytes);
    await part.sync();
    await part.close();
    await rename(path, join(home, `${id}.1`));
    await syncHome();
  };
};
