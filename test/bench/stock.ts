// Fills a data directory with generations as the service would have written them, through the store's writer and by copies.
import type { Database } from "bun:sqlite";
import { closeSync, cpSync, fsyncSync, openSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { StoredFile } from "../../src/domain/types.ts";
import { createLocalStorage } from "../../src/files/local.ts";
import { createBatchRunner } from "../../src/store/sqlite/batch.ts";
import { ownDatabase } from "../../src/store/sqlite/initialize.ts";
import { DATABASE_FILE, DEFAULT_PRAGMAS, openWriter } from "../../src/store/sqlite/open.ts";
import { dropScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { Skipped } from "./bench.ts";
import { writeCopies } from "./copies.ts";
import { CLIP, LIFE_MS, openLives, PICTURES, type StockStatus, type Subject } from "./lives.ts";
import { onBothCores } from "./machine.ts";
import { ACCOUNTS } from "./rungs/parts.ts";
import { endow, type Tenant, verify } from "./service.ts";

/** A stocked generation and the key that may poll it. */
export type Stocked = { id: string; key: string };

/** The greatest age of ended generations: files expire after a week, and none may expire during a measurement. */
const SPREAD_MS = 5 * 86_400_000;
/** The greatest age of generations in flight. */
const IN_FLIGHT_MS = 10_000;
const PER_COMMIT = 20_000;
/** Only the newest are returned: more than a service caches. */
const INFORMATIONAL = 10_000;
const REPORT_EACH = 100_000;
/** Page cache while filling: keys and job ids are random, so their indexes are written everywhere. */
const CACHE_KIB = 786_432;
/** This number goes through the store's writer; the others are copies of the last. */
const WRITTEN = 1_000;
/** Of these, the generations of the large account that its lists by model and by metadata find. */
export const RARE = CLIP;
export const RARE_METADATA = { order: "a-7" };
const RARE_EACH = 10;
/** Measured bytes of an ended generation, with its events and indexes. */
const BYTES_EACH: ReadonlyMap<Subject, number> = new Map([
  [CLIP, 9_500],
  [PICTURES, 4_500],
]);

/**
 * Without a write-ahead log and without syncs: an interrupted run discards the directory. The file is flushed before any
 * measurement, so that its write-back disturbs none.
 */
const filling = async (path: string, fill: (db: Database) => Promise<void>): Promise<void> => {
  const db = openWriter(path, { ...DEFAULT_PRAGMAS, cacheKib: CACHE_KIB });
  db.run("PRAGMA journal_mode = MEMORY");
  db.run("PRAGMA synchronous = OFF");
  try {
    await fill(db);
    db.run("PRAGMA synchronous = FULL");
    db.run("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
  toDisk(path);
};

const toDisk = (path: string): void => {
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
};

const requireDiskSpace = (dir: string, count: number, subject: Subject): void => {
  const { bavail, bsize } = statfsSync(dir);
  const [free, wanted] = [bavail * bsize, count * (BYTES_EACH.get(subject) ?? 0)];
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  if (free < 1.2 * wanted) throw new Skipped(`${count} stored generations take about ${gb(wanted)}, and ${gb(free)} are free`);
};

type StockOptions = {
  /** The bytes of every file, stored as the service does; default: the rows name files that do not exist. */
  content?: Uint8Array;
  subject?: Subject;
  /** Every second generation is of the first account. A hundred of its oldest have another model, and metadata. */
  hasLargeAccount?: boolean;
  report?: (line: string) => void;
};

/**
 * Adds `count` generations to a directory without a running service, for all accounts in turn.
 * @returns the newest with their API keys, oldest first.
 */
export const stock = async (
  dir: string,
  tenants: readonly Tenant[],
  count: number,
  status: StockStatus = "succeeded",
  { content, subject = CLIP, hasLargeAccount = false, report }: StockOptions = {},
): Promise<Stocked[]> => {
  requireDiskSpace(dir, count, subject);
  const { files: perLife, mime } = subject;
  const sha256 = Bun.SHA256.hash(content ?? "not there", "hex");
  const bytes = content?.length ?? 1_048_576;
  const files = Array.from({ length: perLife }, (_, at): StoredFile => ({ n: at + 1, sha256, bytes, mime }));
  const lastMs = Date.now() - LIFE_MS[status];
  const spreadMs = status === "succeeded" ? SPREAD_MS : IN_FLIGHT_MS;
  const atMsOf = (n: number) => Math.floor(lastMs - spreadMs * (1 - n / count));
  const tenantOf = (n: number): Tenant => {
    const tenant = hasLargeAccount && n % 2 === 0 ? tenants[0] : tenants[n % tenants.length];
    if (!tenant) throw new Error("a stocked directory needs an account");
    return tenant;
  };
  const reported: Stocked[] = [];
  const made = (n: number, stocked: Stocked) => {
    if (n >= count - INFORMATIONAL) reported.push(stocked);
  };
  const path = join(dir, DATABASE_FILE);
  await filling(path, async (db) => {
    const batch = createBatchRunner(db, ownDatabase(db, path, "test", Date.now()));
    const written = content ? count : Math.min(count, WRITTEN);
    const [lifeOf, rareLifeOf] = [openLives(subject), openLives(RARE)];
    const lifeAt = (n: number) =>
      hasLargeAccount && n % RARE_EACH === 0
        ? rareLifeOf(tenantOf(n), atMsOf(n), status, files, { metadata: RARE_METADATA, endUser: null })
        : lifeOf(tenantOf(n), atMsOf(n), status, files);
    const lives = Array.from({ length: written }, (_, n) => ({ key: tenantOf(n).key, ...lifeAt(n) }));
    const wrong = batch(lives.flatMap(({ mutations }) => mutations)).find(
      ({ kind }) => kind !== "admitted" && kind !== "stepped",
    );
    if (wrong) throw new Error(`the store did not take a stocked generation: ${JSON.stringify(wrong)}`);
    for (const [n, { id, key }] of lives.entries()) made(n, { id, key });
    if (content) await keepFiles(dir, lives, files, content);
    const sample = lives.at(-1);
    if (!sample || written === count) return;
    const fromMono = performance.now();
    await writeCopies(db, {
      ...{ sampleId: sample.id, count: count - written, perCommit: PER_COMMIT },
      tenantOf: (n) => tenantOf(n + written),
      atMsOf: (n) => atMsOf(n + written),
      made: (n, stocked) => made(n + written, stocked),
      committed: async (n) => {
        const us = ((performance.now() - fromMono) * 1000) / n;
        if (n % REPORT_EACH === 0)
          report?.(`stocked ${n} of ${count}, ${us.toFixed(0)} µs each, ${Math.round(((count - n) * us) / 1e6)} s to go`);
        // Allows signals to be handled between two commits.
        await Bun.sleep(0);
      },
    });
  });
  return reported;
};

const keepFiles = async (dir: string, lives: readonly { id: string }[], files: readonly StoredFile[], content: Uint8Array) => {
  const kept = await createLocalStorage(join(dir, "files"));
  for (const { id } of lives)
    for (const { n } of files) {
      const incoming = await kept.receive(id, n);
      await incoming.write(content);
      await incoming.keep();
    }
};

/** Creates a separate directory with accounts and stocked generations. */
export type StockedHome = { dir: string; tenants: readonly Tenant[]; seen: readonly Stocked[]; drop(): void };

type Contents = Pick<StockedHome, "tenants" | "seen">;

const fillHome = async (
  dir: string,
  count: number,
  status: StockStatus,
  options: Omit<StockOptions, "content">,
): Promise<Contents> => {
  const tenants = await endow(dir, ACCOUNTS);
  const seen = await stock(dir, tenants, count, status, options);
  return { tenants, seen };
};

export const makeStocked = async (
  count: number,
  status: StockStatus,
  options: Omit<StockOptions, "content">,
): Promise<StockedHome> => {
  const home = makeScratch("bench-stock-");
  const dir = join(home, "data");
  return { dir, ...(await fillHome(dir, count, status, options)), drop: () => dropScratch(home) };
};

/** Copies a directory in which no service has run yet. */
export const copyStocked = (home: StockedHome): StockedHome => {
  const scratch = makeScratch("bench-stock-");
  const dir = join(scratch, "data");
  cpSync(home.dir, dir, { recursive: true });
  toDisk(join(dir, DATABASE_FILE));
  return { ...home, dir, drop: () => dropScratch(scratch) };
};

/** Directories that were stocked in advance or returned unchanged by a bench: filling a large one takes minutes. */
const kept = new Map<number, StockedHome>();

/** Half of the generations are of one account, so that its lists grow with the store. */
const ENDED = { subject: PICTURES, hasLargeAccount: true } as const;
/** Fills a new directory with `count` ended generations. */
export const fillEnded = (dir: string, count: number): Promise<Contents> => fillHome(dir, count, "succeeded", ENDED);
/** Creates such a directory. */
export const makeEnded = (count: number, report?: (line: string) => void): Promise<StockedHome> =>
  makeStocked(count, "succeeded", { ...ENDED, ...(report ? { report } : {}) });

const IN_A_PROCESS = join(import.meta.dir, "stock-ahead.ts");
/** Stocks a directory for a later bench in a separate process. After a failure, that bench tries again and reports the reason. */
export const stockAhead = async (count: number): Promise<void> => {
  if (kept.has(count)) return;
  const home = makeScratch("bench-stock-");
  const dir = join(home, "data");
  const child = Bun.spawn(onBothCores([process.execPath, IN_A_PROCESS, dir, String(count)]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  killAtTheEnd(() => child.kill("SIGKILL"));
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) return dropScratch(home);
  const contents = JSON.parse(said) as Contents;
  kept.set(count, { dir, ...contents, drop: () => dropScratch(home) });
};

/** Returns an existing or new directory with `count` ended generations. */
export const takeEnded = async (count: number, report: (line: string) => void): Promise<StockedHome> => {
  const known = kept.get(count);
  kept.delete(count);
  return known ?? makeEnded(count, report);
};
/** Returns an unchanged directory for later use. */
export const giveBackEnded = (count: number, home: StockedHome): void => void kept.set(count, home);

/** Verifies and deletes a stocked directory. */
export const endStocked = async ({ dir, drop }: StockedHome): Promise<void> => {
  await verify(dir);
  drop();
};
/** Verifies and deletes all unused directories. */
export const endKept = async (): Promise<void> => {
  const homes = [...kept.values()];
  kept.clear();
  for (const home of homes) await endStocked(home);
};
