// Loads the rows that a group needs in one round trip and locks its balances.
import { dayOf, windowFrom } from "../../domain/calendar.ts";
import type { StoredRequest } from "../../domain/idempotency.ts";
import type { Credits, GenerationRecord } from "../../domain/types.ts";
import type { KnownSubmission } from "../decide/admission.ts";
import type { Subscriber } from "../decide/deliveries.ts";
import type { TransitionRows } from "../decide/transition.ts";
import { END_USER_COLUMNS, type EndUser, type EndUserColumns, endUserTerm, toEndUser } from "../sql/end-users.ts";
import { BOUNDS, type Bound, type BoundRow, toBound } from "../sql/key-policy.ts";
import type { Head } from "../sql/ledger.ts";
import { type RecordRow, recordColumns, toRecord } from "../sql/queries/record.ts";
import type { PackedAdmit, PackedStep } from "../sql/serialized-mutations.ts";
import { type Connection, type Sent, together } from "./connections.ts";
import { type HeadRow, LOCK_BALANCES, SELECT_HEADS, toHead } from "./lock-balances.ts";
import { ownerOf } from "./ownership.ts";
import { integers, rowsOf } from "./parameters.ts";
import { POSTGRES } from "./sql-program.ts";

export type BatchedMutation = PackedAdmit | PackedStep;

/** A generation: its record, the version of its last transition, its owner, the spend limit of its key, and its end user. */
export type LoadedGeneration = {
  record: GenerationRecord;
  version: number;
  epoch: number;
  meter: { seq: number; fromDay: number } | null;
  endUserSeq: number | null;
  /** Enabled endpoints of its account, and the address for its events. */
  subscribers: readonly Subscriber[];
  webhookUrl: string | null;
};
export type Loaded = {
  heads: Map<number, Head>;
  /** By account and key. */
  submissions: Map<string, KnownSubmission>;
  generations: Map<number, LoadedGeneration>;
  /**
   * Attempts of captured generations, by generation and attempt number. The statements that write an attempt check that it
   * exists.
   */
  attempts: Map<string, NonNullable<TransitionRows["captured"]>>;
  bounds: Map<number, Bound>;
  /** Uploaded files that admissions name and that are stored; their rows are locked. */
  storedFiles: ReadonlySet<number>;
  /** Spending by day since the start of the longest window, by spend limit. */
  spent: Map<number, { day: number; credits: Credits }[]>;
  /** By account of an admission: its own threshold of a low balance, and the endpoints that receive the event. */
  alerts: Map<number, { credits: Credits | null; subscribers: readonly Subscriber[] }>;
  /** Stored end users that admissions name, by account and name. */
  endUsers: Map<string, EndUser>;
  /** Spending of those with a limit, by end user. The days before all windows but the total are one row. */
  endUserSpent: Map<number, { day: number; credits: Credits }[]>;
};

export const keyName = (accountSeq: number, key: string): string => `${accountSeq} ${key}`;
export const endUserName = (accountSeq: number, endUser: string): string => `${accountSeq} ${endUser}`;
export const attemptName = (seq: number, n: number): string => `${seq} ${n}`;

type UsedRow = RecordRow & StoredRequest & { idempotency_key: string };
type CurrentRow = RecordRow & {
  version: number | null;
  epoch: number;
  spend_limit_seq: number | null;
  from_day: number | null;
  /** JSON of its subscribers; null: none. */
  subscribers: string | null;
  webhook_url: string | null;
  end_user_seq: number | null;
};
type EndUserRow = EndUserColumns & { account: number; name: string };

const SELECT_USED = `SELECT ${recordColumns(POSTGRES)}, g.body, g.fingerprint, g.idempotency_key FROM ${rowsOf("?1", { account: "bigint", key: "text" }, "x")}
  JOIN generation g ON g.account_seq = x.account AND g.idempotency_key = x.key`;
const SELECT_GENERATIONS = `SELECT ${recordColumns(POSTGRES)}, s.version, ${ownerOf("g")} AS epoch, m.seq AS spend_limit_seq, m.from_day, w.url AS webhook_url, g.end_user_seq,
    (SELECT CAST(json_agg(json_build_object('seq', e.seq, 'events', e.events) ORDER BY e.seq) AS text) FROM webhook_endpoint e
      WHERE e.account_seq = g.account_seq AND e.deleted_at_ms IS NULL AND e.is_enabled = 1) AS subscribers
  FROM generation g LEFT JOIN generation_webhook w ON w.generation_seq = g.seq
  LEFT JOIN snapshot s ON s.generation_seq = g.seq LEFT JOIN api_key_policy t ON t.key_seq = g.key_seq LEFT JOIN spend_limit m ON m.seq = t.spend_limit_seq
  WHERE g.seq = ANY(${integers("?1")})`;
