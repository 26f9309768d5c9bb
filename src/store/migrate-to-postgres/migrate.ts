// Store migration: moves a data directory into an empty PostgreSQL database.
//
// It copies page by page and verifies both ends. It can be resumed wherever it stopped.
import type { CheckResult } from "../store.ts";
import { asMigrationError, MigrationError, shownAddress } from "./errors.ts";
import { PAGE_ROWS, pagesOf } from "./rows.ts";
import { openSource, type Source, type StoredFile } from "./source.ts";
import { MIGRATED_TABLES, type Sums } from "./tables.ts";
import { FILES, type Found, type Mark, type MigrationTarget, openTarget, TAKEN_BACK, type Target, UPLOADS } from "./target.ts";

export type MigrateRequest = {
  dir: string;
  networkDisk: boolean;
  url: string;
  signal: AbortSignal;
  /** Uploads result files, and then uploaded files, to shared storage; null: they stay in the directory. */
  bringFiles: ((kept: StoredFileCopy, place: "files" | "uploads") => Promise<MigratedRows>) | null;
  /** Maximum rows of a page; tests reduce it to get several pages. */
  pageRows?: number;
};
/** Files of a directory in batches of generations or blobs, from the last stopped run. */
export type StoredFileCopy = {
  /** Number of files that earlier runs uploaded, and total number of stored files. */
  before: number;
  of: number;
  next(limit: number): StoredFile[];
  /** Marks all files returned so far as uploaded. */
  brought(count: number): Promise<void>;
};
/** Number of uploaded files, and the missing ones with the reason. */
export type MigratedRows = { files: number; missing: { id: string; n: number; why: string }[] };

export type Progress =
  | { step: "verifying"; end: "source" | "target"; done: number; of: number }
  | { step: "adding up" }
  | { step: "settling" }
  | { step: "loading"; table: string; done: number; of: number; here: number };

export type Outcome = {
  /** False: one end failed its verification, and the migration is not complete. */
  isMoved: boolean;
  to: string;
  /** A stopped migration was resumed. */
  isResumed: boolean;
  rows: Record<string, number>;
  /** Number of texts in which a character that PostgreSQL rejects was replaced. */
  replaced: number;
  /** Null: verified before the migration was stopped. */
  source: CheckResult[] | null;
  target: CheckResult[] | null;
  /** Null: the files stay in the directory. */
  files: MigratedRows | null;
  leftHere: { spooled: number; sealedKeys: number };
};

/** Time for the current page after the signal to stop. */
const STOP_MS = 5_000;

/** Parked generations wait for an operator in both stores, so they do not fail the verification. */
const fairly = (checks: readonly CheckResult[]): CheckResult[] =>
  checks.map((check) => {
    const offending = check.offending.filter(({ fault }) => !String(fault).startsWith("parked:"));
    return { ...check, offending, ok: offending.length === 0 };
  });

const fingerprintOf = ({ meta }: Source, sums: ReadonlyMap<string, Sums>): string =>
  Bun.SHA256.hash(JSON.stringify([[...meta], [...sums]]), "hex");

/** The migration to resume, or null. @throws MigrationError if the database contains other data. */
const movingOf = (found: Found, source: Source, shown: string, dir: string): MigrationTarget | null => {
  const refuse = (why: string): never => {
    throw new MigrationError("refused", why);
  };
  if (found.kind === "other") return refuse(`${shown} is not empty: there is a table ${found.table}; name an empty database`);
  if (found.kind === "store")
    return found.lineage === source.lineage
      ? refuse(`${shown} holds this store already: start the service with it in GENROUTER_STORE__URL`)
      : refuse(`${shown} holds the store of another service; name an empty database`);
  if (found.kind === "moving" && found.moving.lineage !== source.lineage)
    return refuse(`${shown} holds an unfinished move from another data directory; name an empty database`);
  if (found.kind === "moving") return found.moving;
  if (source.movedTo !== undefined)
    return refuse(
      `the data of ${dir} was migrated to ${source.movedTo}; genrouter migrate-store --undo reverts that if possible`,
    );
  return null;
};

