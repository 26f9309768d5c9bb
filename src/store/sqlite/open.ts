// Opens connections to the database file, with every safety-relevant pragma set and verified.
import { constants, Database, type SQLQueryBindings } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { pathToFileURL } from "node:url";

export type Pragmas = {
  /** Page cache of the connection in KiB. */
  cacheKib: number;
  /** Number of WAL pages at which a commit also checkpoints. */
  checkpointPages: number;
  /** Maximum file size in pages of 4 KiB; 0 for no limit. Tests simulate a full disk with it. */
  maxPages: number;
};
/**
 * 8,000 pages are 32 MiB of WAL, which is small enough and makes checkpoints rare. The caches hold the pages of thousands of
 * generations in progress. Ended generations are read from the kernel's cache, so larger caches only fill with them.
 */
export const DEFAULT_PRAGMAS: Pragmas = { cacheKib: 8_192, checkpointPages: 8_000, maxPages: 0 };
/** Page cache of a read-only connection in KiB. */
const READER_CACHE_KIB = 4_096;

/** The database file in a data directory. */
export const DATABASE_FILE = "genrouter.db";

/**
 * Closes a connection and its statements. SQLite keeps a connection and its WAL open while it has a statement, and Bun finalizes
 * statements only by garbage collection.
 */
const closing = (db: Database): Database => {
  const statements = new Set<{ finalize(): void }>();
  const prepare = db.prepare.bind(db);
  const close = db.close.bind(db);
  db.prepare = <Row, Params extends SQLQueryBindings | SQLQueryBindings[]>(sql: string, params?: Params) => {
    const statement = prepare<Row, Params>(sql, params);
    statements.add(statement);
    return statement;
  };
  db.close = (throwOnError) => {
    for (const statement of statements) statement.finalize();
    statements.clear();
    close(throwOnError);
  };
  return db;
};

/** The value of a pragma as text. */
export const pragma = (db: Database, name: string): string => {
  const row = db.query<Record<string, string | number>, []>(`PRAGMA ${name}`).get();
  return String(Object.values(row ?? {})[0] ?? "");
};

/**
 * Sets and verifies pragmas, because Bun opens SQLite without foreign keys, without a busy timeout and with a rollback journal.
 */
const insist = (db: Database, settings: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(settings)) {
    db.run(`PRAGMA ${name} = ${value}`);
    const now = pragma(db, name);
    if (now !== value) throw new Error(`the database refused PRAGMA ${name} = ${value} and answers ${now}`);
  }
};

/** The write connection. `:memory:` has no WAL on disk and is otherwise the same. */
export const openWriter = (path: string, pragmas: Pragmas = DEFAULT_PRAGMAS): Database =>
  writerOver(new Database(path, { readwrite: true, create: true, strict: true }), path, pragmas);

/** Makes a connection to `path` the write connection. */
export const writerOver = (opened: Database, path: string, pragmas: Pragmas = DEFAULT_PRAGMAS): Database => {
  const db = closing(opened);
  // The file contains prompts and the secret of signed links, so only its owner can read it, for any umask. The WAL inherits the
  // mode.
  if (path !== ":memory:") chmodSync(path, 0o600);
  insist(db, {
    busy_timeout: "5000",
    journal_mode: path === ":memory:" ? "memory" : "wal",
    // FULL: 40 power cuts lost no acknowledged commit; NORMAL lost 790 rows.
    synchronous: "2",
    foreign_keys: "1",
    temp_store: "2",
    recursive_triggers: "0",
    // Deleted and shortened rows are overwritten with zeros, so that an erased text is in no free page.
    secure_delete: "1",
    cache_size: String(-pragmas.cacheKib),
    wal_autocheckpoint: String(pragmas.checkpointPages),
  });
  if (pragmas.maxPages > 0) insist(db, { max_page_count: String(pragmas.maxPages) });
  return db;
};

/** A read-only connection; any number can be open while another process writes. */
export const openReader = (path: string): Database => {
  const db = closing(new Database(path, { readonly: true, strict: true }));
  insist(db, {
    busy_timeout: "5000",
    foreign_keys: "1",
    temp_store: "2",
    query_only: "1",
    cache_size: String(-READER_CACHE_KIB),
  });
  return db;
};

/** The URI of a file without writers, for SQLite. */
export const snapshotName = (path: string): string => `${pathToFileURL(path).href}?immutable=1`;

/**
 * A connection to a file without writers, such as a copy in a backup. It creates no side files and takes no locks. It works on a
 * read-only disk and leaves the file unchanged. Other such files can be attached to it.
 */
export const openSnapshot = (path: string): Database => {
  const db = closing(new Database(snapshotName(path), constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI));
  insist(db, { foreign_keys: "1", temp_store: "2", query_only: "1", cache_size: String(-READER_CACHE_KIB) });
  return db;
};
