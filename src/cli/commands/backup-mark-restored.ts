// `genrouter backup adopt`: marks a data directory or database as restored from an older state.
//
// It is for copies that another tool restored: a disk snapshot, or a restore by the database.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Settings } from "../../config/schema.ts";
import { chownTree } from "../chown-files.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { storeLocationOf } from "../read-only-store.ts";
import { type DirFlag, directoryOf, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";

/** @returns time of the restored state. */
const adoptDirectory = async ({ dir, network_disk: networkDisk }: Settings["data"]): Promise<number> => {
  const { DATABASE_FILE, openReader } = await import("../../store/sqlite/open.ts");
  const { claimDirectory } = await import("../../store/sqlite/directory-lock.ts");
  const { markCopy } = await import("../../store/sqlite/snapshot-copy/copy.ts");
  const { openQuery, SQLITE } = await import("../../store/sqlite/sql-program.ts");
  const { recoveryReads } = await import("../../store/sql/queries/recovery.ts");
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path))
    throw new CommandError(EXITS.unwritable, `data directory ${dir}: there is no database in it`, {
      fix: "with GENROUTER_STORE__URL and without --data, the command marks that database",
      code: "directory_unusable",
    });
  const claim = claimDirectory(dir, { networkDisk, creation: false });
  try {
    const reader = openReader(path);
    // Highest stored time; the copy contains nothing later.
    const takenAtMs = await recoveryReads(openQuery(reader), SQLITE).lastSeenMs();
    reader.close();
    markCopy(path, { takenAtMs, nowMs: Date.now() });
    chownTree(dir);
    return takenAtMs;
  } finally {
    claim.release();
  }
};

/** @returns time of the restored state. */
const adoptShared = async ({ url, prepared: prepare }: Settings["store"]): Promise<number> => {
  const { adoptDatabase } = await import("../../store/postgres/mark-restored.ts");
  const adoption = await adoptDatabase({ url, prepare }, Date.now());
  if (adoption.kind === "adopted") return adoption.takenAtMs;
  const nodes = adoption.nodes.map(
    ({ node, pid, leaseEndsInMs }) => `${node} (pid ${pid}, its lease ends in ${Math.max(1, Math.ceil(leaseEndsInMs / 1000))} s)`,
  );
  throw new CommandError(EXITS.tryAgain, `the database is in use and was not marked; live nodes: ${nodes.join(", ")}`, {
    fix: "stop every node; a killed node counts as live until its lease expires",
    code: "nodes_alive",
  });
};

export const addAdopt = (backup: Command, session: Session): void => {
  const adopt = backup
    .command("mark-restored")
    .description(
      "mark a data directory, or without --data the database of store.url, as restored by another program (a snapshot, a replica, a PostgreSQL restore or failover); the next start confirms in-flight attempts with their provider before it submits anything; stop every node first",
    )
    .action(async (flags: DirFlag & JsonFlag) => {
      const place = storeLocationOf(session, flags);
      const isShared = "database" in place;
      const what = isShared
        ? (await import("../../store/migrate-to-postgres/errors.ts")).shownAddress(place.database.url)
        : directoryOf(session, flags).dir;
      const takenAtMs = isShared ? await adoptShared(place.database) : await adoptDirectory(directoryOf(session, flags));
      const takenAt = new Date(takenAtMs).toISOString();
      if (flags.json)
        return session.terminal.print(JSON.stringify({ ...(isShared ? { store: what } : { dir: what }), taken_at: takenAt }));
      session.terminal.print(
        `${what}: as of ${takenAt}. In-flight attempts are confirmed with their provider before anything is submitted.`,
      );
    });
  withExamples(
    withJson(withDir(adopt)),
    "backup mark-restored --data /var/lib/genrouter",
    "backup mark-restored   # with GENROUTER_STORE__URL_FILE, after a restore of PostgreSQL",
  );
};
