// Locates a command's archive: a directory, or the configured bucket, spelled `bucket`.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "../domain/clock.ts";
import type { ArchiveStorage } from "../store/archive/archive-storage.ts";
import { CommandError, EXITS } from "./exit-codes.ts";
import { readsOf, storeLocationOf } from "./read-only-store.ts";
import { type DirFlag, type Session, settingsOf } from "./session.ts";

/** Location of an archive, and its form in `--json` output. */
export type ArchiveLocation = { archiveStorage: ArchiveStorage; json: { dir: string } | { bucket: string; below: string } };

const BUCKET = "bucket";
/** Texts that may mean a bucket, and URLs. They are rejected, so that they are not taken for a directory by mistake. */
const UNCLEAR = /^(?:[a-z][\w+.-]*:\/\/.*|(?:s3|bucket)(?:[:/].*)?)$/i;
const ONE_OF_SEVERAL = /^bucket:([0-9a-f]{16})$/;

const unclear = (flag: string, text: string, why: string): CommandError =>
  new CommandError(EXITS.usage, `${flag}: ${JSON.stringify(text)} ${why}`, { code: "bad_flag" });

/**
 * Converts errors of the bucket and of the archive to messages for operators. @param again effect of running the same command
 * again
 */
export const withArchiveErrors = async <T>(again: string, work: () => Promise<T>): Promise<T> => {
  const [{ ArchiveError }, { BucketError }, { BucketConfigError }] = await Promise.all([
    import("../store/archive/format.ts"),
    import("../files/s3/errors.ts"),
    import("../files/s3/bucket-config.ts"),
  ]);
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof ArchiveError) throw new CommandError(EXITS.failure, fault.message, { code: "archive_fault" });
    if (fault instanceof BucketConfigError) throw new CommandError(EXITS.usage, fault.message, { code: "bad_setting" });
    if (!(fault instanceof BucketError)) throw fault;
    const reported = `the archive: ${fault.message}`;
    if (fault.kind === "unavailable") throw new CommandError(EXITS.tryAgain, `${reported}; ${again}`, { code: "bucket_fault" });
    // A response without a body contains only its status.
    const advice = reported.includes("deploy/S3.md")
      ? ""
      : "; deploy/S3.md lists the settings and the permissions of the access key";
    throw new CommandError(EXITS.failure, reported + advice, { code: "bucket_fault" });
  }
};

type LocationRequest = {
  flag: "--to" | "--archive";
  text: string;
  /** True if the store determines which archive of the bucket is its own; otherwise the archive is the only one or is named. */
  byStore: boolean;
};

/**
 * @throws CommandError if the text is ambiguous or names no archive; BucketConfigError, BucketError, and errors of reading the
 * store.
 */
export const archiveLocationOf = async (
  session: Session,
  flags: DirFlag,
  { flag, text, byStore }: LocationRequest,
): Promise<ArchiveLocation> => {
  const [, named] = (flag === "--archive" && ONE_OF_SEVERAL.exec(text)) || [];
  if (text === BUCKET && existsSync(BUCKET))
    throw unclear(
      flag,
      text,
      "is ambiguous: bucket is the configured bucket, and a directory with this name exists; write ./bucket for the directory",
    );
  if (text !== BUCKET && named === undefined) {
    if (UNCLEAR.test(text))
      throw unclear(flag, text, `is ambiguous: write ${BUCKET} for the configured bucket, or ./… for a directory`);
    const { openDirectory } = await import("../store/archive/archive-storage.ts");
    const dir = resolve(text);
    return { archiveStorage: openDirectory(dir), json: { dir } };
  }
  const { s3: settings } = settingsOf(session, flags);
  const { archiveObjectsIn, createArchiveObjects } = await import("../files/s3/archive-objects.ts");
  // Ctrl-C ends the process; an incomplete archive is ignored.
  const options = { settings, clock: systemClock(), signal: new AbortController().signal };
  const idOf = async (): Promise<string> => {
    if (byStore) {
      const { lineageAt } = await import("../store/archive/source.ts");
      return lineageAt(await readsOf(storeLocationOf(session, flags)));
    }
    const all = await archiveObjectsIn(options);
    const [only] = all;
    if (only === undefined) throw unclear(flag, text, `there is no archive in bucket ${settings.bucket}`);
    if (all.length > 1)
      throw unclear(
        flag,
        text,
        `names a bucket with archives of several services; name one, for example ${all.map((id) => `bucket:${id}`).join(", ")}`,
      );
    return only;
  };
  const holdings = createArchiveObjects(named ?? (await idOf()), options);
  return { archiveStorage: holdings, json: { bucket: settings.bucket, below: holdings.below } };
};
