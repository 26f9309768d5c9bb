// Brings a database to the newest schema: numbered steps with checksums, all in one transaction, and one node at a time.
import { WrongSchema } from "../faults.ts";
import type { Connection } from "./connect.ts";
import first from "./schema/0001.sql" with { type: "text" };
import second from "./schema/0002.sql" with { type: "text" };

export type Migration = { n: number; sql: string };
export const MIGRATIONS: readonly Migration[] = [
  { n: 1, sql: first },
  { n: 2, sql: second },
];

const checksum = (sql: string): string => Bun.CryptoHasher.hash("sha256", sql, "hex");

/** Nodes that start at the same moment wait here for each other; the lock belongs to a transaction, so a pooler does not lose it. */
export const LOCK_OPENING = "SELECT pg_advisory_xact_lock(7236837562)";
const CREATE =
  "CREATE TABLE IF NOT EXISTS migration (n bigint PRIMARY KEY, checksum text NOT NULL, applied_at_ms bigint NOT NULL)";

/**
 * Runs the steps that a database still lacks, inside the transaction that is open and holds the lock.
 * @throws WrongSchema when it is newer than this release, or a step that was run is not the one known here.
 */
export const migrate = async (line: Connection, nowMs: number, migrations: readonly Migration[] = MIGRATIONS): Promise<void> => {
  await line.script(CREATE);
  const { rows } = await line.send<{ n: number; checksum: string }>("SELECT n, checksum FROM migration ORDER BY n");
  const newest = migrations.at(-1)?.n ?? 0;
  const version = rows.at(-1)?.n ?? 0;
  if (version > newest)
    throw new WrongSchema(`the database has schema ${version} and this release knows ${newest}: start the newer release`);
  for (const row of rows)
    if (checksum(migrations.find(({ n }) => n === row.n)?.sql ?? "") !== row.checksum)
      throw new WrongSchema(
        `step ${row.n} of the database is not the one of this release: it was made by a changed or unreleased build; use that build`,
      );
  for (const { n, sql } of migrations.filter((one) => one.n > version)) {
    await line.script(sql);
    await line.send("INSERT INTO migration VALUES (?1, ?2, ?3)", n, checksum(sql), nowMs);
  }
};
