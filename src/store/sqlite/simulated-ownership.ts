// Ownership tables for simulated clusters over SQLite, which the PostgreSQL driver has itself.
import { ownerOf } from "../postgres/ownership.ts";

/** Temporary table of takeovers; it lasts as long as the connection. */
export const MAKE_CLAIMS =
  "CREATE TEMP TABLE ownership_change (generation_seq INTEGER, change_no INTEGER, epoch INTEGER, PRIMARY KEY (generation_seq, change_no)) WITHOUT ROWID";
/** Records that an owner (?2) reclaimed a generation (?1). */
export const CLAIM =
  "INSERT INTO ownership_change SELECT ?1, coalesce(max(change_no), 0) + 1, ?2 FROM ownership_change WHERE generation_seq = ?1";

const IS_OF = `${ownerOf("g")} IN (SELECT value FROM json_each(?1))`;
/** Generations of some owners that are open or whose attempts are watched; at most ?2. */
export const LEFT_BEHIND = `SELECT g.seq FROM generation g WHERE g.seq IN
    (SELECT seq FROM generation WHERE completed_at_ms IS NULL UNION SELECT generation_seq FROM attempt WHERE watch_until_ms IS NOT NULL)
  AND ${IS_OF} ORDER BY g.seq LIMIT ?2`;
/** Those of them that are open. */
export const LEFT_OPEN = `SELECT g.seq FROM generation g WHERE g.completed_at_ms IS NULL AND ${IS_OF} ORDER BY g.seq`;
export const OWNER = `SELECT ${ownerOf("g")} AS epoch FROM generation g WHERE g.seq = ?1`;
export const HAS_ENDED = "SELECT 1 FROM generation WHERE seq = ?1 AND completed_at_ms IS NOT NULL";
/** Makes an owner (?1) deliver at most ?3 pending deliveries of other owners (?2). */
export const CLAIM_DELIVERIES = `UPDATE webhook_delivery SET epoch = ?1 WHERE seq IN (SELECT d.seq FROM webhook_delivery d
    WHERE d.state = 'pending' AND d.epoch IN (SELECT value FROM json_each(?2)) ORDER BY d.seq LIMIT ?3)`;
export const NEWEST = "SELECT max(seq) AS newest FROM generation";
