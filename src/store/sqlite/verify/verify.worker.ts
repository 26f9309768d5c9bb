// One of the threads that verify a large file: over a connection of its own it runs the clauses it is told, one by one.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../terms.ts";
import { faultText } from "../faults.ts";
import { openReader } from "../open.ts";
import { CLAUSES, offendersOf } from "./all.ts";

/** The place of a clause among all, and where it is to be held against the rows. */
export type ToVerifier = { path: string; nowMs: number | null; clause: number };
/** The rows that offend it; or why it could not be run. */
export type FromVerifier = { offenders: JsonObject[] } | { fault: string };

declare const self: Worker;

let db: Database | undefined;

const runClause = ({ path, nowMs, clause }: ToVerifier): FromVerifier => {
  const one = CLAUSES[clause];
  if (!one) return { fault: `there is no clause ${clause}` };
  try {
    db ??= openReader(path);
    // A transaction for each: one over all of them would keep the log from being folded for as long as everything takes.
    db.run("BEGIN");
    const offenders = offendersOf(one, { db, nowMs });
    db.run("ROLLBACK");
    return { offenders };
  } catch (fault) {
    return { fault: faultText(fault) };
  }
};

self.onmessage = ({ data }: MessageEvent<ToVerifier>) => self.postMessage(runClause(data));
