// Queries of generations: records, inputs, expected deliveries and stored or expired files.

import type { Ordered } from "../../../domain/delivery-check.ts";
import type { StoredRequest } from "../../../domain/idempotency.ts";
import { seqOfGenerationId } from "../../../domain/ids.ts";
import type { JsonObject, Output } from "../../../domain/types.ts";
import type { StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { KEY_COLUMNS, type KeyColumns, parsed, type RecordRow, recordColumns, toRecord, toSubmittingKey } from "./record.ts";

type Reads = Pick<
  StoreReads,
  | "generationById"
  | "generationByKey"
  | "generationBySeq"
  | "endedAmong"
  | "versionsAmong"
  | "findGeneration"
  | "inputOf"
  | "orderedOf"
  | "expiredFiles"
  | "keptOutputs"
>;

type OperatorRow = RecordRow & KeyColumns & { account_id: string; idempotency_key: string | null };

const byKeyIn = (
  dialect: Dialect,
): string => `SELECT ${recordColumns(dialect)}, ${dialect.body} AS body, g.fingerprint FROM generation g
  WHERE g.account_seq = ?1 AND g.idempotency_key = ?2`;
const forOperatorIn = (dialect: Dialect): string =>
  `SELECT ${recordColumns(dialect)}, ${KEY_COLUMNS}, a.id AS account_id, g.idempotency_key
   FROM generation g JOIN account a ON a.seq = g.account_seq JOIN api_key k ON k.seq = g.key_seq WHERE g.seq = ?1`;
const expiredBy = ({ json }: Dialect): string =>
  `SELECT seq, id, json_array_length(${json("output")} -> 'files') AS files FROM generation
   WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL AND files_expire_at_ms <= ?1
     AND NOT EXISTS (SELECT 1 FROM input_file i JOIN generation u ON u.seq = i.generation_seq
       WHERE i.source_generation_seq = generation.seq AND u.completed_at_ms IS NULL)
   ORDER BY files_expire_at_ms, seq LIMIT ?2`;

const endedIn = ({ items, json }: Dialect): string =>
  `SELECT seq FROM generation WHERE completed_at_ms IS NOT NULL
   AND seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;

const versionsIn = ({ items, json }: Dialect): string =>
  `SELECT CAST(j.value AS bigint) AS seq,
     (SELECT coalesce(max(e.version), 0) FROM generation_event e WHERE e.generation_seq = CAST(j.value AS bigint)) AS version
   FROM ${items(json("CAST(?1 AS text)"), "j")}`;

const KEPT = `SELECT seq, id, output FROM generation
  WHERE seq > ?1 AND files_expire_at_ms > ?2 AND files_expired_at_ms IS NULL ORDER BY seq LIMIT ?3`;

export const generationReads = (query: Query, dialect: Dialect): Reads => {
  const [expired, ended, versions] = [expiredBy(dialect), endedIn(dialect), versionsIn(dialect)];
  const [byKey, forOperator] = [byKeyIn(dialect), forOperatorIn(dialect)];
  const record = `SELECT ${recordColumns(dialect)} FROM generation g WHERE g.seq = ?1`;
  const input = `SELECT ${dialect.body} AS body, g.input_defaults FROM generation g WHERE g.seq = ?1`;
  const bySeq = async (seq: number): Promise<RecordRow | undefined> => (await query<RecordRow>(record, seq))[0];

  return {
    // The id contains the row number, so no index on ids is needed. The complete id and the account must match.
    generationById: async (id, accountSeq) => {
      const seq = seqOfGenerationId(id);
      const row = seq === undefined ? undefined : await bySeq(seq);
      return row?.id === id && row.account_seq === accountSeq ? toRecord(row) : undefined;
    },
    generationByKey: async (accountSeq, idempotencyKey) => {
      const [row] = await query<RecordRow & StoredRequest>(byKey, accountSeq, idempotencyKey);
      return row ? { record: toRecord(row), body: row.body, fingerprint: row.fingerprint } : undefined;
    },
    generationBySeq: async (seq) => {
      const row = await bySeq(seq);
      return row ? toRecord(row) : undefined;
    },
    findGeneration: async (id) => {
      const seq = seqOfGenerationId(id);
      const [row] = seq === undefined ? [] : await query<OperatorRow>(forOperator, seq);
      if (row?.id !== id) return undefined;
      const { account_id: accountId, idempotency_key: idempotencyKey } = row;
      return { ...toRecord(row), accountId, key: toSubmittingKey(row), idempotencyKey };
    },
    inputOf: async (seq) => {
      const [row] = await query<{ body: string; input_defaults: string }>(input, seq);
      if (!row) return undefined;
      // An erased request has no input.
      const { input: raw = {} } = JSON.parse(row.body) as { input?: JsonObject };
      return { raw, filled: { ...raw, ...(JSON.parse(row.input_defaults) as JsonObject) } };
    },
    orderedOf: async (seq) => {
      const [row] = await query<{ expected_delivery: string | null }>(
        "SELECT expected_delivery FROM generation WHERE seq = ?1",
        seq,
      );
      return parsed<Ordered>(row?.expected_delivery ?? null);
    },
    endedAmong: async (seqs) => {
      if (seqs.length === 0) return [];
      return (await query<{ seq: number }>(ended, JSON.stringify(seqs))).map(({ seq }) => seq);
    },
    versionsAmong: async (seqs) => {
      if (seqs.length === 0) return new Map();
      const rows = await query<{ seq: number; version: number }>(versions, JSON.stringify(seqs));
      return new Map(rows.map(({ seq, version }) => [seq, version]));
    },
    keptOutputs: async (afterSeq, untilMs, limit) => {
      const rows = await query<{ seq: number; id: string; output: string }>(KEPT, afterSeq, untilMs, limit);
      return rows.map(({ seq, id, output }) => ({ seq, id, files: (JSON.parse(output) as Output).files }));
    },
    expiredFiles: (nowMs, limit) => query<{ seq: number; id: string; files: number }>(expired, nowMs, limit),
  };
};
