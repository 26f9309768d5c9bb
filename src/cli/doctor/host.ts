// Doctor checks of the machine: data directory and its permissions, disks and clock.
import { accessSync, constants, existsSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../config/schema.ts";
import { networkDiskOf } from "../../store/sqlite/directory-lock.ts";
import { DATABASE_FILE } from "../../store/sqlite/open.ts";
import { sizeText } from "../backup-text.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const PRIVATE_FILES = [DATABASE_FILE, "provider-keys.master", "lock.db"];
const OTHERS = 0o077;

const canWrite = (dir: string): boolean => {
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const rightsOf = (dir: string): Finding[] => {
  const { mode, uid } = statSync(dir);
  const me = process.getuid?.() ?? uid;
  const findings: Finding[] = [];
  if (!canWrite(dir))
    findings.push(
      fault(
        "directory",
        `${dir} cannot be read and written by this user`,
        `chown -R ${me} ${dir}; remount a read-only disk as writable`,
      ),
    );
  if ((mode & OTHERS) !== 0)
    findings.push(warning("directory", `other users can read ${dir}, which contains prompts and files`, `chmod 700 ${dir}`));
  for (const name of PRIVATE_FILES) {
    const file = statSync(join(dir, name), { throwIfNoEntry: false });
    if (file && (file.mode & OTHERS) !== 0)
      findings.push(
        fault("directory", `other users can read ${name}, which contains credentials`, `chmod 600 ${join(dir, name)}`),
      );
    // A file of root or another user cannot be opened by an unprivileged service.
    if (file && file.uid !== uid)
      findings.push(fault("directory", `${name} belongs to user ${file.uid}, the directory to ${uid}`, `chown -R ${uid} ${dir}`));
  }
  return findings;
};

/** `exists`: there is data to check. `hasDatabase`: the directory contains a SQLite database. */
type Directory = { findings: Finding[]; exists: boolean; hasDatabase: boolean };
const without = (...findings: Finding[]): Directory => ({ findings, exists: false, hasDatabase: false });

/** @param isShared true if the data is in a database that several nodes share. */
export const directoryFindings = ({ dir, network_disk }: Settings["data"], isShared: boolean): Directory => {
  const found = statSync(dir, { throwIfNoEntry: false });
  const make = isShared
    ? "genrouter serve creates it"
    : `genrouter accounts create --name NAME --data ${dir} creates it, and so does genrouter serve`;
  // If the directory existed before, a new one must not be created in its place.
  const wasThere = lstatSync(dir, { throwIfNoEntry: false }) !== undefined || existsSync(`${dir}.old`);
  if (!found && wasThere)
    return without(
      fault(
        "directory",
        `${dir} is missing, but existed before`,
        `restore it from its former place, or from a backup: genrouter backup restore PATH --to ${dir}`,
      ),
    );
  if (!found) return without(warning("directory", `${dir} does not exist yet`, make));
  if (!found.isDirectory()) return without(fault("directory", `${dir} is not a directory`, "set GENROUTER_DATA__DIR or --data"));
  const disk = networkDiskOf(dir);
  const findings = rightsOf(dir);
  if (disk !== undefined && !network_disk)
    findings.push(
      fault(
        "directory",
        `${dir} is on a network disk (${disk}), whose locks are not reliable`,
        "use a local disk, or set GENROUTER_DATA__NETWORK_DISK=true",
      ),
    );
  if (disk !== undefined && network_disk)
    findings.push(
      warning("directory", `${dir} is on a network disk (${disk}), and the settings accept it`, "a local disk is recommended"),
    );
  if (findings.length === 0) findings.push(ok("directory", `${dir} belongs to this user, is private and is writable`));
  const hasDatabase = existsSync(join(dir, DATABASE_FILE));
  if (!hasDatabase && !isShared) findings.push(warning("directory", `there is no database in ${dir} yet`, make));
  return { findings, exists: hasDatabase || isShared, hasDatabase };
};

/** Lists the copies that upgrades made. They allow a return to the previous release and remain until an operator deletes them. */
export const copyFindings = (dir: string): Finding[] => {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return [];
  const copies = readdirSync(dir).filter((name) => name.startsWith(`${DATABASE_FILE}.before-`) && /-\d+$/.test(name));
  return copies.map((name) => {
    const { size, mtime } = statSync(join(dir, name));
    const made = `${name}, ${sizeText(size)}, made ${mtime.toISOString().slice(0, 10)} before an upgrade`;
    return ok("copies", `${made}: it can be deleted when a downgrade to the previous release is no longer needed`);
  });
};

/** Below this a service has no space for work in progress. */
const MIN_FREE_BYTES = 256 * 1024 * 1024;
const LITTLE_FREE_BYTES = 2 * 1024 * 1024 * 1024;

/** @param needs size of the next write, bytes. */
const spaceFinding = (what: string, dir: string, setting: string, needs: number): Finding => {
  const { bavail, bsize, blocks } = statfsSync(dir);
  const free = bavail * bsize;
  const says = `${sizeText(free)} free for ${what}`;
  const fix = `free space on the disk of ${dir}, or set ${setting} to another`;
  if (free < MIN_FREE_BYTES || free < needs) return fault("disk", `only ${says}`, fix);
  return free < LITTLE_FREE_BYTES && free < (blocks * bsize) / 10 ? warning("disk", `only ${says}`, fix) : ok("disk", says);
};

export const diskFindings = ({ data, backup }: Settings): Finding[] => {
  const has = (dir: string) => dir !== "" && existsSync(dir);
  const file = join(data.dir, DATABASE_FILE);
  const bytes = existsSync(file) ? statSync(file).size : 0;
  return [
    ...(has(data.dir) ? [spaceFinding("data", data.dir, "GENROUTER_DATA__DIR", 0)] : []),
    ...(has(backup.dir) ? [spaceFinding("backups", backup.dir, "GENROUTER_BACKUP__DIR", bytes)] : []),
  ];
};

/** The first release is not older. */
const FIRST_YEAR = 2026;
const LAST_YEAR = 2100;
const APART_MS = 5_000;
const FAR_APART_MS = 3_600_000;
const SYNC = "set the machine's clock (timedatectl set-ntp true)";

/** @param lastSeenMs highest time that any process has stored; null if there is none. */
export const clockFindings = (nowMs: number, lastSeenMs: number | null): Finding[] => {
  const year = new Date(nowMs).getUTCFullYear();
  if (year < FIRST_YEAR || year > LAST_YEAR)
    return [fault("clock", `the machine's clock says ${new Date(nowMs).toISOString()}`, SYNC)];
  const aheadMs = (lastSeenMs ?? 0) - nowMs;
  if (aheadMs <= APART_MS) return [ok("clock", new Date(nowMs).toISOString())];
  const says = `the service's clock is ${Math.round(aheadMs / 1000)} s ahead of the machine's, which moved backwards`;
  const fix = `${SYNC} and restart the service; the service uses its own clock until the machine's clock has caught up`;
  return [aheadMs > FAR_APART_MS ? fault("clock", says, fix) : warning("clock", says, fix)];
};
