// Backups for operators: the newest one, and one that begins now.
import type { BackupView } from "../operator-dto.ts";
import { actorOf, ConsoleRefused, type ConsoleRequest } from "../request-context.ts";
import type { OperatorDeps } from "./deps.ts";

export type BackupService = {
  view(): Promise<BackupView>;
  /** Begins a backup, unless one runs already. */
  begin(request: ConsoleRequest): Promise<BackupView>;
};

export const createBackupService = ({
  running,
  post,
  clock,
}: Pick<OperatorDeps, "running" | "post" | "clock">): BackupService => {
  const { backups, backupDir, isShared } = running;
  const view = async (): Promise<BackupView> => {
    const { running: now, last } = backups.state();
    return { dir: backupDir, isShared, lastMs: await running.lastBackupMs(), running: now, ended: last };
  };
  return {
    view,
    begin: async (request) => {
      if (!backups.isConfigured)
        throw new ConsoleRefused(
          "refused",
          isShared
            ? "The service makes no backups of PostgreSQL. Use the tools of the database."
            : "No directory for backups is configured. Set backup.dir and start the service again.",
        );
      if (backups.begin(request.who.email)) await post({ mutation: "note-backup", by: actorOf(request), atMs: clock.nowMs() });
      return view();
    },
  };
};
