// Judges a copy that nobody writes to: the file itself and the thirteen invariants, without leaving a trace beside it.
import { closeSync, openSync, readSync } from "node:fs";
import type { CheckResult } from "../../store.ts";
import { checkSchema } from "../migrate.ts";
import { verifyAll } from "../verify/all.ts";
import { NOT_WAL } from "../verify/integrity.ts";
import { statsOfSnapshot } from "./stats.ts";

/** Where a database's header says how it is written and read, and what stands there where a log is used. */
const VERSIONS_AT = 18;
const USES_LOG = 2;

const usesLog = (path: string): boolean => {
  const bytes = new Uint8Array(2);
  const file = openSync(path, "r");
  readSync(file, bytes, 0, bytes.length, VERSIONS_AT);
  closeSync(file);
  return bytes.every((byte) => byte === USES_LOG);
};

/** What is parked waits for a person, in the copy as in its original: no fault of either. */
const isParked = (fault: unknown): boolean => String(fault).startsWith("parked:");

/**
 * The thirteen invariants of a copy, as of a service that does not run.
 * @throws WrongSchema when a newer release made it. @throws SQLite's faults where it is no database.
 */
export const verifySnapshot = (path: string): CheckResult[] =>
  statsOfSnapshot(path, (db) => {
    checkSchema(db);
    const isLogged = usesLog(path);
    return verifyAll(db, null).map((check) => {
      // How this connection reads says nothing of the file; its header does.
      const offending = check.offending.filter(({ fault }) => !isParked(fault) && (fault !== NOT_WAL || !isLogged));
      return { ...check, offending, ok: offending.length === 0 };
    });
  });
