// Inbox for the owners of generations: provider callbacks and events of other nodes.
//
// Callbacks are kept for minutes, events until they are applied or the generation has ended for as long.

import type { Hint } from "../cluster-port.ts";
import type { Query } from "../sql/sql-program.ts";
import { ownerOf } from "./ownership.ts";
import { integers } from "./parameters.ts";

/** Time in milliseconds after which a callback is useless, because the attempt was polled by then or no longer needs it. */
const KEPT_MS = 600_000;
/** A larger body is dropped; the entry then only records that a callback arrived. */
const MAX_BODY = 65_536;
const AT_MOST = 500;

/** A callback has an attempt number. Other entries are events, which must not be lost. */
const IS_CALLBACK = "attempt_no > 0";
const LEAVE = `INSERT INTO callback_inbox AS h (generation_seq, attempt_no, body, at_ms) VALUES (?1, ?2, ?3, now_ms()) ON CONFLICT (generation_seq, attempt_no) DO UPDATE
  SET body = coalesce(excluded.body, h.body), at_ms = excluded.at_ms`;
const OLD = `DELETE FROM callback_inbox h WHERE at_ms < now_ms() - ${KEPT_MS}
  AND (${IS_CALLBACK} OR NOT EXISTS (SELECT 1 FROM generation g WHERE g.seq = h.generation_seq
    AND (g.completed_at_ms IS NULL OR g.completed_at_ms >= now_ms() - ${KEPT_MS})))`;
/** An ended generation has no owner, so any node handles entries that remain. */
const IS_UNOWNED = `g.completed_at_ms IS NOT NULL AND NOT (${IS_CALLBACK})
  AND EXISTS (SELECT 1 FROM node o WHERE o.epoch = ${ownerOf("g")} AND o.ended_at_ms IS NOT NULL)`;
const OWN = `SELECT h.generation_seq AS seq, h.attempt_no AS n, h.body FROM callback_inbox h JOIN generation g ON g.seq = h.generation_seq
  WHERE ${ownerOf("g")} = CAST(?1 AS bigint) OR (${IS_UNOWNED}) ORDER BY h.at_ms LIMIT ${AT_MOST}`;
const EVENTS = `SELECT h.generation_seq AS seq, h.attempt_no AS n, h.body FROM callback_inbox h JOIN generation g ON g.seq = h.generation_seq
  WHERE NOT (${IS_CALLBACK}) AND g.completed_at_ms IS NULL AND ${ownerOf("g")} = CAST(?1 AS bigint)`;
const OLDEST_FIRST = "ORDER BY h.at_ms, h.attempt_no DESC";
const DROP = "DELETE FROM callback_inbox WHERE generation_seq = ?1 AND attempt_no = ?2 AND body IS NOT DISTINCT FROM ?3";

export const createCallbackInbox = (query: Query, epoch: number) => ({
  leaveHint: async ({ seq, n, body }: Hint): Promise<void> => {
    await query(LEAVE, seq, n, body !== null && (n <= 0 || body.length <= MAX_BODY) ? body : null);
  },
  hints: async (): Promise<Hint[]> => {
    await query(OLD);
    return await query<Hint>(OWN, epoch);
  },
  events: (seqs?: readonly number[]): Promise<Hint[]> =>
    seqs === undefined
      ? query<Hint>(`${EVENTS} ${OLDEST_FIRST}`, epoch)
      : query<Hint>(`${EVENTS} AND h.generation_seq = ANY(${integers("?2")}) ${OLDEST_FIRST}`, epoch, integers.of(seqs)),
  dropHint: async ({ seq, n, body }: Hint): Promise<void> => {
    await query(DROP, seq, n, body);
  },
});
