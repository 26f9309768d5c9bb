// Creates the tables of a build before the first release, without rows, as that build created them.
import { openWriter } from "../../src/store/sqlite/open.ts";
import { PRE_RELEASE_MIGRATIONS, PRE_RELEASE_VERSION } from "../../src/store/sqlite/schema/pre-release/migrations.ts";

/** @param rows SQL that fills the tables. */
export const makePreRelease = (path: string, rows = "", version = PRE_RELEASE_VERSION): void => {
  const db = openWriter(path);
  db.run("CREATE TABLE migration (n INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL) STRICT");
  for (const step of PRE_RELEASE_MIGRATIONS.filter((one) => one.version <= version)) {
    db.run(step.sql);
    db.run("INSERT INTO migration VALUES (?, ?, 1)", [step.version, Bun.CryptoHasher.hash("sha256", step.sql, "hex")]);
  }
  if (rows !== "") db.run(rows);
  db.run(`PRAGMA user_version = ${version}`);
  db.close();
};

/** The rows that every service wrote at its first start. */
export const FIRST_START = `INSERT INTO meta VALUES ('mode', 'test'), ('secret', '${"ab".repeat(32)}'), ('created_at_ms', '1'),
  ('last_seen_ms', '1'); INSERT INTO owner VALUES (1, 1, 'old', 1);`;
