// Verifies a database copy: the file and the thirteen invariants, without side files.
import { closeSync, openSync, readSync } from "node:fs";
import type { CheckResult } from "../../store.ts";
import { checkSchema } from "../migrate.ts";
import { verifyAll } from "../verify/all.ts";
import { NOT_WAL } from "../verify/integrity.ts";
import { statsOfSnapshot } from "./stats.ts";

/** Offset of the file format versions in the header, and their value in WAL mode. */
const VERSIONS_AT = 18;
const USES_LOG = 2;

const usesLog = (path: string): boolean => {
  const bytes = new Uint8Array(2);
  const file = openSync(path, "r");
  readSync(file, bytes, 0, bytes.length, VERSIONS_AT);
  closeSync(file);
  return bytes.every((byte) => byte === USES_LOG);
};

/** A parked generation waits for an operator in the copy and in the original, which is no error. */
const isParked = (fault: unknown): boolean => String(fault).startsWith("parked:");

/**
 * The thirteen invariants of a copy, as for a stopped service.
 * @throws WrongSchema if a newer release created it. @throws SQLite errors if it is no database.
 */
export const verifySnapshot = (path: string): CheckResult[] =>
  statsOfSnapshot(path, (db) => {
    checkSchema(db);
    const isLogged = usesLog(path);
    return verifyAll(db, null).map((check) => {
      // The header of the file gives its mode; this connection does not.
      const offending = check.offending.filter(({ fault }) => !isParked(fault) && (fault !== NOT_WAL || !isLogged));
      return { ...check, offending, ok: offending.length === 0 };
    });
  });
