// One of the threads that read a large file: over a connection of its own it runs what it is told, one by one.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../domain/types.ts";
import { orphanReads } from "../../sql/queries/orphans.ts";
import type { LedgerSums, OrphanRow } from "../../store.ts";
import { faultText } from "../errors.ts";
import { openReader } from "../open.ts";
import { ledgerOf } from "../snapshot-copy/stats.ts";
import { openQuery, SQLITE } from "../sql-program.ts";
import { CLAUSES, offendersOf } from "./all.ts";

/** The place of a clause among all, and where it is to be held against the rows; or another question that reads every row. */
export type ToVerifier = { path: string } & (
  | { nowMs: number | null; clause: number }
  | { sums: true }
  | { orphansSinceMs: number }
);
/** The rows that offend the clause, or the answer; or why it could not be run. */
export type FromVerifier = { offenders: JsonObject[] } | { sums: LedgerSums } | { orphans: OrphanRow[] } | { fault: string };

declare const self: Worker;

let db: Database | undefined;

const answer = async (reader: Database, asked: ToVerifier): Promise<FromVerifier> => {
  if ("sums" in asked) return { sums: ledgerOf(reader) };
  if ("orphansSinceMs" in asked) return { orphans: await orphanReads(openQuery(reader), SQLITE).orphans(asked.orphansSinceMs) };
  const one = CLAUSES[asked.clause];
  return one
    ? { offenders: offendersOf(one, { db: reader, nowMs: asked.nowMs }) }
    : { fault: `there is no clause ${asked.clause}` };
};

const run = async (asked: ToVerifier): Promise<FromVerifier> => {
  try {
    db ??= openReader(asked.path);
    // A transaction for each: one over all of them would keep the log from being folded for as long as everything takes.
    db.run("BEGIN");
    const told = await answer(db, asked);
    db.run("ROLLBACK");
    return told;
  } catch (fault) {
    return { fault: faultText(fault) };
  }
};

self.onmessage = ({ data }: MessageEvent<ToVerifier>) => void run(data).then((told) => self.postMessage(told));
