// Queries of generation lists, newest first in bounded steps, by account or for all.
import { generationSeqAt } from "../../../domain/ids.ts";
import type { GenerationsQuery, ListedGeneration, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { previousTo } from "./accounts.ts";
import { KEY_COLUMNS, type KeyColumns, RECORD_COLUMNS, type RecordRow, toRecord, toSubmittingKey } from "./record.ts";

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
  keyId === "playground" ? toSubmittingKey(row).isPlayground : row.key_id === keyId;
const isWanted = (query: GenerationsQuery, row: Row): boolean =>
  (query.accountSeq === null || row.account_seq === query.accountSeq) &&
  (query.toMs === null || row.created_at_ms < query.toMs) &&
  (query.status === null || row.status === query.status) &&
  (query.models === null || query.models.includes(row.model)) &&
  (query.keyId === null || isOfKey(query.keyId, row));

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
  return async (request: GenerationsQuery): Promise<number[]> => {
    const start = await startOf(isOpen(request) ? { ...request, accountSeq: null } : request);
    if (start === null) return [];
    const take = request.maxExamined + 1;
    const isChained = !isOpen(request) && request.accountSeq !== null;
    const found = isChained
      ? await query<{ link: number }>(CHAINED, start, take)
      : await query<{ link: number }>(isOpen(request) ? OPEN : EVERYBODYS, -start, take);
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
  const reported = async (rows: readonly Row[]): Promise<ListedGeneration[]> => {
    if (rows.length === 0) return [];
    const seqs = JSON.stringify(rows.map(({ seq }) => seq));
    const found = await query<{ seq: number; prompt: string | null }>(excerpts, seqs);
    const prompts = new Map(found.map(({ seq, prompt }) => [seq, prompt]));
    return rows.map((row) => ({
      record: toRecord(row),
      accountId: row.accountId,
      key: toSubmittingKey(row),
      prompt: prompts.get(row.seq) ?? null,
    }));
  };
  /** Examines rows in order, and reads as many at once as are still missing. */
  const look = async (request: GenerationsQuery): Promise<{ wanted: Row[]; examined: number; next: number | null }> => {
    const links = await linksOf(request);
    const wanted: Row[] = [];
    let rows = new Map<number, Row>();
    let [examined, readUpTo] = [0, 0];
    for (const link of links) {
      if (examined === request.maxExamined || wanted.length === request.limit) return { wanted, examined, next: link };
      if (examined === readUpTo) {
        readUpTo += Math.max(READ_AT_LEAST, request.limit - wanted.length);
        rows = await read(links.slice(examined, readUpTo));
      }
      examined += 1;
      const seen = rows.get(-link);
      if (!seen) continue;
      if (request.fromMs !== null && seen.created_at_ms < request.fromMs) return { wanted, examined, next: null };
      if (isWanted(request, seen)) wanted.push(seen);
    }
    return { wanted, examined, next: null };
  };
  return {
    generationsStep: async (request) => {
      const { wanted, examined, next } = await look(request);
      return { found: await reported(wanted), examined, next };
    },
  };
};
