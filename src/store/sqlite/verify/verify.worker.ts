// Verification thread: runs requested clauses and scans over its own connection, in sequence.
import type { Database } from "bun:sqlite";
import type { JsonObject } from "../../../domain/types.ts";
import { orphanReads } from "../../sql/queries/orphans.ts";
import type { LedgerSums, OrphanRow } from "../../store.ts";
import { faultText } from "../errors.ts";
import { openReader } from "../open.ts";
import { ledgerOf } from "../snapshot-copy/stats.ts";
import { openQuery, SQLITE } from "../sql-program.ts";
import { CLAUSES, offendersOf } from "./all.ts";

/** The index of a clause and its database, or another scan of all rows. */
export type ToVerifier = { path: string } & (
  | { nowMs: number | null; clause: number }
  | { sums: true }
  | { orphansSinceMs: number; submittedSinceMs: number }
);
/** The violating rows of the clause, the result of the scan, or the error. */
export type FromVerifier = { offenders: JsonObject[] } | { sums: LedgerSums } | { orphans: OrphanRow[] } | { fault: string };

declare const self: Worker;

let db: Database | undefined;

const answer = async (reader: Database, requested: ToVerifier): Promise<FromVerifier> => {
  if ("sums" in requested) return { sums: ledgerOf(reader) };
  if ("orphansSinceMs" in requested)
    return {
      orphans: await orphanReads(openQuery(reader), SQLITE).orphans(requested.orphansSinceMs, requested.submittedSinceMs),
    };
  const one = CLAUSES[requested.clause];
  return one
    ? { offenders: offendersOf(one, { db: reader, nowMs: requested.nowMs }) }
    : { fault: `there is no clause ${requested.clause}` };
};

const run = async (requested: ToVerifier): Promise<FromVerifier> => {
  try {
    db ??= openReader(requested.path);
    // One transaction per request. A transaction over all of them would prevent checkpoints of the WAL until the end.
    db.run("BEGIN");
    const reported = await answer(db, requested);
    db.run("ROLLBACK");
    return reported;
  } catch (fault) {
    return { fault: faultText(fault) };
  }
};

self.onmessage = ({ data }: MessageEvent<ToVerifier>) => void run(data).then((reported) => self.postMessage(reported));
