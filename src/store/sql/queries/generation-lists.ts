// Queries of generation lists, newest first in bounded steps, by account or for all.
import { generationSeqAt } from "../../../domain/ids.ts";
import type { GenerationsQuery, ListedGeneration, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { previousTo } from "./accounts.ts";
import { KEY_COLUMNS, type KeyColumns, RECORD_COLUMNS, type RecordRow, toMakingKey, toRecord } from "./record.ts";

type Reads = Pick<StoreReads, "generationsStep">;
type Row = RecordRow & KeyColumns & { accountId: string };

/** Length of the prompt excerpt of a list in characters. */
const EXCERPT = 200;
/** Rows that are searched for a generation of the account before a time. */
const PROBED = 2_000;

/** Minimum rows per read, because the number of matching rows is not known before. */
const READ_AT_LEAST = 50;

const EVERYBODYS = "SELECT -seq AS link FROM generation WHERE seq <= ?1 ORDER BY seq DESC LIMIT ?2";
const OPEN = `SELECT -seq AS link FROM generation INDEXED BY generation_open WHERE completed_at_ms IS NULL AND seq <= ?1
  ORDER BY seq DESC LIMIT ?2`;
// Each transfer names the previous one (see 0001.sql). The generations of an account are found by their holds. An index on
// generation would cost every submission a write at a random place.
const CHAINED = `WITH RECURSIVE walk (link, remaining) AS (
    SELECT CAST(?1 AS bigint), CAST(?2 AS bigint)
    UNION ALL SELECT ${previousTo("walk.link")}, remaining - 1 FROM walk WHERE remaining > 1 AND walk.link IS NOT NULL)
  SELECT link FROM walk WHERE link IS NOT NULL`;
const END = "SELECT last_transfer_seq AS link FROM balance WHERE account_seq = ?1";
// An account with a long chain owns a large share of all rows, so one of them is near any time. A short chain is walked quickly.
const NEAR = `SELECT seq FROM (SELECT seq, account_seq FROM generation WHERE seq < ?1 ORDER BY seq DESC LIMIT ${PROBED}) g
  WHERE account_seq = ?2 LIMIT 1`;
const listedIn = ({ items, json }: Dialect): string =>
  `SELECT ${RECORD_COLUMNS}, ${KEY_COLUMNS}, a.id AS "accountId"
   FROM generation g JOIN account a ON a.seq = g.account_seq JOIN api_key k ON k.seq = g.key_seq
   WHERE g.seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;
// A JSON text can contain NUL, which a PostgreSQL text cannot.
const excerptsIn = ({ items, json }: Dialect): string =>
  `SELECT g.seq, substr(${json("replace(g.body, '\\u0000', '\\ufffd')")} -> 'input' ->> 'prompt', 1, ${EXCERPT}) AS prompt FROM generation g
   WHERE g.seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;

const isOpen = ({ status }: GenerationsQuery): boolean => status === "queued" || status === "running";
const isOfKey = (keyId: string, row: Row): boolean =>
  keyId === "playground" ? toMakingKey(row).isPlayground : row.key_id === keyId;
const isWanted = (ask: GenerationsQuery, row: Row): boolean =>
  (ask.accountSeq === null || row.account_seq === ask.accountSeq) &&
  (ask.toMs === null || row.created_at_ms < ask.toMs) &&
  (ask.status === null || row.status === ask.status) &&
  (ask.models === null || ask.models.includes(row.model)) &&
  (ask.keyId === null || isOfKey(ask.keyId, row));

const openFinding = (query: Query) => {
  const startOf = async ({ accountSeq, from, toMs }: GenerationsQuery): Promise<number | null> => {
    if (from !== null) return from;
    if (accountSeq === null) return 1 - (toMs === null ? Number.MAX_SAFE_INTEGER : generationSeqAt(toMs));
    const [found] = toMs === null ? [] : await query<{ seq: number }>(NEAR, generationSeqAt(toMs), accountSeq);
    return found ? -found.seq : ((await query<{ link: number | null }>(END, accountSeq))[0]?.link ?? null);
  };
  /**
   * Row numbers of the ledger, where a generation is negative. The list has one row more than `looks`, which is the start of the
   * next step.
   */
  return async (ask: GenerationsQuery): Promise<number[]> => {
    const start = await startOf(isOpen(ask) ? { ...ask, accountSeq: null } : ask);
    if (start === null) return [];
    const take = ask.looks + 1;
    const isChained = !isOpen(ask) && ask.accountSeq !== null;
    const found = isChained
      ? await query<{ link: number }>(CHAINED, start, take)
      : await query<{ link: number }>(isOpen(ask) ? OPEN : EVERYBODYS, -start, take);
    return found.map(({ link }) => link);
  };
};

export const listedReads = (query: Query, dialect: Dialect): Reads => {
  const [listed, excerpts] = [listedIn(dialect), excerptsIn(dialect)];
  const linksOf = openFinding(query);
  const read = async (links: readonly number[]): Promise<Map<number, Row>> => {
    const seqs = links.filter((link) => link < 0).map((link) => -link);
    const rows = seqs.length === 0 ? [] : await query<Row>(listed, JSON.stringify(seqs));
    return new Map(rows.map((row) => [row.seq, row]));
  };
  const told = async (rows: readonly Row[]): Promise<ListedGeneration[]> => {
    if (rows.length === 0) return [];
    const seqs = JSON.stringify(rows.map(({ seq }) => seq));
    const found = await query<{ seq: number; prompt: string | null }>(excerpts, seqs);
    const prompts = new Map(found.map(({ seq, prompt }) => [seq, prompt]));
    return rows.map((row) => ({
      record: toRecord(row),
      accountId: row.accountId,
      key: toMakingKey(row),
      prompt: prompts.get(row.seq) ?? null,
    }));
  };
  /** Examines rows in order, and reads as many at once as are still missing. */
  const look = async (ask: GenerationsQuery): Promise<{ wanted: Row[]; looked: number; next: number | null }> => {
    const links = await linksOf(ask);
    const wanted: Row[] = [];
    let rows = new Map<number, Row>();
    let [looked, readUpTo] = [0, 0];
    for (const link of links) {
      if (looked === ask.looks || wanted.length === ask.limit) return { wanted, looked, next: link };
      if (looked === readUpTo) {
        readUpTo += Math.max(READ_AT_LEAST, ask.limit - wanted.length);
        rows = await read(links.slice(looked, readUpTo));
      }
      looked += 1;
      const seen = rows.get(-link);
      if (!seen) continue;
      if (ask.fromMs !== null && seen.created_at_ms < ask.fromMs) return { wanted, looked, next: null };
      if (isWanted(ask, seen)) wanted.push(seen);
    }
    return { wanted, looked, next: null };
  };
  return {
    generationsStep: async (ask) => {
      const { wanted, looked, next } = await look(ask);
      return { found: await told(wanted), looked, next };
    },
  };
};