const SELECT_ATTEMPTS = `SELECT generation_seq AS seq, attempt_no AS n, price_credits AS "priceCredits", CASE state WHEN 'delivered' THEN 1 ELSE 0 END AS "isDelivered"
  FROM attempt WHERE generation_seq = ANY(${integers("?1")})`;
const SELECT_BOUNDS = `${BOUNDS} AND t.key_seq = ANY(${integers("?1")})`;
const SELECT_SPENT = `SELECT s.spend_limit_seq AS "meterSeq", s.day, s.credits FROM spend_by_day s WHERE s.day >= ?2 AND s.spend_limit_seq IN
  (SELECT spend_limit_seq FROM api_key_policy WHERE key_seq = ANY(${integers("?1")}))`;

const SELECT_ALERTS = `SELECT a.seq AS "accountSeq", (SELECT credits FROM balance_alert WHERE account_seq = a.seq) AS credits,
    (SELECT CAST(json_agg(json_build_object('seq', e.seq, 'events', e.events) ORDER BY e.seq) AS text) FROM webhook_endpoint e
      WHERE e.account_seq = a.seq AND e.deleted_at_ms IS NULL AND e.is_enabled = 1) AS subscribers
  FROM (SELECT DISTINCT unnest(${integers("?1")}) AS seq) a`;
type AlertRow = { accountSeq: number; credits: Credits | null; subscribers: string | null };
const toSubscribers = (json: string | null): Subscriber[] => (json === null ? [] : (JSON.parse(json) as Subscriber[]));

const NAMED_END_USERS = `${rowsOf("?1", { account: "bigint", name: "text", term: "text" }, "x")}
  JOIN end_user u ON u.account_seq = x.account AND u.term = x.term`;
const SELECT_END_USERS = `SELECT ${END_USER_COLUMNS}, u.account_seq AS account, x.name FROM ${NAMED_END_USERS}`;
const SELECT_END_USER_SPENT = `SELECT d.end_user_seq AS "endUserSeq", CASE WHEN d.day < ?2 THEN 0 ELSE d.day END AS day,
    CAST(sum(d.spent_credits) AS bigint) AS credits
  FROM (SELECT DISTINCT u.seq, u.limit_window FROM ${NAMED_END_USERS} WHERE u.limit_window IS NOT NULL) l
  JOIN end_user_day d ON d.end_user_seq = l.seq AND d.day >= CASE l.limit_window WHEN 'total' THEN 0 ELSE ?2 END GROUP BY 1, 2`;

/** In ascending order like accounts, which avoids deadlocks. */
const LOCK_FILES = `SELECT f.seq FROM uploaded_file f WHERE f.seq = ANY(${integers("?1")}) AND f.deleted_at_ms IS NULL
  ORDER BY f.seq FOR NO KEY UPDATE`;

const none = Promise.resolve({ rows: [], changes: 0, tag: "" });
const unless = <Row>(isNone: boolean, send: () => Promise<Sent<Row>>): Promise<Sent<Row>> => (isNone ? none : send());

const toGeneration = (row: CurrentRow): LoadedGeneration => ({
  record: toRecord(row),
  version: row.version ?? 0,
  epoch: row.epoch,
  meter: row.spend_limit_seq === null || row.from_day === null ? null : { seq: row.spend_limit_seq, fromDay: row.from_day },
  endUserSeq: row.end_user_seq,
  subscribers: toSubscribers(row.subscribers),
  webhookUrl: row.webhook_url,
});

/** The end users that admissions name. */
const endUserNamesOf = (admits: readonly PackedAdmit[]): { account: number; name: string; term: string }[] =>
  admits.flatMap(({ accountSeq: account, labels }) =>
    typeof labels?.endUser === "string" ? [{ account, name: labels.endUser, term: endUserTerm(labels.endUser) }] : [],
  );

/**
 * Sends everything before it waits, so that it shares a round trip with earlier statements. All nodes lock accounts in ascending
 * order, which avoids deadlocks. Each statement includes earlier commits, and the lock comes first, so no row of an account is
 * older.
 */
