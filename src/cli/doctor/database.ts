// Doctor checks of the data: integrity, schema, log size, ledger, parked generations, orphans and backups.
import { existsSync, statSync } from "node:fs";
import { listBackups, newestVerifiedMs } from "../../backup/backup-directory.ts";
import type { Settings } from "../../config/schema.ts";
import { type DatabaseHealth, imbalanceOf } from "../../store/sqlite/health.ts";
import { isPreRelease, SCHEMA_VERSION } from "../../store/sqlite/migrate.ts";
import type { CheckResult, LedgerSums, StoreReads } from "../../store/store.ts";
import { ageText, counted, sizeText } from "../backup-text.ts";
import { showUsd } from "../usd.ts";
import { type Finding, fault, ok, textOf, warning } from "./finding.ts";

const RESTORE =
  "stop the service, move the directory aside and restore a backup: genrouter backup list, genrouter backup restore";
/** The writer checkpoints the log at 32 MiB. A log several times larger indicates that a checkpoint is blocked. */
const LARGE_LOG_BYTES = 256 * 1024 * 1024;

/** A database whose tables this release cannot read yet, or no longer; undefined for any other. */
export const schemaFinding = (version: number): Finding | undefined => {
  if (isPreRelease(version))
    return warning(
      "database",
      `schema ${version}, of a build before the first release`,
      "start the service; it creates and verifies a copy, then converts the database",
    );
  if (version > SCHEMA_VERSION)
    return fault(
      "database",
      `the database has schema ${version}; this release supports ${SCHEMA_VERSION}`,
      "use the newer release, or restore the copy created before the migration",
    );
  return undefined;
};

const pagesOf = ({ damage, schema, newestSchema, bytes, mode }: DatabaseHealth): Finding[] => {
  const [first] = damage;
  const about = `schema ${schema}, ${sizeText(bytes)}, ${mode === "test" ? "created for the simulator" : "created for real providers"}`;
  if (first !== undefined) return [fault("database", `its pages are damaged: ${first.replace(/\s+/g, " ")}`, RESTORE)];
  if (schema < newestSchema)
    return [
      warning(
        "database",
        `${about}; this release has schema ${newestSchema}`,
        "create a backup, then start the service, which migrates the database",
      ),
    ];
  return [ok("database", about)];
};

const logOf = ({ logBytes, isMarked }: DatabaseHealth, isRunning: boolean): Finding => {
  if (logBytes > LARGE_LOG_BYTES)
    return warning(
      "log",
      `the write-ahead log has ${sizeText(logBytes)}: an open read prevents its checkpoint`,
      "end long reads (backup, verify, sqlite3), or restart the service",
    );
  if (isMarked && !isRunning)
    return ok("log", `${sizeText(logBytes)}, from a process that did not exit cleanly; the next start reads it. Never delete it`);
  return ok("log", `${sizeText(logBytes)} not yet checkpointed`);
};

export const ledgerFindings = (ledger: LedgerSums, checks: readonly CheckResult[] | null): Finding[] => {
  const off = imbalanceOf(ledger);
  const { available, held, charged, movements } = ledger;
  if (off !== 0)
    return [
      fault(
        "ledger",
        `${showUsd(Math.abs(off))} ${off > 0 ? "more" : "less"} on the accounts than their transfers sum up to`,
        "genrouter verify prints the rows; keep a copy of the directory before anything else",
      ),
    ];
  const broken = (checks ?? []).flatMap(({ name, offending }) =>
    offending.filter((row) => !String(row.fault).startsWith("parked:")).map((row) => ({ name, row })),
  );
  const [first] = broken;
  if (first)
    return [
      fault(
        "ledger",
        `${counted(broken.length, "row")} violate the invariants, the first (${first.name}): ${JSON.stringify(first.row)}`,
        "genrouter verify prints all rows; keep a copy of the directory before anything else",
      ),
    ];
  const sums = `${showUsd(available)} available, ${showUsd(held)} held, ${showUsd(charged)} charged, ${counted(movements, "transfer")}`;
  return [ok("ledger", `balanced${checks === null ? "" : ", all thirteen invariants hold"}: ${sums}`)];
};

