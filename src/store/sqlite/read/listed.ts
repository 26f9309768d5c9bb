// Reads lists of generations, newest first and in bounded steps: an account's own, everybody's, and those that have not ended.
import type { Database } from "bun:sqlite";
import { generationSeqAt } from "../../../ids.ts";
import type { GenerationsAsk, GenerationsStep, ListedGeneration, StoreReads } from "../../store.ts";
import { KEY_COLUMNS, type KeyColumns, RECORD_COLUMNS, type RecordRow, toMakingKey, toRecord } from "./record.ts";

type Reads = Pick<StoreReads, "generationsStep">;
type Row = RecordRow & KeyColumns & { accountId: string };

/** Characters of a prompt that a list shows. */
const EXCERPT = 200;
/** Rows that are looked at for one of the account's before a moment. */
const PROBED = 2_000;

const prepare = (db: Database): ((ask: GenerationsAsk) => GenerationsStep) => {
  const listed = `SELECT ${RECORD_COLUMNS}, ${KEY_COLUMNS}, a.id AS accountId
    FROM generation g JOIN account a ON a.seq = g.account_seq JOIN api_key k ON k.seq = g.key_seq`;
  const one = db.prepare<Row, [number]>(`${listed} WHERE g.seq = ?1`);
  const excerpt = db.prepare<{ prompt: string | null }, [number]>(
    `SELECT substr(body ->> '$.input.prompt', 1, ${EXCERPT}) AS prompt FROM generation WHERE seq = ?1`,
  );
  const everybodys = db.prepare<{ row: number }, [number, number]>(
    "SELECT -seq AS row FROM generation WHERE seq <= ?1 ORDER BY seq DESC LIMIT ?2",
  );
  const open = db.prepare<{ row: number }, [number, number]>(
    `SELECT -seq AS row FROM generation INDEXED BY generation_open WHERE completed_at_ms IS NULL AND seq <= ?1
     ORDER BY seq DESC LIMIT ?2`,
  );
  // Each movement names the one before it (see 0001.sql): an account's generations are found by their holds, without an index on
  // generation, into which every submission would have to write at a random place.
  const previous =
    "iif(row < 0, (SELECT hold_previous FROM generation WHERE seq = -row), (SELECT previous FROM posting WHERE posting.seq = row))";
  const chained = db.prepare<{ row: number }, [number, number]>(
    `WITH RECURSIVE walk (row, remaining) AS (
       SELECT ?1, ?2 UNION ALL SELECT ${previous}, remaining - 1 FROM walk WHERE remaining > 1 AND row IS NOT NULL)
     SELECT row FROM walk WHERE row IS NOT NULL`,
  );
  const end = db.prepare<{ row: number | null }, [number]>("SELECT chain_end AS row FROM balance WHERE account_seq = ?1");
  // An account with a long chain is a good part of all rows, so that one of its own lies near any moment; a short chain is soon walked.
  const near = db.prepare<{ seq: number }, [number, number]>(
    `SELECT seq FROM (SELECT seq, account_seq FROM generation WHERE seq < ?1 ORDER BY seq DESC LIMIT ${PROBED})
     WHERE account_seq = ?2 LIMIT 1`,
  );

  const startOf = ({ accountSeq, from, toMs }: GenerationsAsk): number | null => {
    if (from !== null) return from;
    if (accountSeq === null) return 1 - (toMs === null ? Number.MAX_SAFE_INTEGER : generationSeqAt(toMs));
    const found = toMs === null ? null : near.get(generationSeqAt(toMs), accountSeq);
    return found ? -found.seq : (end.get(accountSeq)?.row ?? null);
  };
  const isOpen = ({ status }: GenerationsAsk) => status === "queued" || status === "running";
  /** Rows as the ledger names them: a generation by its number below zero. One more than is looked at says where to go on. */
  const rowsOf = (ask: GenerationsAsk, start: number | null): number[] => {
    if (start === null) return [];
    const take = ask.looks + 1;
    const found =
      isOpen(ask) || ask.accountSeq === null ? (isOpen(ask) ? open : everybodys).all(-start, take) : chained.all(start, take);
    return found.map(({ row }) => row);
  };
  const isOfKey = (keyId: string, row: Row): boolean =>
    keyId === "playground" ? toMakingKey(row).isPlayground : row.key_id === keyId;
  const isWanted = (ask: GenerationsAsk, row: Row): boolean =>
    (ask.accountSeq === null || row.account_seq === ask.accountSeq) &&
    (ask.toMs === null || row.created_at_ms < ask.toMs) &&
    (ask.status === null || row.status === ask.status) &&
    (ask.models === null || ask.models.includes(row.model)) &&
    (ask.keyId === null || isOfKey(ask.keyId, row));

  return (ask) => {
    const start = isOpen(ask) && ask.from === null ? startOf({ ...ask, accountSeq: null }) : startOf(ask);
    const rows = rowsOf(ask, start);
    const found: ListedGeneration[] = [];
    let looked = 0;
    for (const row of rows) {
      if (looked === ask.looks || found.length === ask.limit) return { found, looked, next: row };
      looked += 1;
      const seen = row < 0 ? one.get(-row) : null;
      if (!seen) continue;
      if (ask.fromMs !== null && seen.created_at_ms < ask.fromMs) return { found, looked, next: null };
      if (isWanted(ask, seen))
        found.push({
          record: toRecord(seen),
          accountId: seen.accountId,
          key: toMakingKey(seen),
          prompt: excerpt.get(seen.seq)?.prompt ?? null,
        });
    }
    return { found, looked, next: null };
  };
};

/** The statements are made when a list is first asked for. */
export const prepareListedReads = (db: Database): Reads => {
  let step: ReturnType<typeof prepare> | undefined;
  return {
    generationsStep: async (ask) => {
      step ??= prepare(db);
      return step(ask);
    },
  };
};
