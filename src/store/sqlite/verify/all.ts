// Checks the twelve invariants of the store, clause by clause, each on one state of the database.
//
// What the store alone cannot show is held against the logs of clients and providers by the crash and simulation audits,
// and by tests of the door:
//
//   5  every id that a client was answered is there, with its account, model, body and key; what a client has seen of an
//      ended generation is byte-equal ever after                                          clients' logs
//   6  every answer for a key carries the one id; another body was answered 409           clients' logs
//   7  a provider saw a reference at most once (at most one job where it knows our key),
//      and only after `sending` was on disk                                               providers' logs
//   8  every job a provider knows is the job of one attempt, or its attempt is an orphan  providers' logs, `orphans`
//  11  no answer, link, log line or metric holds what is another account's, or a secret   tests of the door, canaries
//  12  the writer's connection syncs each commit; one process owns the directory          asserted at opening, the lock
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../terms.ts";
import type { CheckResult } from "../../store.ts";
import { faultCode, faultText } from "../faults.ts";
import { type Check, type Clause, MOST_ROWS, type Seen } from "./check.ts";
import { LIFE_CHECKS } from "./life.ts";
import { MONEY_CHECKS } from "./money.ts";
import { PROMISE_CHECKS } from "./promises.ts";
import { SOUND_CHECKS } from "./sound.ts";

/** In the order of their numbers. */
export const CHECKS: readonly Check[] = [...MONEY_CHECKS, ...PROMISE_CHECKS, ...LIFE_CHECKS, ...SOUND_CHECKS];

/** Every clause by itself, in the order of its check. */
export const CLAUSES: readonly Clause[] = CHECKS.flatMap(({ clauses }) => clauses);

/** The first rows that offend a clause, as many of each sentence that it tells. */
export const offendersOf = ({ faults, offending }: Clause, seen: Seen): JsonObject[] => {
  const rows: JsonObject[] = [];
  const told = new Map(faults.map((fault) => [fault, 0]));
  try {
    for (const row of offending(seen)) {
      const times = told.get(row.fault) ?? 0;
      if (times >= MOST_ROWS) continue;
      told.set(row.fault, times + 1);
      rows.push(row);
      if ([...told.values()].every((count) => count >= MOST_ROWS)) break;
    }
  } catch (fault) {
    // A damaged page makes a query fail: that is an answer, not a reason to stop looking.
    rows.push({ fault: "the check could not be finished", detail: `${faultCode(fault)} ${faultText(fault)}`.trim() });
  }
  return rows;
};

/** The verdicts, from what offends each clause. */
export const judge = (offenders: ReadonlyMap<Clause, JsonObject[]>, checks = CHECKS): CheckResult[] =>
  checks.map(({ invariant, name, clauses }) => {
    const found = clauses.flatMap((one) => [...Map.groupBy(offenders.get(one) ?? [], ({ fault }) => fault).values()]);
    // In turn, so that a sentence with many rows does not hide the others.
    const turns = Array.from({ length: MOST_ROWS }, (_, turn) => found.flatMap((rows) => rows.slice(turn, turn + 1)));
    return { invariant, name, ok: found.length === 0, offending: turns.flat().slice(0, MOST_ROWS) };
  });

/** Runs every check over one connection on one state of the database, also while another process writes. */
export const verifyAll = (db: Database, nowMs: number | null): CheckResult[] => {
  const inside = db.inTransaction;
  if (!inside) db.run("BEGIN");
  try {
    return judge(new Map(CLAUSES.map((one) => [one, offendersOf(one, { db, nowMs })])));
  } finally {
    if (!inside) db.run("ROLLBACK");
  }
};