export const parkedFinding = ([first, ...others]: readonly string[]): Finding =>
  first === undefined
    ? ok("parked", "no generation waits for an operator")
    : fault(
        "parked",
        `${counted(others.length + 1, "generation")} are parked, the first ${first}: their holds remain`,
        `genrouter generations parked prints the reason; genrouter generations settle, fail or retry ${first} resolves it`,
      );

/** @param restored for a restored backup: time of the backup, and time of the restore if known */
export const restoredFindings = (restored: { takenAtMs: number; atMs?: number; isSettled: boolean } | null): Finding[] => {
  if (restored === null) return [];
  const on = restored.atMs === undefined ? "" : `, on ${new Date(restored.atMs).toISOString()}`;
  const taken = new Date(restored.takenAtMs).toISOString();
  if (restored.isSettled) return [ok("restored", `from a backup as of ${taken}${on}`)];
  return [
    warning(
      "restored",
      `from a backup as of ${taken}${on}: later jobs, payments and revocations are not in the database`,
      `genrouter reconcile PROVIDER --since ${taken} for each provider in use, then genrouter backup settle --reason TEXT`,
    ),
  ];
};

export const databaseFindings = (
  health: DatabaseHealth,
  checks: readonly CheckResult[] | null,
  isRunning: boolean,
): Finding[] => [
  ...pagesOf(health),
  logOf(health, isRunning),
  ...ledgerFindings(health.ledger, checks),
  parkedFinding(health.parked),
  ...restoredFindings(health.restored),
];

export const orphanFindings = async (reads: Pick<StoreReads, "orphans">): Promise<Finding> => {
  const rows = await reads.orphans(0);
  const lost = rows.reduce((sum, { priceCredits }) => sum + priceCredits, 0);
  if (rows.length === 0) return ok("orphans", "none");
  return warning(
    "orphans",
    `${counted(rows.length, "attempt")} may have been billed without a charge, at most ${showUsd(lost)}`,
    "genrouter orphans prints the action for each",
  );
};

const DAY_MS = 86_400_000;
const isOnOneDisk = (a: string, b: string): boolean => existsSync(a) && existsSync(b) && statSync(a).dev === statSync(b).dev;

export const backupFindings = ({ backup, data, store }: Settings, nowMs: number, lineage: string | null): Finding[] => {
  const { dir } = backup;
  if (store.url !== "") return [ok("backups", "the database server must be backed up separately: deploy/BACKUP.md")];
  if (dir === "")
    return [
      warning(
        "backups",
        "no nightly backups are created",
        "set GENROUTER_BACKUP__DIR to a directory, preferably on another disk",
      ),
    ];
  if (!existsSync(dir)) return [warning("backups", `${dir} does not exist yet`, `genrouter backup create ${dir}`)];
  try {
    const newestMs = newestVerifiedMs(dir, lineage);
    const findings = listBackups(dir).flatMap(({ name, state, why }): Finding[] => {
      if (state === "damaged")
        return [
          fault("backups", `${name} is damaged: ${why}`, `move it to another directory, then run genrouter backup create ${dir}`),
        ];
      return state === "with faults"
        ? [
            warning(
              "backups",
              `${name} was created from a directory with errors: ${why}`,
              `genrouter backup verify ${dir}/${name} lists all errors`,
            ),
          ]
        : [];
    });
    if (newestMs === null || nowMs - newestMs > DAY_MS)
      findings.unshift(
        warning(
          "backups",
          newestMs === null
            ? `no verified backup in ${dir}`
            : `no backup in the last 24 h; the newest verified one is ${ageText(nowMs - newestMs)} old`,
          `genrouter backup create ${dir}; the log of the service has the reason`,
        ),
      );
    else findings.unshift(ok("backups", `the newest verified one is ${ageText(nowMs - newestMs)} old, in ${dir}`));
    if (isOnOneDisk(dir, data.dir))
      findings.push(
        warning(
          "backups",
          `${dir} is on the disk of the data directory: a disk failure destroys both`,
          "set GENROUTER_BACKUP__DIR to another disk, or copy the backups to another machine: deploy/BACKUP.md",
        ),
      );
    return findings;
  } catch (thrown) {
    return [fault("backups", textOf(thrown), "give the service's user the right to read and write it")];
  }
};
