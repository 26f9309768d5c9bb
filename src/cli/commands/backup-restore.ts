// `genrouter backup restore`: restores a backup into a new data directory.
//
// It first prints the data that the restore would lose.
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Restored } from "../../backup/restore.ts";
import { ageText, comparisonLines, counted, sizeText, unfinishedLines } from "../backup-text.ts";
import { awaitWork } from "../backup-work.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { directoryOf, type JsonFlag, type Session, withExamples, withJson } from "../session.ts";

type Flags = JsonFlag & { to: string; dryRun?: true; yes?: true };

const restoredJson = ({ manifest, bytes, unfinished, sealedKeys, against }: Restored, flags: Flags) => ({
  dry_run: flags.dryRun === true,
  to: resolve(flags.to),
  taken_at: manifest.taken_at,
  bytes,
  rows: manifest.rows,
  ledger: manifest.ledger,
  original_faults: manifest.faults,
  left_out: manifest.left_out,
  provider_keys_without_master_key: sealedKeys,
  unfinished,
  now: against && { rows: against.now.rows, ledger: against.now.ledger, is_same_service: against.loss !== null },
  would_lose: against?.loss ?? null,
});

/** Remaining manual steps for the operator. */
const toDo = (dir: string, { sealedKeys, manifest }: Restored): string[] => [
  ...(sealedKeys > 0
    ? [
        `${counted(sealedKeys, "provider key is", "provider keys are")} sealed, and provider-keys.master is not in this backup: copy that file into ${dir}, or set the keys again: genrouter providers set-key`,
      ]
    : []),
  ...(manifest.files_store === "s3"
    ? ["result files in the bucket are not part of a backup; the service requires the same s3 settings"]
    : []),
  `if the service runs as another user: chown -R that-user ${dir}`,
  `start it: genrouter serve --data ${dir}${manifest.mode === "test" ? " --simulate" : ""}`,
];

export const addRestore = (backup: Command, session: Session): void => {
  const { terminal } = session;
  const report = (restored: Restored, dir: string, isDone: boolean): void => {
    const { manifest, bytes, unfinished } = restored;
    const size = `${counted(manifest.entries.length, "file")}, ${sizeText(bytes)}`;
    const age = `${manifest.taken_at}, ${ageText(Date.now() - manifest.taken_at_ms)} ago`;
    terminal.print(isDone ? `restored to ${dir} (${size}), as of ${age}` : `the backup is valid: ${size}, as of ${age}`);
    for (const { path, why } of manifest.faults) terminal.warn(`present at the time of the backup: ${path}: ${why}`);
    if (!isDone) for (const line of comparisonLines(restored, dir)) terminal.print(line);
    for (const line of unfinishedLines(unfinished)) terminal.print(line);
    if (!isDone) {
      terminal.note("nothing was restored: --dry-run");
      return;
    }
    terminal.print("later changes are not included: genrouter reconcile PROVIDER lists later jobs");
    for (const line of toDo(dir, restored)) terminal.print(line);
  };

  const command = backup
    .command("restore <path>")
    .description("verify a backup and restore it into a new or empty directory; existing files are never overwritten")
    .requiredOption("--to <dir>", "target directory; with --dry-run also the directory in use, to compare with the backup")
    .option("--dry-run", "print the contents of the backup and what a restore would lose, without a restore")
    .option("--yes", "do not ask for confirmation")
    .action(async (path: string, flags: Flags) => {
      const { restoreInWorker } = await import("../../backup/worker-client.ts");
      const { network_disk: networkDisk } = directoryOf(session, {});
      const run = (dryRun: boolean) =>
        awaitWork(session, (print) => restoreInWorker({ path, to: flags.to, dryRun, networkDisk }, print));
      const dir = resolve(flags.to);
      const dryRun = flags.dryRun === true;
      if (!dryRun && !flags.yes && !(terminal.isLive && process.stdin.isTTY && confirm(`restore ${path} to ${dir}?`)))
        throw new CommandError(EXITS.usage, "a restore must be confirmed; add --yes, or use --dry-run to print its effects", {
          code: "not_confirmed",
        });
      const restored = await run(dryRun);
      if (flags.json) terminal.print(JSON.stringify(restoredJson(restored, flags)));
      else report(restored, dir, !dryRun);
    });
  withExamples(
    withJson(command),
    "backup restore /var/backups/genrouter/genrouter-20261121T041200Z --to /var/lib/genrouter --dry-run",
    "backup restore /var/backups/genrouter/genrouter-20261121T041200Z --to /var/lib/genrouter --yes",
  );
};
