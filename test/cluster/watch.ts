// Reads from the database itself when leases ended and nodes wrote, so that only its clock has to be trusted.
import { connect, createPool } from "../../src/store/postgres/connections.ts";
import { ownerOf } from "../../src/store/postgres/ownership.ts";

/** A node that has ended. `diedMs`: its last lease renewal, or the moment at which it closed. */
export type Death = { epoch: number; pid: number; endedMs: number; isFenced: boolean; diedMs: number };
/** Generations that passed from one node to another: how many, and when the last of them did. */
export type TakenOver = { epoch: number; count: number; lastMs: number };
/** A write of a node, `lateMs` after its end. */
export type StaleWrite = { what: string; where: string; epoch: number; lateMs: number };

/** A sent attempt, with the process and the end of the last node that sent it. */
export type Sent = { id: string; n: number; endedMs: number; pid: number };

/** Created beside the tables of the service, in a database that serves nothing else. */
const NOTES = `
CREATE TABLE noted_lease (epoch bigint PRIMARY KEY, ends_at_ms bigint NOT NULL);
CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO noted_lease VALUES (OLD.epoch, OLD.ends_at_ms); RETURN OLD; END $$;
CREATE TRIGGER lease_noted AFTER DELETE ON lease FOR EACH ROW EXECUTE FUNCTION note_lease();
CREATE TABLE noted_batch (epoch bigint NOT NULL, batch bigint NOT NULL);
CREATE FUNCTION note_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO noted_batch VALUES (NEW.epoch, NEW.batch); RETURN NEW; END $$;
CREATE TRIGGER batch_noted AFTER UPDATE OF batch ON node FOR EACH ROW EXECUTE FUNCTION note_batch();
`;

const DEATHS = `SELECT o.epoch, o.pid, o.ended_at_ms AS "endedMs", n.ends_at_ms AS "leaseEndMs"
  FROM node o JOIN noted_lease n ON n.epoch = o.epoch WHERE o.ended_at_ms IS NOT NULL ORDER BY o.epoch`;
const TAKEN_OVER = `SELECT epoch, count(*) AS count, max(at_ms) AS "lastMs" FROM (
    SELECT coalesce(lag(c.epoch) OVER (PARTITION BY c.generation_seq ORDER BY c.change_no), g.hold_epoch) AS epoch, c.at_ms
    FROM ownership_change c JOIN generation g ON g.seq = c.generation_seq) taken GROUP BY epoch`;
/** Leaves out the rows that an erasure has rewritten. */
const NOT_ERASED = `AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.seq = r.generation_seq AND g.erased_at_ms IS NOT NULL AND g.xmin = r.xmin)`;
/**
 * Insert-only rows have the commit time of their transaction; the times in a row say when the node intended to write. A node
 * is ended only while it has no open transaction, so its end follows all of its commits. One millisecond allows for rounding.
 * An erasure, by any node, rewrites the events of its generation in the transaction that marks the generation.
 */
const STALE = ["generation_event", "transfer", "noted_batch"]
  .map((table) => {
    const where =
      { generation_event: "r.generation_seq || ' ' || r.version", transfer: "CAST(r.seq AS text)" }[table] ??
      "CAST(r.batch AS text)";
    return `SELECT '${table}' AS what, ${where} AS "where", r.epoch, CAST(round(t.committed - o.ended_at_ms) AS bigint) AS "lateMs"
    FROM ${table} r JOIN node o ON o.epoch = r.epoch
    CROSS JOIN LATERAL (SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin)) * 1000 AS committed) t
    WHERE o.ended_at_ms IS NOT NULL AND t.committed > o.ended_at_ms + 1
    ${table === "generation_event" ? NOT_ERASED : ""}`;
  })
  .join(" UNION ALL ");
const UNOWNED = `SELECT g.id || ' ' || j.version AS "where", j.epoch FROM generation_event j JOIN generation g ON g.seq = j.generation_seq
  WHERE j.epoch <> coalesce((SELECT c.epoch FROM ownership_change c WHERE c.generation_seq = j.generation_seq AND c.from_version < j.version ORDER BY c.change_no DESC LIMIT 1),
    g.hold_epoch)`;
const SENT_BY = `SELECT g.id, CAST(CAST(j.event AS json)->>'n' AS bigint) AS n, max(o.ended_at_ms) AS "endedMs",
  (array_agg(o.pid ORDER BY j.version DESC))[1] AS pid
  FROM generation_event j JOIN generation g ON g.seq = j.generation_seq JOIN node o ON o.epoch = j.epoch
  WHERE o.ended_at_ms IS NOT NULL AND CAST(j.event AS json)->>'type' = 'slotTaken' GROUP BY 1, 2`;
const IN_SENDING = `SELECT count(*) AS count FROM snapshot s JOIN generation g ON g.seq = s.generation_seq JOIN node o ON o.epoch = ${ownerOf("g")}
  WHERE o.pid = ?1 AND strpos(s.snapshot, '{"submitting":"sending"}') > 0`;
const OPEN_OF = "SELECT count(*) AS open FROM node WHERE pid = ?1 AND ended_at_ms IS NULL";

/** @param leaseMs The lease of the nodes. */
export const openWatch = (url: string, leaseMs: number) => {
  const { query, close } = createPool({ url, prepare: true }, 2);
  return {
    /** Call this before any node opens, on a database that has the schema. */
    begin: async (): Promise<void> => {
      const line = await connect({ url, prepare: true });
      await line.script(NOTES).finally(line.close);
    },
    /** Whether a process is no longer an open node. */
    isEnded: async (pid: number): Promise<boolean> => (await query<{ open: number }>(OPEN_OF, pid))[0]?.open === 0,
    /** The number of submissions of a process that are in flight. */
    inSending: async (pid: number): Promise<number> => (await query<{ count: number }>(IN_SENDING, pid))[0]?.count ?? 0,
    deaths: async (): Promise<Death[]> => {
      type Row = { epoch: number; pid: number; endedMs: number; leaseEndMs: number };
      return (await query<Row>(DEATHS)).map(({ leaseEndMs, ...row }) => {
        // A node closes while its lease is valid.
        const isFenced = leaseEndMs < row.endedMs;
        return { ...row, isFenced, diedMs: isFenced ? leaseEndMs - leaseMs : row.endedMs };
      });
    },
    takenOver: (): Promise<TakenOver[]> => query<TakenOver>(TAKEN_OVER),
    /** Writes of nodes after their ends. */
    stale: (): Promise<StaleWrite[]> => query<StaleWrite>(STALE),
    sentBy: (): Promise<Sent[]> => query(SENT_BY),
    /** Steps written by another node than the one that owned the generation at that moment. */
    unowned: (): Promise<{ where: string; epoch: number }[]> => query(UNOWNED),
    close,
  };
};
export type Watch = ReturnType<typeof openWatch>;
