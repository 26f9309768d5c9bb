// Queries of generation lists, newest first in bounded steps, by account or for all.
import { generationSeqAt } from "../../../domain/ids.ts";
import type { Labels } from "../../../domain/types.ts";
import type { GenerationsQuery, ListedGeneration, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import { endUserTerm } from "../end-users.ts";
import { metadataTerm } from "../metadata-term.ts";
import type { Query, Value } from "../sql-program.ts";
import { previousTo } from "./accounts.ts";
import { KEY_COLUMNS, type KeyColumns, parsed, type RecordRow, recordColumns, toRecord, toSubmittingKey } from "./record.ts";

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
// Ends when every open generation of the account is found.
const OPEN_OF = `SELECT -seq AS link FROM generation INDEXED BY generation_open WHERE completed_at_ms IS NULL AND seq <= ?1
  AND account_seq = ?3 ORDER BY seq DESC LIMIT (SELECT CASE WHEN in_progress < ?2 THEN in_progress ELSE ?2 END FROM balance WHERE account_seq = ?3)`;
const FAILED_OF = `SELECT -seq AS link FROM generation INDEXED BY generation_failed WHERE account_seq = ?3 AND error IS NOT NULL
  AND seq <= ?1 ORDER BY seq DESC LIMIT ?2`;
const SUCCEEDED_OF = `SELECT -seq AS link FROM generation INDEXED BY generation_succeeded WHERE account_seq = ?3
  AND files_expire_at_ms IS NOT NULL AND seq <= ?1 ORDER BY seq DESC LIMIT ?2`;
// The index contains ended generations only, so that a submission does not write it. The open ones are read as in OPEN_OF.
const MODEL_OF = `SELECT link FROM (
    SELECT link FROM (SELECT -seq AS link FROM generation INDEXED BY generation_model_ended WHERE account_seq = ?3 AND model = ?4
      AND completed_at_ms IS NOT NULL AND seq <= ?1 ORDER BY seq DESC LIMIT ?2) ended
    UNION ALL SELECT -seq AS link FROM (SELECT seq, model FROM generation INDEXED BY generation_open WHERE completed_at_ms IS NULL
      AND account_seq = ?3 ORDER BY seq DESC LIMIT (SELECT in_progress FROM balance WHERE account_seq = ?3)) opened
      WHERE model = ?4 AND seq <= ?1) both_kinds
  ORDER BY link LIMIT ?2`;
const METADATA_OF = `SELECT -generation_seq AS link FROM generation_metadata WHERE account_seq = ?3 AND name = ?4 AND value = ?5
  AND generation_seq <= ?1 ORDER BY generation_seq DESC LIMIT ?2`;
const END_USER_OF = `SELECT -seq AS link FROM generation INDEXED BY generation_end_user
  WHERE end_user_seq = (SELECT seq FROM end_user WHERE account_seq = ?3 AND term = ?4) AND seq <= ?1 ORDER BY seq DESC LIMIT ?2`;
// Each transfer names the previous one (see 0001.sql). The generations of an account are found by their holds, in the order of
// their commits, without an index.
const CHAINED = `WITH RECURSIVE walk (link, remaining) AS (
    SELECT CAST(?1 AS bigint), CAST(?2 AS bigint)
    UNION ALL SELECT ${previousTo("walk.link")}, remaining - 1 FROM walk WHERE remaining > 1 AND walk.link IS NOT NULL)
  SELECT link FROM walk WHERE link IS NOT NULL`;
const BEFORE = `SELECT ${previousTo("CAST(?1 AS bigint)")} AS link`;
const END = "SELECT last_transfer_seq AS link FROM balance WHERE account_seq = ?1";
// An account with a long chain owns a large share of all rows, so one of them is near any time. A short chain is walked quickly.
const NEAR = `SELECT seq FROM (SELECT seq, account_seq FROM generation WHERE seq < ?1 ORDER BY seq DESC LIMIT ${PROBED}) g
  WHERE account_seq = ?2 LIMIT 1`;
const listedIn = ({ items, json, labels }: Dialect): string =>
  `SELECT ${recordColumns({ labels })}, ${KEY_COLUMNS}, a.id AS "accountId"
   FROM generation g JOIN account a ON a.seq = g.account_seq JOIN api_key k ON k.seq = g.key_seq
   WHERE g.seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;
// A JSON text can contain NUL, which a PostgreSQL text cannot.
export const excerptsIn = ({ items, json, body }: Dialect): string =>
  `SELECT g.seq, substr(${json(`replace(${body}, '\\u0000', '\\ufffd')`)} -> 'input' ->> 'prompt', 1, ${EXCERPT}) AS prompt FROM generation g
   WHERE g.seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;

/** Times of creation are in the order of the rows, or of the commits, but for this period: nodes have different clocks. */
const UNORDERED_MS = 60_000;

const isOpen = ({ status }: GenerationsQuery): boolean => status === "queued" || status === "running";
const isOfKey = (keyId: string, row: Row): boolean =>
  keyId === "playground" ? toSubmittingKey(row).isPlayground : row.key_id === keyId;
const hasMetadata = (wanted: NonNullable<GenerationsQuery["metadata"]>, { labels }: Row): boolean => {
  if (wanted.length === 0) return true;
  const metadata = new Map(Object.entries(parsed<Labels>(labels)?.metadata ?? {}));
  return wanted.every(([name, value]) => metadata.get(name) === value);
};
const isWanted = (query: GenerationsQuery, row: Row): boolean =>
  (query.accountSeq === null || row.account_seq === query.accountSeq) &&
  (query.fromMs === null || row.created_at_ms >= query.fromMs) &&
  (query.toMs === null || row.created_at_ms < query.toMs) &&
  (query.status === null || row.status === query.status) &&
  (query.models === null || query.models.includes(row.model)) &&
  (query.keyId === null || isOfKey(query.keyId, row)) &&
  (typeof query.endUser !== "string" || parsed<Labels>(row.labels)?.endUser === query.endUser) &&
  hasMetadata(query.metadata ?? [], row);

/** The index with the generations of an account that a query can match; null if none is better than the chain. */
const indexFor = ({
  accountSeq,
  status,
  models,
  metadata,
  endUser,
}: GenerationsQuery): { sql: string; values: Value[] } | null => {
  if (accountSeq === null) return null;
  if (typeof endUser === "string") return { sql: END_USER_OF, values: [accountSeq, endUserTerm(endUser)] };
  const [label] = metadata ?? [];
  if (label !== undefined) return { sql: METADATA_OF, values: [accountSeq, ...metadataTerm(...label)] };
  if (status === "queued" || status === "running") return { sql: OPEN_OF, values: [accountSeq] };
  const [model, ...others] = models ?? [];
  if (model !== undefined && others.length === 0) return { sql: MODEL_OF, values: [accountSeq, model] };
  if (status === null) return null;
  return { sql: status === "failed" ? FAILED_OF : SUCCEEDED_OF, values: [accountSeq] };
};

const openFinding = (query: Query) => {
  const chainStart = async ({ from, afterSeq, toMs }: GenerationsQuery, accountSeq: number): Promise<number | null> => {
    if (from !== null) return from;
    if (afterSeq !== undefined) return (await query<{ link: number | null }>(BEFORE, -afterSeq))[0]?.link ?? null;
    const [found] = toMs === null ? [] : await query<{ seq: number }>(NEAR, generationSeqAt(toMs + UNORDERED_MS), accountSeq);
    return found ? -found.seq : ((await query<{ link: number | null }>(END, accountSeq))[0]?.link ?? null);
  };
  /** The highest row number that can match, for lists in the order of row numbers. */
  const newestIn = ({ from, afterSeq, toMs }: GenerationsQuery): number => {
    if (from !== null) return -from;
    return (afterSeq ?? (toMs === null ? Number.MAX_SAFE_INTEGER : generationSeqAt(toMs + UNORDERED_MS))) - 1;
  };
  /**
   * Row numbers of the ledger, where a generation is negative. The list has one row more than `looks`, which is the start of the
   * next step.
   */
  return async (request: GenerationsQuery): Promise<number[]> => {
    const { accountSeq } = request;
    const take = request.maxExamined + 1;
    const index = indexFor(request);
    const find = async () => {
      if (index) return query<{ link: number }>(index.sql, newestIn(request), take, ...index.values);
      if (accountSeq === null) return query<{ link: number }>(isOpen(request) ? OPEN : EVERYBODYS, newestIn(request), take);
      const start = await chainStart(request, accountSeq);
      return start === null ? [] : query<{ link: number }>(CHAINED, start, take);
    };
    return (await find()).map(({ link }) => link);
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
  const reported = async (rows: readonly Row[], withPrompts: boolean): Promise<ListedGeneration[]> => {
    const seqs = JSON.stringify(rows.map(({ seq }) => seq));
    const isRead = withPrompts && rows.length > 0;
    const found = isRead ? await query<{ seq: number; prompt: string | null }>(excerpts, seqs) : [];
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
      if (request.fromMs !== null && seen.created_at_ms < request.fromMs - UNORDERED_MS) return { wanted, examined, next: null };
      if (isWanted(request, seen)) wanted.push(seen);
    }
    return { wanted, examined, next: null };
  };
  return {
    generationsStep: async (request) => {
      const { wanted, examined, next } = await look(request);
      return { found: await reported(wanted, request.withPrompts ?? true), examined, next };
    },
  };
};
