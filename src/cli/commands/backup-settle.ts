// `genrouter backup settle`: confirms that work missing from a restored backup was checked.
import type { Command } from "commander";
import { withAdminService } from "../admin-connection.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";

export const addSettle = (backup: Command, session: Session): void => {
  const settle = backup
    .command("settle")
    .description(
      "confirm that the gap after a restored backup was handled: provider jobs since then (genrouter reconcile), top-ups and revoked keys. Ends the warning of doctor, the console and the alert until the next restore",
    )
    .requiredOption("--reason <text>", "reason, for the audit log")
    .action(async ({ reason, ...flags }: DirFlag & JsonFlag & { reason: string }) => {
      const { takenAtMs } = await withAdminService(settingsOf(session, flags), (admin) => admin.settleRestored({ reason }));
      const takenAt = new Date(takenAtMs).toISOString();
      if (flags.json) return session.terminal.print(JSON.stringify({ taken_at: takenAt, settled: true }));
      session.terminal.print(`settled: the backup as of ${takenAt}`);
    });
  withExamples(withJson(withDir(settle)), 'backup settle --reason "fal and Replicate reconciled, two top-ups added again"');
};
