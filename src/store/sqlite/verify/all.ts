// Checks the twelve invariants of the store over one connection, in one read transaction.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../terms.ts";
import type { CheckResult } from "../../store.ts";
import { faultCode, faultText } from "../faults.ts";
import { type Check, MOST_ROWS, type Seen } from "./check.ts";
import { LIFE_CHECKS } from "./life.ts";
import { MONEY_CHECKS } from "./money.ts";
import { PROMISE_CHECKS } from "./promises.ts";
import { SOUND_CHECKS } from "./sound.ts";

/** In the order of their numbers. */
export const CHECKS: readonly Check[] = [...MONEY_CHECKS, ...PROMISE_CHECKS, ...LIFE_CHECKS, ...SOUND_CHECKS];

const run = ({ invariant, name, offending }: Check, seen: Seen): CheckResult => {
  const rows: JsonObject[] = [];
  try {
    for (const row of offending(seen)) {
      rows.push(row);
      if (rows.length >= MOST_ROWS) break;
    }
  } catch (fault) {
    // A damaged page makes a query fail: that is an answer, not a reason to stop looking.
    rows.push({ fault: "the check could not be finished", detail: `${faultCode(fault)} ${faultText(fault)}`.trim() });
  }
  return { invariant, name, ok: rows.length === 0, offending: rows };
};

/** Runs every check on one state of the database, also while another process writes. */
export const verifyAll = (db: Database, nowMs: number | null): CheckResult[] => {
  const inside = db.inTransaction;
  if (!inside) db.run("BEGIN");
  try {
    return CHECKS.map((one) => run(one, { db, nowMs }));
  } finally {
    if (!inside) db.run("ROLLBACK");
  }
};
