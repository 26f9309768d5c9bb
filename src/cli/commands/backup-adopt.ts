// `genrouter backup adopt`: a data directory that something else brought back, a snapshot of a disk or a replica, is marked as old.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { CommandFault, EXITS } from "../exits.ts";
import { handOver } from "../hand-over.ts";
import { type DirFlag, directoryOf, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";

export const addAdopt = (backup: Command, session: Session): void => {
  const adopt = backup
    .command("adopt")
    .description(
      "say that a data directory is an old state of itself, brought back by something else than restore (a snapshot, a replica): the next start asks the providers what was sent since before it sends anything",
    )
    .action(async (flags: DirFlag & JsonFlag) => {
      const { dir, network_disk: networkDisk } = directoryOf(session, flags);
      const { DATABASE_FILE, openReader } = await import("../../store/sqlite/open.ts");
      const { claimDirectory } = await import("../../store/sqlite/owner.ts");
      const { markCopy } = await import("../../store/sqlite/still/copy.ts");
      const { openQuery, SQLITE } = await import("../../store/sqlite/asking.ts");
      const { recoveryReads } = await import("../../store/sql/read/recovery.ts");
      const path = join(dir, DATABASE_FILE);
      if (!existsSync(path))
        throw new CommandFault(EXITS.unwritable, `data directory ${dir}: there is no database in it`, {
          code: "directory_unusable",
        });
      const claim = claimDirectory(dir, { networkDisk, creation: false });
      try {
        const reader = openReader(path);
        // The highest time that it holds: what was done later is what is not in it.
        const takenAtMs = await recoveryReads(openQuery(reader), SQLITE).lastSeenMs();
        reader.close();
        markCopy(path, { takenAtMs, nowMs: Date.now() });
        handOver(dir);
        const takenAt = new Date(takenAtMs).toISOString();
        if (flags.json) return session.terminal.print(JSON.stringify({ dir, taken_at: takenAt }));
        session.terminal.print(`${dir}: as of ${takenAt}; the next start asks the providers about what was on its way then`);
      } finally {
        claim.release();
      }
    });
  withExamples(withJson(withDir(adopt)), "backup adopt --data /var/lib/genrouter");
};
