// `genrouter backup`: creates, verifies, lists and restores backups.
import type { Command } from "commander";
import type { ListedBackup } from "../../backup/backup-directory.ts";
import type { CreatedBackup } from "../../backup/create.ts";
import { ageText, counted, sizeText } from "../backup-text.ts";
import { awaitWork } from "../backup-work.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";
import { VERSION } from "../version.ts";
import { addAdopt } from "./backup-mark-restored.ts";
import { addRestore } from "./backup-restore.ts";
import { addSettle } from "./backup-settle.ts";

type Flags = DirFlag & JsonFlag;

/** Backup directory of the flag or the configuration. @throws CommandError (usage) if neither is set. */
const placeOf = (session: Session, dir: string | undefined, flags: DirFlag): string => {
  const place = dir ?? settingsOf(session, flags).backup.dir;
  if (place !== "") return place;
  throw new CommandError(EXITS.usage, "no directory for backups; name one, or set GENROUTER_BACKUP__DIR", { code: "bad_flag" });
};

const madeJson = (made: CreatedBackup) => ({
  path: made.path,
  verified: made.faults.length === 0,
  taken_at: new Date(made.takenAtMs).toISOString(),
  database_bytes: made.databaseBytes,
  files: made.files,
  file_bytes: made.fileBytes,
  linked_files: made.linked,
  left_out: made.leftOut,
  faults: made.faults,
});

const shelvedJson = ({ name, path, state, why, bytes, manifest }: ListedBackup, nowMs: number) => ({
  ...{ name, path, state: state.replace(" ", "_"), why, bytes },
  taken_at: manifest?.taken_at ?? null,
  age_s: manifest === null ? null : Math.max(0, Math.round((nowMs - manifest.taken_at_ms) / 1000)),
  made_by: manifest?.made_by ?? null,
  genrouter: manifest?.genrouter ?? null,
  schema: manifest?.schema ?? null,
  rows: manifest?.rows ?? null,
  ledger: manifest?.ledger ?? null,
  files: manifest === null ? null : manifest.entries.length - 1,
});

const backupLines = (backups: readonly ListedBackup[], nowMs: number): string[] =>
  table(
    ["BACKUP", "AGE", "SIZE", "ROWS", "FILES", "STATE"],
    backups.map(({ name, state, why, bytes, manifest }) => [
      name,
      ...(manifest === null
        ? ["", "", "", ""]
        : [
            ageText(nowMs - manifest.taken_at_ms),
            sizeText(bytes),
            String(Object.values(manifest.rows).reduce((sum, rows) => sum + rows, 0)),
            String(manifest.entries.length - 1),
          ]),
      why === null ? state : `${state}: ${why}`,
    ]),
    [1, 2, 3, 4],
  );

export const addBackup = (program: Command, session: Session): void => {
  const { terminal } = session;
  const bad = terminal.paint("red", "✘");
  const backup = withExamples(
    program.command("backup").description("create, verify, list and restore backups of a data directory"),
    "backup create /var/backups/genrouter",
    "backup restore /var/backups/genrouter/genrouter-20261121T041200Z --to /var/lib/genrouter --dry-run",
  );

  const create = backup
    .command("create [dir]")
    .description("create and verify a backup of the database and the result files, while the service is running or stopped")
    .option("--with-master-key", "include the master key; the backup then contains usable provider credentials")
    .action(async (dir: string | undefined, flags: Flags & { withMasterKey?: true }) => {
      const place = placeOf(session, dir, flags);
      const { data, files } = settingsOf(session, flags);
      const { makeBackup } = await import("../../backup/worker-client.ts");
      const made = await awaitWork(session, (report) =>
        makeBackup(
          {
            ...{ dataDir: data.dir, dir: place, madeBy: "command", version: VERSION, filesStore: files.store },
            ...{ withMasterKey: flags.withMasterKey === true, aheadMs: 0, keep: null },
          },
          report,
        ),
      );
      const isVerified = made.faults.length === 0;
      if (!isVerified) session.exit = EXITS.failure;
      if (flags.json) return terminal.print(JSON.stringify(madeJson(made)));
      const linked = made.linked > 0 ? `, ${made.linked} of them shared with the previous backup` : "";
      const size = `db ${sizeText(made.databaseBytes)}, ${counted(made.files, "file")} ${sizeText(made.fileBytes)}${linked}`;
      terminal.print(`${made.path}  (${size}) ${isVerified ? "verified" : `with ${counted(made.faults.length, "fault")}`}`);
      for (const { path, why } of made.faults) terminal.warn(`${bad} ${path}: ${why}`);
      for (const { what, why } of made.leftOut) terminal.note(`not in it: ${what}: ${why}`);
    });
  withExamples(
    withJson(withDir(create)),
    "backup create /var/backups/genrouter",
    "backup create --data /var/lib/genrouter --json | jq -r .path   # into GENROUTER_BACKUP__DIR",
  );

  const verify = backup
    .command("verify <path>")
    .description("verify every file of a backup, its manifest and the ledger of its database; exit 1 if a check fails")
    .action(async (path: string, flags: JsonFlag) => {
      const { verifyBackup } = await import("../../backup/worker-client.ts");
      const { manifest, faults, databaseFaults } = await awaitWork(session, (report) => verifyBackup(path, report));
      const wrong = [...faults, ...databaseFaults];
      if (wrong.length > 0 || manifest.faults.length > 0) session.exit = EXITS.failure;
      if (flags.json)
        return terminal.print(
          JSON.stringify({
            path,
            ok: session.exit === EXITS.ok,
            faults: wrong,
            original_faults: manifest.faults,
            taken_at: manifest.taken_at,
          }),
        );
      for (const { path: at, why } of wrong) terminal.print(`${bad} ${at}: ${why}`);
      for (const { path: at, why } of manifest.faults) terminal.print(`${bad} ${at}: present at the time of the backup: ${why}`);
      if (session.exit === EXITS.ok)
        terminal.print(
          `${terminal.paint("green", "✔")} ${counted(manifest.entries.length, "file")}, as of ${manifest.taken_at}: verified`,
        );
      else if (wrong.length > 0) terminal.warn("use another backup: genrouter backup list DIR lists them");
    });
  withExamples(withJson(verify), "backup verify /var/backups/genrouter/genrouter-20261121T041200Z");

  const list = backup
    .command("list [dir]")
    .description("list the backups of a directory, newest first")
    .action(async (dir: string | undefined, flags: Flags) => {
      const place = placeOf(session, dir, flags);
      const { listBackups } = await import("../../backup/backup-directory.ts");
      const backups = listBackups(place);
      const nowMs = Date.now();
      if (flags.json) return terminal.print(JSON.stringify(backups.map((one) => shelvedJson(one, nowMs))));
      if (backups.length === 0) return terminal.note(`no backups in ${place}; genrouter backup create ${place} creates one`);
      for (const line of backupLines(backups, nowMs)) terminal.print(line);
    });
  withExamples(withJson(withDir(list)), "backup list /var/backups/genrouter", "backup list --json | jq -r '.[0].path'");

  addRestore(backup, session);
  addAdopt(backup, session);
  addSettle(backup, session);
};
