// Reads generations of other nodes: open ones by index, and events after a version.

import type { Others, RemoteGenerationState, WrittenLine } from "../cluster-port.ts";
import { type RecordRow, recordColumns, toRecord } from "../sql/queries/record.ts";
import { recoveryReads } from "../sql/queries/recovery.ts";
import type { Query } from "../sql/sql-program.ts";
import { ownerOf } from "./ownership.ts";
import { integers, rowsOf } from "./parameters.ts";
import { POSTGRES } from "./sql-program.ts";

/** Each transaction of a node raises the counter in its row. */
const WRITTEN = "SELECT epoch, batch FROM node WHERE ended_at_ms IS NULL AND epoch <> ?1 ORDER BY epoch";
// Open generations are few, for any number of stored rows, and each needs two lookups by key. OFFSET 0 prevents the planner from
// moving the condition into the subquery, which would repeat the lookups.
const OPEN = `SELECT seq, "accountSeq", status, version, epoch FROM (
    SELECT g.seq, g.account_seq AS "accountSeq", g.status, coalesce(s.version, 0) AS version, ${ownerOf("g")} AS epoch
    FROM generation g LEFT JOIN snapshot s ON s.generation_seq = g.seq WHERE g.completed_at_ms IS NULL AND g.seq > ?2
    ORDER BY g.seq OFFSET 0) o
  WHERE epoch <> ?1 ORDER BY seq LIMIT ?3`;
const ENDED = `SELECT g.seq, g.account_seq AS "accountSeq" FROM generation g
  WHERE g.seq >= ?2 AND g.completed_at_ms IS NOT NULL AND ${ownerOf("g")} <> ?1 ORDER BY g.seq DESC LIMIT ?3`;
const stepsWith = (
  column: string,
  join = "",
): string => `SELECT j.generation_seq AS seq, j.version, j.at_ms AS "atMs", j.epoch, j.state_after AS "stateAfter",
    j.event${column} FROM ${rowsOf("?1", { seq: "bigint", version: "bigint" }, "x")}
  JOIN generation_event j ON j.generation_seq = x.seq AND j.version > x.version${join} ORDER BY j.generation_seq, j.version`;
const STEPS = stepsWith("");
/** The transition that takes the provider slot stores the request of the attempt. */
const STEPS_WITH_REQUESTS = stepsWith(
  ", r.request",
  ` LEFT JOIN attempt_request r ON r.generation_seq = j.generation_seq AND CAST(j.event AS json) ->> 'type' = 'slotTaken'
    AND r.attempt_no = CAST(CAST(j.event AS json) ->> 'n' AS bigint)`,
);
const STANDING = `SELECT ${recordColumns(POSTGRES)}, ${ownerOf("g")} AS epoch, coalesce(s.version, 0) AS version, s.snapshot,
    g.start_deadline_ms AS "waitEndsAtMs", p.routes
  FROM generation g JOIN plan p ON p.seq = g.plan_seq LEFT JOIN snapshot s ON s.generation_seq = g.seq WHERE g.seq = ANY(${integers("?1")})
  ORDER BY g.seq`;

type LineRow = Omit<WrittenLine, "event" | "request"> & { event: string; request?: string | null };
type CurrentRow = RecordRow & { epoch: number; version: number; snapshot: string | null; waitEndsAtMs: number; routes: string };

/** @param epoch Epoch of this node, whose own generations are excluded. */
export const createRemoteGenerations = (query: Query, epoch: number): Others => ({
  written: () => query<{ epoch: number; batch: number }>(WRITTEN, epoch),
  open: (afterSeq, limit) => query<RemoteGenerationState>(OPEN, epoch, afterSeq, limit),
  ended: (fromSeq, limit) => query<{ seq: number; accountSeq: number }>(ENDED, epoch, fromSeq, limit),
  steps: async (after, withRequests) => {
    const rows = await query<LineRow>(withRequests ? STEPS_WITH_REQUESTS : STEPS, JSON.stringify(after));
    return rows.map(({ request, event, ...row }) => ({
      ...{ ...row, event: JSON.parse(event) as WrittenLine["event"] },
      ...(request == null ? {} : { request }),
    }));
  },
  standing: async (seqs) =>
    (await query<CurrentRow>(STANDING, integers.of(seqs))).map((row) => ({
      record: toRecord(row),
      ...{ epoch: row.epoch, version: row.version, snapshot: row.snapshot, waitEndsAtMs: row.waitEndsAtMs },
      plan: JSON.parse(row.routes) as [],
    })),
  unfinished: recoveryReads(query, POSTGRES).unfinished,
});