/** @throws MigrationError if the arrived rows differ from the sent rows. */
const requireAllRows = (
  sent: ReadonlyMap<string, Sums>,
  arrived: ReadonlyMap<string, Sums>,
  marks: ReadonlyMap<string, Mark>,
  shown: string,
): void => {
  for (const [table, { rows, numbers, bytes }] of sent) {
    const there = arrived.get(table);
    const whole = bytes - (marks.get(table)?.replacedBytes ?? 0);
    if (there?.rows === rows && there.numbers === numbers && there.bytes === whole) continue;
    throw new MigrationError(
      "not_whole",
      `the rows of ${table} in ${shown} are not those of the data directory (${there?.rows} of ${rows} rows, sums ${there?.numbers} and ${there?.bytes} for ${numbers} and ${whole}); nothing was ended: empty that database and start again`,
    );
  }
};

const loadAll = async (
  { source, target, signal }: Ends,
  moving: MigrationTarget,
  sums: ReadonlyMap<string, Sums>,
  { pageRows = PAGE_ROWS }: MigrateRequest,
  report: (progress: Progress) => void,
): Promise<void> => {
  const marks = await target.marks();
  const of = [...sums.values()].reduce((all, { rows }) => all + rows, 0);
  let done = MIGRATED_TABLES.reduce((all, { name }) => all + (marks.get(name)?.rows ?? 0), 0);
  let here = 0;
  for (const table of MIGRATED_TABLES) {
    const { name } = table;
    let mark = marks.get(name);
    const rows = source.rowsOf(name, mark?.last ?? null);
    for (const page of pagesOf(rows, table, source.shapeOf(name), moving.movedAtMs, pageRows)) {
      signal.throwIfAborted();
      mark = await target.load(table, page, mark);
      done += page.rows;
      here += page.rows;
      report({ step: "loading", table: name, done, of, here });
    }
  }
};

type Kept = { name: typeof FILES | typeof UPLOADS; of: number; page: (afterSeq: number, limit: number) => StoredFile[] };

const keptOf = ({ target }: Ends, { name, of, page }: Kept, mark: Mark | undefined): StoredFileCopy => {
  let last = Number(mark?.last?.[0] ?? 0);
  return {
    before: mark?.rows ?? 0,
    of,
    next: (limit) => {
      const files = page(last, limit);
      last = files.at(-1)?.seq ?? last;
      return files;
    },
    brought: (count) => target.markFiles(name, last, count),
  };
};

/** Brings the result files, then the uploaded files. */
const bringAll = async (
  ends: Ends,
  bring: NonNullable<MigrateRequest["bringFiles"]>,
  marks: ReadonlyMap<string, Mark>,
): Promise<MigratedRows> => {
  const { source, signal } = ends;
  const results: Kept = {
    ...{ name: FILES, of: source.keptCount(Date.now()) },
    page: (afterSeq, limit) => source.keptFiles(afterSeq, Date.now(), limit),
  };
  const uploads: Kept = { name: UPLOADS, of: source.keptUploadsCount(), page: source.keptUploads };
  const first = await bring(keptOf(ends, results, marks.get(FILES)), "files");
  signal.throwIfAborted();
  if (uploads.of === 0) return first;
  const second = await bring(keptOf(ends, uploads, marks.get(UPLOADS)), "uploads");
  return { files: first.files + second.files, missing: [...first.missing, ...second.missing] };
};

type Ends = { source: Source; target: Target; signal: AbortSignal };

