// Names the backups that may contain a text that was erased since, and the day on which each is deleted.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "../store/sqlite/open.ts";
import { isBackupName, isUnderWayName, MANIFEST_FILE, type Manifest, readManifest, timeOfBackupName } from "./manifest.ts";
import { nextAt } from "./nightly.ts";

/** `expiresAtMs`: when the service deletes it, if each nightly backup succeeds; null: it never does. */
export type OlderBackup = { name: string; takenAtMs: number; expiresAtMs: number | null };
/** Returns the backups that were taken between two times, oldest first. */
export type OlderBackups = (fromMs: number, untilMs: number) => OlderBackup[];

export type OlderBackupsDeps = {
  dataDir: string;
  backup: { dir: string; at: string; keep: number };
  /** The id of the database, which selects its backups. */
  lineage: string;
  nowMs: () => number;
};

type Taken = { name: string; takenAtMs: number; isNightly: boolean };
/** What a manifest says of a backup; null if another service took it. */
type Known = Taken | null;

const DAY_MS = 86_400_000;
/** The resolution of the name of a backup that is under way. */
const NAME_MS = 1000;
/** Copies that a schema migration made beside the database. */
const MIGRATION_COPY = new RegExp(`^${DATABASE_FILE.replace(".", "\\.")}\\.before-\\d+$`);

/** An unreadable directory has no backups that can be named; the nightly backup reports its error. */
const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
};

const manifestIn = (path: string): Manifest | undefined => {
  try {
    return readManifest(readFileSync(join(path, MANIFEST_FILE)), path);
  } catch {
    return undefined;
  }
};

export const createOlderBackups = ({ dataDir, backup, lineage, nowMs }: OlderBackupsDeps): OlderBackups => {
  /** A manifest never changes, so it is read once. */
  const known = new Map<string, Known>();
  const takenOf = (name: string): Known => {
    const takenAtMs = timeOfBackupName(name);
    // Its manifest is written last. Its database was copied after this time, so it may contain what was written then.
    if (isUnderWayName(name)) return { name, takenAtMs: takenAtMs + NAME_MS, isNightly: true };
    const manifest = manifestIn(join(backup.dir, name));
    // A damaged manifest does not say whose backup it is.
    if (!manifest) return { name, takenAtMs, isNightly: false };
    if (manifest.lineage !== lineage) return null;
    return { name, takenAtMs: manifest.taken_at_ms, isNightly: manifest.made_by === "nightly" };
  };
  const taken = (): Taken[] => {
    const names = namesIn(backup.dir).filter((name) => isBackupName(name) || isUnderWayName(name));
    for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    return names.flatMap((name) => {
      const one = known.get(name) ?? takenOf(name);
      if (!isUnderWayName(name)) known.set(name, one);
      return one ?? [];
    });
  };
  const copies = (): Taken[] =>
    namesIn(dataDir)
      .filter((name) => MIGRATION_COPY.test(name))
      .map((name) => ({ name, takenAtMs: statSync(join(dataDir, name)).mtimeMs, isNightly: false }));

  return (fromMs, untilMs) => {
    const all = backup.dir === "" ? [] : taken();
    const nightly = all.filter(({ isNightly }) => isNightly).toSorted((one, other) => other.takenAtMs - one.takenAtMs);
    const nextMs = nextAt(nowMs(), backup.at);
    /** The newest is deleted with the backup after the next `keep - 1`. */
    const expiryOf = (one: Taken): number | null => {
      const place = nightly.indexOf(one);
      return place < 0 ? null : nextMs + Math.max(0, backup.keep - 1 - place) * DAY_MS;
    };
    return [...all, ...copies()]
      .filter(({ takenAtMs }) => takenAtMs >= fromMs && takenAtMs <= untilMs)
      .toSorted((one, other) => one.takenAtMs - other.takenAtMs)
      .map((one) => ({ name: one.name, takenAtMs: one.takenAtMs, expiresAtMs: expiryOf(one) }));
  };
};
