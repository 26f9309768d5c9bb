// Doctor checks of the data: integrity, schema, log size, ledger, parked generations, orphans and backups.
import { existsSync, statSync } from "node:fs";
import { newestVerifiedMs, openBackupDirectory } from "../../backup/backup-directory.ts";
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
      "start the service: it makes a copy, checks it and converts the database",
    );
  if (version > SCHEMA_VERSION)
    return fault(
      "database",
      `it has schema ${version} and this release knows ${SCHEMA_VERSION}`,
      "use the newer release, or restore the copy made before it",
    );
  return undefined;
};

const pagesOf = ({ damage, schema, newestSchema, bytes, mode }: DatabaseHealth): Finding[] => {
  const [first] = damage;
  const about = `schema ${schema}, ${sizeText(bytes)}, ${mode === "test" ? "made for the simulator" : "made for real providers"}`;
  if (first !== undefined) return [fault("database", `its pages are damaged: ${first.replace(/\s+/g, " ")}`, RESTORE)];
  if (schema < newestSchema)
    return [
      warning(
        "database",
        `${about}; this release has schema ${newestSchema}`,
        "make a backup, then start the service: it migrates by itself",
      ),
    ];
  return [ok("database", about)];
};

const logOf = ({ logBytes, isMarked }: DatabaseHealth, isRunning: boolean): Finding => {
  if (logBytes > LARGE_LOG_BYTES)
    return warning(
      "log",
      `the write-ahead log has ${sizeText(logBytes)}: something that reads keeps it from being folded`,
      "end long reads (backup, verify, sqlite3), or restart the service",
    );
  if (isMarked && !isRunning)
    return ok(
      "log",
      `${sizeText(logBytes)}, from a process that did not end by itself; the next start reads it. Never delete it`,
    );
  return ok("log", `${sizeText(logBytes)} not yet folded into the file`);
};

export const ledgerFindings = (ledger: LedgerSums, checks: readonly CheckResult[] | null): Finding[] => {
  const off = imbalanceOf(ledger);
  const { available, held, charged, movements } = ledger;
  if (off !== 0)
    return [
      fault(
        "ledger",
        `${showUsd(Math.abs(off))} ${off > 0 ? "more" : "less"} stand on the accounts than were moved there`,
        "genrouter verify shows where; keep a copy of the directory before anything else",
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
        `${counted(broken.length, "row")} break the invariants, the first (${first.name}): ${JSON.stringify(first.row)}`,
        "genrouter verify shows them all; keep a copy of the directory before anything else",
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
        `${counted(others.length + 1, "generation")} cannot go on, the first ${first}: what it holds stays held`,
        `genrouter generations parked says why; genrouter generations settle, fail or retry ${first} ends it`,
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
      `from a backup as of ${taken}${on}: what was bought, paid or revoked since is not in its books`,
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
    `${counted(rows.length, "attempt")} may have been paid for nothing, at most ${showUsd(lost)}`,
    "genrouter orphans says what to do about each",
  );
};

const DAY_MS = 86_400_000;
const isOnOneDisk = (a: string, b: string): boolean => existsSync(a) && existsSync(b) && statSync(a).dev === statSync(b).dev;

export const backupFindings = ({ backup, data, store }: Settings, nowMs: number, lineage: string | null): Finding[] => {
  const { dir } = backup;
  if (store.url !== "") return [ok("backups", "those of the database server are the service's: deploy/BACKUP.md")];
  if (dir === "")
    return [warning("backups", "none are made at night", "set GENROUTER_BACKUP__DIR, best to a directory on another disk")];
  if (!existsSync(dir)) return [warning("backups", `${dir} is not there yet`, `genrouter backup create ${dir}`)];
  try {
    const newestMs = newestVerifiedMs(dir, lineage);
    const findings = openBackupDirectory(dir).flatMap(({ name, state, why }): Finding[] => {
      if (state === "damaged")
        return [
          fault("backups", `${name} is damaged: ${why}`, `move it to another directory, then run genrouter backup create ${dir}`),
        ];
      return state === "with faults"
        ? [
            warning(
              "backups",
              `${name} was made of a directory with faults: ${why}`,
              `genrouter backup verify ${dir}/${name} lists all of them`,
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
          `genrouter backup create ${dir}; the log of the service says why none was made at night`,
        ),
      );
    else findings.unshift(ok("backups", `the newest verified one is ${ageText(nowMs - newestMs)} old, in ${dir}`));
    if (isOnOneDisk(dir, data.dir))
      findings.push(
        warning(
          "backups",
          `${dir} is on the disk of the data: who loses one loses both`,
          "set GENROUTER_BACKUP__DIR to another disk, or copy them off: deploy/BACKUP.md",
        ),
      );
    return findings;
  } catch (thrown) {
    return [fault("backups", textOf(thrown), "give the service's user the right to read and write it")];
  }
};
