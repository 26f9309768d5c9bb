// Reads generations: by id, by key, by row number, their inputs, and those whose files are past their retention.
import type { Database } from "bun:sqlite";
import { seqOfGenerationId } from "../../../ids.ts";
import type { JsonObject } from "../../../terms.ts";
import type { StoreReads } from "../../store.ts";
import { KEY_COLUMNS, type KeyColumns, RECORD_COLUMNS, type RecordRow, toMakingKey, toRecord } from "./record.ts";

type Reads = Pick<
  StoreReads,
  "generationById" | "generationByKey" | "generationBySeq" | "findGeneration" | "inputOf" | "expiredFiles"
>;

export const prepareGenerationReads = (db: Database): Reads => {
  const bySeq = db.prepare<RecordRow, [number]>(`SELECT ${RECORD_COLUMNS} FROM generation g WHERE g.seq = ?1`);
  const byKey = db.prepare<RecordRow & { body: string }, [number, string]>(
    `SELECT ${RECORD_COLUMNS}, g.body FROM generation g WHERE g.account_seq = ?1 AND g.idempotency_key = ?2`,
  );
  const forOperator = db.prepare<RecordRow & KeyColumns & { account_id: string; idempotency_key: string | null }, [number]>(
    `SELECT ${RECORD_COLUMNS}, ${KEY_COLUMNS}, a.id AS account_id, g.idempotency_key
     FROM generation g JOIN account a ON a.seq = g.account_seq JOIN api_key k ON k.seq = g.key_seq WHERE g.seq = ?1`,
  );
  const input = db.prepare<{ body: string; added: string }, [number]>("SELECT body, added FROM generation WHERE seq = ?1");
  const expired = db.prepare<{ seq: number; id: string; files: number }, [number, number]>(
    `SELECT seq, id, json_array_length(output, '$.files') AS files FROM generation
     WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL AND files_expire_at_ms <= ?1
     ORDER BY files_expire_at_ms LIMIT ?2`,
  );

  return {
    // The row number is inside the id, so no index on ids is needed; the whole id and the account decide.
    generationById: async (id, accountSeq) => {
      const seq = seqOfGenerationId(id);
      const row = seq === undefined ? null : bySeq.get(seq);
      return row?.id === id && row.account_seq === accountSeq ? toRecord(row) : undefined;
    },
    generationByKey: async (accountSeq, idempotencyKey) => {
      const row = byKey.get(accountSeq, idempotencyKey);
      return row ? { record: toRecord(row), body: row.body } : undefined;
    },
    generationBySeq: async (seq) => {
      const row = bySeq.get(seq);
      return row ? toRecord(row) : undefined;
    },
    findGeneration: async (id) => {
      const seq = seqOfGenerationId(id);
      const row = seq === undefined ? null : forOperator.get(seq);
      if (row?.id !== id) return undefined;
      const { account_id: accountId, idempotency_key: idempotencyKey } = row;
      return { ...toRecord(row), accountId, key: toMakingKey(row), idempotencyKey };
    },
    inputOf: async (seq) => {
      const row = input.get(seq);
      if (!row) return undefined;
      const { input: raw } = JSON.parse(row.body) as { input: JsonObject };
      return { raw, filled: { ...raw, ...(JSON.parse(row.added) as JsonObject) } };
    },
    expiredFiles: async (nowMs, limit) => expired.all(nowMs, limit),
  };
};
