// Reads nodes, their generations, takeovers and the writers of events.
import { generationSeqAt, msOfGenerationSeq } from "../../domain/ids.ts";
import { type NodeReads, type NodeRow, nodeName } from "../cluster-port.ts";
import type { Query } from "../sql/sql-program.ts";
import { ownerOf } from "./ownership.ts";
import { integers } from "./parameters.ts";

const WEEK_MS = 7 * 86_400_000;

const COLUMNS = `o.epoch, o.slot, o.host, o.pid, o.opened_at_ms AS "openedAtMs", o.ended_at_ms AS "endedAtMs", o.fenced_by AS "endedBy",
  o.is_temporary AS "isVisit"`;
const ALIVE = `SELECT ${COLUMNS}, l.ends_at_ms - now_ms() AS "leaseEndsInMs" FROM node o JOIN lease l ON l.epoch = o.epoch
  WHERE o.ended_at_ms IS NULL AND o.is_temporary <= ?1 ORDER BY o.epoch`;
const ENDED = `SELECT ${COLUMNS}, CAST(NULL AS bigint) AS "leaseEndsInMs" FROM node o WHERE o.ended_at_ms > now_ms() - ${WEEK_MS}
  AND o.is_temporary <= ?2 ORDER BY o.ended_at_ms DESC, o.epoch DESC LIMIT ?1`;
const OWNED = `SELECT epoch, status, count(*) AS count FROM (
    SELECT ${ownerOf("g")} AS epoch, g.status FROM generation g WHERE g.completed_at_ms IS NULL) o GROUP BY 1, 2`;
// Filtered by row number, which follows time, so that old takeovers are not read.
const TAKEN = `SELECT c.epoch AS "by", coalesce(b.epoch, g.hold_epoch) AS "from", count(*) AS count
  FROM ownership_change c JOIN generation g ON g.seq = c.generation_seq LEFT JOIN ownership_change b ON b.generation_seq = c.generation_seq AND b.change_no = c.change_no - 1
  WHERE c.generation_seq >= ?1 GROUP BY 1, 2`;
const NAMES = `SELECT epoch, slot, host FROM node WHERE epoch = ANY(${integers("?1")})`;

type Row = Omit<NodeRow, "queued" | "running" | "tookOver" | "takenOver" | "isVisit"> & { isVisit: number };

export const createNodeReads = (query: Query): NodeReads => ({
  list: async (ended, { visits = false } = {}) => {
    const [newest] = await query<{ seq: number | null }>("SELECT max(seq) AS seq FROM generation");
    const fromSeq = generationSeqAt(msOfGenerationSeq(newest?.seq ?? 0) - WEEK_MS);
    const [alive, gone, owned, taken] = await Promise.all([
      query<Row>(ALIVE, visits ? 1 : 0),
      query<Row>(ENDED, ended, visits ? 1 : 0),
      query<{ epoch: number; status: "queued" | "running"; count: number }>(OWNED),
      query<{ by: number; from: number; count: number }>(TAKEN, fromSeq),
    ]);
    const sum = (rows: readonly { count: number }[]): number => rows.reduce((all, { count }) => all + count, 0);
    return [...alive, ...gone].map((row) => {
      const mine = owned.filter(({ epoch }) => epoch === row.epoch);
      return {
        ...row,
        isVisit: row.isVisit === 1,
        queued: sum(mine.filter(({ status }) => status === "queued")),
        running: sum(mine.filter(({ status }) => status === "running")),
        tookOver: sum(taken.filter(({ by }) => by === row.epoch)),
        takenOver: sum(taken.filter(({ from }) => from === row.epoch)),
      };
    });
  },
  names: async (epochs) => {
    const rows = await query<{ epoch: number; slot: number; host: string }>(NAMES, integers.of(epochs));
    return new Map(rows.map((row) => [row.epoch, nodeName(row)]));
  },
  writers: async (seq) => {
    const rows = await query<{ version: number; epoch: number }>(
      "SELECT version, epoch FROM generation_event WHERE generation_seq = ?1",
      seq,
    );
    return new Map(rows.map(({ version, epoch }) => [version, epoch]));
  },
  claims: (seq) =>
    query<{ epoch: number; afterVersion: number; atMs: number }>(
      `SELECT epoch, from_version AS "afterVersion", at_ms AS "atMs" FROM ownership_change WHERE generation_seq = ?1 ORDER BY change_no`,
      seq,
    ),
});
