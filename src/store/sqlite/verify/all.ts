// Verifies the thirteen invariants of an SQLite file, each clause on one state.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../domain/types.ts";
import { checksOf } from "../../sql/verify/checks.ts";
import { createReport, judge } from "../../sql/verify/report.ts";
import type { CheckResult } from "../../store.ts";
import { faultCode, faultText } from "../errors.ts";
import { chains } from "./chain.ts";
import { type Runnable, runnable, type Seen } from "./check.ts";
import { SOUND_FILE } from "./integrity.ts";

/** In the order of their numbers. */
export const CHECKS = checksOf(runnable, { 1: [chains], 12: SOUND_FILE });

/** Every clause in the order of its check. */
export const CLAUSES: readonly Runnable[] = CHECKS.flatMap(({ clauses }) => clauses);

/** The first violating rows of a clause, as many per message as are reported. */
export const offendersOf = ({ faults, offending }: Runnable, seen: Seen): JsonObject[] => {
  const { rows, report, breakOff } = createReport(faults);
  try {
    for (const row of offending(seen)) if (report(row)) break;
  } catch (fault) {
    breakOff(`${faultCode(fault)} ${faultText(fault)}`.trim());
  }
  return rows;
};

/** Runs every check over one connection and one state of the database. Another process can write meanwhile. */
export const verifyAll = (db: Database, nowMs: number | null): CheckResult[] => {
  const inside = db.inTransaction;
  if (!inside) db.run("BEGIN");
  try {
    return judge(CHECKS, new Map(CLAUSES.map((one) => [one, offendersOf(one, { db, nowMs })])));
  } finally {
    if (!inside) db.run("ROLLBACK");
  }
};