export const load = async (connection: Connection, mutations: readonly BatchedMutation[]): Promise<Loaded> => {
  const admits = mutations.filter((mutation) => mutation.mutation === "admit");
  const steps = mutations.filter((mutation) => mutation.mutation === "step");
  const accounts = integers.of(admits.map(({ accountSeq }) => accountSeq));
  const ending = integers.of(steps.flatMap(({ seq, settlement }) => (settlement ? [seq] : [])));
  const seqs = integers.of(steps.map(({ seq }) => seq));
  const captured = integers.of(steps.flatMap(({ seq, settlement }) => (settlement?.kind === "capture" ? [seq] : [])));
  const keys = integers.of(admits.map(({ keySeq }) => keySeq));
  const requested = admits.flatMap(({ accountSeq: account, idempotencyKey: key }) => (key === null ? [] : [{ account, key }]));
  const fromDay = Math.min(
    ...admits.flatMap(({ createdAtMs: ms }) => [windowFrom("month", ms), windowFrom("week", ms)]),
    dayOf(8e15),
  );
  const named = integers.of(admits.flatMap(({ files }) => files?.inputs.flatMap(({ fileSeq }) => fileSeq ?? []) ?? []));
  const endUserNames = endUserNamesOf(admits);
  const noEndUsers = endUserNames.length === 0;
  const endUsersJson = JSON.stringify(endUserNames);
  const hasMoney = admits.length > 0 || ending !== integers.NONE;
  const [, heads, used, generations, attempts, bounds, spent, files, endUsers, endUserSpent, alerts] = await together([
    unless(!hasMoney, () => connection.send(LOCK_BALANCES, accounts, ending)),
    unless(!hasMoney, () => connection.send<HeadRow>(SELECT_HEADS, accounts, ending)),
    unless(requested.length === 0, () => connection.send<UsedRow>(SELECT_USED, JSON.stringify(requested))),
    unless(steps.length === 0, () => connection.send<CurrentRow>(SELECT_GENERATIONS, seqs)),
    unless(captured === integers.NONE, () =>
      connection.send<{ seq: number; n: number; priceCredits: number; isDelivered: number }>(SELECT_ATTEMPTS, captured),
    ),
    unless(admits.length === 0, () => connection.send<BoundRow>(SELECT_BOUNDS, keys)),
    unless(admits.length === 0, () =>
      connection.send<{ meterSeq: number; day: number; credits: number }>(SELECT_SPENT, keys, fromDay),
    ),
    unless(named === integers.NONE, () => connection.send<{ seq: number }>(LOCK_FILES, named)),
    unless(noEndUsers, () => connection.send<EndUserRow>(SELECT_END_USERS, endUsersJson)),
    unless(noEndUsers, () =>
      connection.send<{ endUserSeq: number; day: number; credits: number }>(SELECT_END_USER_SPENT, endUsersJson, fromDay),
    ),
    unless(admits.length === 0, () => connection.send<AlertRow>(SELECT_ALERTS, accounts)),
  ] as const);
  return {
    heads: new Map(heads.rows.map((row) => [row.accountSeq, toHead(row)])),
    submissions: new Map(
      used.rows.map((row) => [
        keyName(row.account_seq, row.idempotency_key),
        { record: toRecord(row), request: { body: row.body, fingerprint: row.fingerprint } },
      ]),
    ),
    generations: new Map(generations.rows.map((row) => [row.seq, toGeneration(row)])),
    attempts: new Map(
      attempts.rows.map(({ seq, n, priceCredits, isDelivered }) => [
        attemptName(seq, n),
        { priceCredits, isDelivered: isDelivered === 1 },
      ]),
    ),
    bounds: new Map(bounds.rows.map((row) => [row.keySeq, toBound(row)])),
    storedFiles: new Set(files.rows.map(({ seq }) => seq)),
    spent: Map.groupBy(spent.rows, ({ meterSeq }) => meterSeq),
    alerts: new Map(
      alerts.rows.map(({ accountSeq, credits, subscribers }) => [
        accountSeq,
        { credits, subscribers: toSubscribers(subscribers) },
      ]),
    ),
    endUsers: new Map(endUsers.rows.map(({ account, name, ...columns }) => [endUserName(account, name), toEndUser(columns)])),
    endUserSpent: Map.groupBy(endUserSpent.rows, ({ endUserSeq }) => endUserSeq),
  };
};