const carryOut = async (ends: Ends, query: MigrateRequest, report: (progress: Progress) => void): Promise<Outcome> => {
  const { source, target, signal } = ends;
  const { shown } = target;
  const stopped = new Promise<never>((_, stop) => signal.addEventListener("abort", () => stop(signal.reason), { once: true }));
  stopped.catch(() => undefined);
  /** A stop does not wait for a verification, which can take minutes. */
  const verified = async (end: "source" | "target"): Promise<CheckResult[]> =>
    fairly(
      await Promise.race([
        (end === "source" ? source : target).verify((done, of) => report({ step: "verifying", end, done, of })),
        stopped,
      ]),
    );
  const isSound = (checks: readonly CheckResult[]) => checks.every(({ ok }) => ok);

  const found = movingOf(await target.look(), source, shown, query.dir);
  report({ step: "adding up" });
  const sums = source.sums();
  const fingerprint = fingerprintOf(source, sums);
  if (found?.fingerprint === TAKEN_BACK)
    throw new MigrationError(
      "refused",
      `the move into ${shown} was taken back: empty that database (drop and create it), and start again`,
    );
  if (found !== null && found.fingerprint !== fingerprint)
    throw new MigrationError(
      "refused",
      `${query.dir} was written to since the move into ${shown} began, so that what has arrived is not what it holds: empty that database (drop and create it), and start again`,
    );
  const outcome: Outcome = {
    ...{ isMoved: false, to: shown, isResumed: found !== null, replaced: 0, source: null, target: null, files: null },
    rows: Object.fromEntries([...sums].map(([name, { rows }]) => [name, rows])),
    leftHere: source.leftHere(),
  };

  if (found === null) {
    outcome.source = await verified("source");
    if (!isSound(outcome.source)) return outcome;
  }
  signal.throwIfAborted();
  const moving = found ?? (await target.begin({ lineage: source.lineage, fingerprint }, Date.now()));
  if (moving.step === "loading") {
    await loadAll(ends, moving, sums, query, report);
    signal.throwIfAborted();
    report({ step: "settling" });
    await target.settle(source);
  }
  const marks = await target.marks();
  outcome.replaced = [...marks.values()].reduce((all, { replaced }) => all + replaced, 0);
  if (moving.step !== "verified") {
    await target.analyze();
    signal.throwIfAborted();
    report({ step: "adding up" });
    requireAllRows(sums, await target.sums(source.shapeOf), marks, shown);
    outcome.target = await verified("target");
    if (!isSound(outcome.target)) return outcome;
    await target.note("verified");
  }
  signal.throwIfAborted();
  if (query.bringFiles) outcome.files = await bringAll(ends, query.bringFiles, marks);
  signal.throwIfAborted();
  // In this order: between the two writes no service can open either end, and the same command completes the migration.
  source.mark(shown, Date.now());
  await target.end();
  return { ...outcome, isMoved: true };
};

/** Opens both ends for `work`. @throws MigrationError, and the errors of a data directory. */
const between = async <T>(
  { dir, networkDisk, url, signal }: Omit<MigrateRequest, "bringFiles">,
  work: (ends: Ends) => Promise<T>,
): Promise<T> => {
  const shown = shownAddress(url);
  const source = openSource(dir, networkDisk);
  let target: Target | undefined;
  try {
    target = await openTarget(url);
    const { close } = target;
    signal.addEventListener("abort", () => setTimeout(close, STOP_MS).unref(), { once: true });
    return await work({ source, target, signal });
  } catch (fault) {
    throw signal.aborted ? signal.reason : asMigrationError(fault, shown);
  } finally {
    target?.close();
    source.close();
  }
};

/**
 * Migrates a store, or resumes a stopped migration. @throws MigrationError, the errors of a data directory, and the reason of the
 * signal.
 */
export const migrateStore = (query: MigrateRequest, report: (progress: Progress) => void): Promise<Outcome> =>
  between(query, (ends) => carryOut(ends, query, report));

/**
 * Undoes a migration: a service can open the data directory again, but not the database.
 * @throws MigrationError if the directory was not migrated, or if a service has opened the database since.
 */
export const undoMigration = (query: Omit<MigrateRequest, "bringFiles">): Promise<void> =>
  between(query, async ({ source, target }) => {
    if (source.movedTo === undefined)
      throw new MigrationError("refused", `${query.dir} was not moved: there is nothing to take back`);
    if (source.movedTo !== target.shown)
      throw new MigrationError(
        "refused",
        `${query.dir} was moved to ${source.movedTo}, not to ${target.shown}: name that database`,
      );
    await target.takeBack(source.lineage);
    source.unmark();
  });
