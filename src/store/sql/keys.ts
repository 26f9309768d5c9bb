// Key mutations: create, update, rotate, revoke and last use.

import { MAX_KEY_NETWORKS } from "../../config/cidr-list.ts";
import { DAY_MS, windowFrom } from "../../domain/calendar.ts";
import { leastSeqAt } from "../../domain/ids.ts";
import type {
  AdminResult,
  CreateKey,
  RecordKeyNetwork,
  RecordKeyUse,
  RevokeKey,
  RotateKey,
  UpdateKey,
} from "../../domain/mutations.ts";
import type { KeyLimits } from "../../domain/types.ts";
import type { Dialect } from "./dialect.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { all, change, first, insert, type SqlProgram } from "./sql-program.ts";

export type KeyMutation = CreateKey | UpdateKey | RotateKey | RevokeKey | RecordKeyUse | RecordKeyNetwork;

type KeyRow = {
  seq: number;
  meterSeq: number;
  expiresAtMs: number | null;
  models: string | null;
  revokedAtMs: number | null;
  successor: string | null;
};

const INSERT_KEY = `INSERT INTO api_key (id, account_seq, scope, name, hash, prefix, created_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING seq`;
const COPY_KEY = `INSERT INTO api_key (id, account_seq, scope, name, hash, prefix, created_at_ms)
  SELECT ?2, account_seq, scope, name, ?3, ?4, ?5 FROM api_key WHERE seq = ?1 RETURNING seq`;
const SELECT_KEY = `SELECT k.seq, coalesce(t.spend_limit_seq, k.seq) AS "meterSeq", t.expires_at_ms AS "expiresAtMs", t.models,
    k.revoked_at_ms AS "revokedAtMs",
    (SELECT s.id FROM api_key_policy n JOIN api_key s ON s.seq = n.key_seq WHERE n.rotated_from = k.seq) AS successor
  FROM api_key k LEFT JOIN api_key_policy t ON t.key_seq = k.seq WHERE k.id = ?1`;
const INSERT_TERMS =
  "INSERT INTO api_key_policy (key_seq, spend_limit_seq, rotated_from, expires_at_ms, models) VALUES (?1, ?2, ?3, ?4, ?5)";
const BEGIN_TERMS = "INSERT INTO api_key_policy (key_seq, spend_limit_seq) VALUES (?1, ?1) ON CONFLICT DO NOTHING";
const EXPIRE = "UPDATE api_key_policy SET expires_at_ms = ?2 WHERE key_seq = ?1";
/**
 * One statement with JSON, because thousands of single statements would delay submissions. All nodes use the same order, which
 * avoids deadlocks.
 */
const noteUses = ({ elements }: Dialect): string => `INSERT INTO api_key_last_used
  SELECT CAST(u.value ->> 0 AS bigint), max(CAST(u.value ->> 1 AS bigint)) FROM ${elements("CAST(?1 AS text)", "u")} WHERE true
  GROUP BY CAST(u.value ->> 0 AS bigint) ORDER BY CAST(u.value ->> 0 AS bigint)
  ON CONFLICT (key_seq) DO UPDATE SET last_used_at_ms = excluded.last_used_at_ms WHERE api_key_last_used.last_used_at_ms < excluded.last_used_at_ms`;
const NOTE_NETWORK = `INSERT INTO api_key_network (key_seq, network, first_used_at_ms) SELECT CAST(?1 AS bigint), CAST(?2 AS text), CAST(?3 AS bigint)
  WHERE (SELECT count(*) FROM api_key_network WHERE key_seq = ?1) < ${MAX_KEY_NETWORKS} ON CONFLICT DO NOTHING`;
const SET_METER =
  "UPDATE spend_limit SET day_limit_credits = ?2, week_limit_credits = ?3, month_limit_credits = ?4 WHERE seq = ?1";
const INSERT_METER =
  "INSERT INTO spend_limit (seq, from_day, day_limit_credits, week_limit_credits, month_limit_credits) VALUES (?1, ?2, ?3, ?4, ?5)";

/** Counts the usable keys of an account; playground keys are not counted. */
const COUNT_GOOD = `SELECT count(*) AS n FROM api_key k LEFT JOIN api_key_policy t ON t.key_seq = k.seq
  WHERE k.account_seq = ?1 AND k.revoked_at_ms IS NULL AND k.prefix <> 'console' 
    AND (t.expires_at_ms IS NULL OR t.expires_at_ms > CAST(?2 AS bigint))`;
const ACCOUNT_OF = 'SELECT account_seq AS "accountSeq" FROM api_key WHERE seq = ?1';
const ID_OF = "SELECT id FROM api_key WHERE seq = ?1";
export const MAX_KEYS = 100;

const printed = (models: readonly string[] | null): string | null => (models === null ? null : JSON.stringify(models));

/** Spend limits of keys that follow each other by rotation, and their spending. */
const prepareMeters = ({ forUpdate }: Dialect, notAddedUp: string) => {
  const selectMeter = `SELECT day_limit_credits AS "day", week_limit_credits AS "week", month_limit_credits AS "month" FROM spend_limit
    WHERE seq = ?1 ${forUpdate}`;
  const lockAccount = `SELECT account_seq FROM balance
    WHERE account_seq = (SELECT account_seq FROM api_key WHERE seq = ?1) ${forUpdate}`;
  // Ended generations are rolled up by day; the rest and the open ones are few. Row numbers rise with time. The plus prevents
  // SQLite from using any index but that of the transfers.
  const sumUp = `WITH line AS (SELECT key_seq FROM api_key_policy WHERE spend_limit_seq = ?1)
    INSERT INTO spend_by_day SELECT CAST(?1 AS bigint), spent.day, CAST(sum(spent.credits) AS bigint) FROM (
      SELECT day, credits FROM settled_spend_by_day WHERE key_seq IN (SELECT key_seq FROM line) AND day >= ?2
      UNION ALL SELECT g.created_at_ms / ${DAY_MS}, g.cost_credits FROM transfer p JOIN generation g ON g.seq = +p.generation_seq
        WHERE ${notAddedUp} AND p.kind = 'capture' AND g.created_at_ms >= ?3 AND g.key_seq IN (SELECT key_seq FROM line)
      UNION ALL SELECT created_at_ms / ${DAY_MS}, reserved_credits FROM generation
        WHERE completed_at_ms IS NULL AND seq >= ?4 AND created_at_ms >= ?3 AND key_seq IN (SELECT key_seq FROM line)
    ) spent GROUP BY spent.day`;
  /**
   * Windows that are not named keep their limit. A spend limit stays when all its windows are removed, because a new sum costs
   * the writer time that a caller could request repeatedly. `isNew`: the key was just created and has spent nothing.
   */
  return function* (meterSeq: number, requested: Partial<KeyLimits>, atMs: number, isNew = false): SqlProgram<void> {
    const known = yield* first<KeyLimits>(selectMeter, meterSeq);
    const { day, week, month } = { ...(known ?? { day: null, week: null, month: null }), ...requested };
    if (known) {
      yield* change(SET_METER, meterSeq, day, week, month);
      return;
    }
    if (day === null && week === null && month === null) return;
    // Locks the account, so that nothing is admitted or settled while the spending of its key is summed.
    yield* all(lockAccount, meterSeq);
    const fromDay = Math.min(windowFrom("week", atMs), windowFrom("month", atMs));
    const fromMs = fromDay * DAY_MS;
    yield* change(INSERT_METER, meterSeq, fromDay, day, week, month);
    if (!isNew) yield* change(sumUp, meterSeq, fromDay, fromMs, leastSeqAt(fromMs));
  };
};

/** A key that can be changed. @throws MutationRejected */
const changeable = function* (id: string): SqlProgram<KeyRow> {
  const row = yield* first<KeyRow>(SELECT_KEY, id);
  if (!row) throw new MutationRejected(`there is no key ${id}`);
  if (row.revokedAtMs !== null) throw new MutationRejected(`the key ${id} was revoked; make a new one`);
  return row;
};

const accountOf = function* (seq: number): SqlProgram<number> {
  return (yield* first<{ accountSeq: number }>(ACCOUNT_OF, seq))?.accountSeq ?? 0;
};

/** Bounds the number of keys, because lists read all of them. @throws MutationRejected */
const requireFreeKey = function* (accountSeq: number, atMs: number): SqlProgram<void> {
  const { n = 0 } = (yield* first<{ n: number }>(COUNT_GOOD, accountSeq, atMs)) ?? {};
  if (n >= MAX_KEYS) throw new MutationRejected(`an account has ${MAX_KEYS} keys at most that are good; revoke one of them`);
};

const rotate = function* ({ keyId, overlapMs, id, hash, start, atMs }: RotateKey): SqlProgram<AdminResult> {
  const row = yield* changeable(keyId);
  if (row.successor !== null) throw new MutationRejected(`the key ${keyId} was rotated to ${row.successor}; rotate that one`);
  if (row.expiresAtMs !== null && row.expiresAtMs <= atMs)
    throw new MutationRejected(`the key ${keyId} has expired; make a new one`);
  // Without an overlap the number of usable keys stays the same, so a leaked key can always be replaced.
  if (overlapMs > 0) yield* requireFreeKey(yield* accountOf(row.seq), atMs);
  yield* change(BEGIN_TERMS, row.seq);
  const seq = yield* insert(COPY_KEY, row.seq, id, hash, start, atMs);
  yield* change(INSERT_TERMS, seq, row.meterSeq, row.seq, row.expiresAtMs, row.models);
  yield* change(EXPIRE, row.seq, Math.min(row.expiresAtMs ?? Number.POSITIVE_INFINITY, atMs + overlapMs));
  return { kind: "done", seq };
};

/**
 * @param notAddedUp condition on `transfer p`: it is not in `settled_spend_by_day` yet.
 * @param keysChanged called before known key policies change.
 */
export const prepareKeys = (dialect: Dialect, notAddedUp: string, keysChanged: () => void) => {
  const setLimits = prepareMeters(dialect, notAddedUp);
  const noteUse = noteUses(dialect);

  const create = function* (mutation: CreateKey): SqlProgram<AdminResult> {
    const { id, accountSeq, scope, name, hash, start, terms, atMs } = mutation;
    yield* requireFreeKey(accountSeq, atMs);
    const seq = yield* insert(INSERT_KEY, id, accountSeq, scope, name, hash, start, atMs);
    if (terms) {
      yield* change(INSERT_TERMS, seq, seq, null, terms.expiresAtMs, printed(terms.models));
      yield* setLimits(seq, terms.limits, atMs, true);
    }
    return { kind: "done", seq };
  };

  const set = function* ({ keyId, name, expiresAtMs, models, limits, atMs }: UpdateKey): SqlProgram<AdminResult> {
    const { seq, meterSeq, expiresAtMs: endedAtMs } = yield* changeable(keyId);
    const isOver = endedAtMs !== null && endedAtMs <= atMs;
    if (isOver && (expiresAtMs === null || (expiresAtMs ?? 0) > atMs)) yield* requireFreeKey(yield* accountOf(seq), atMs);
    yield* change(BEGIN_TERMS, seq);
    if (name !== undefined) yield* change("UPDATE api_key SET name = ?2 WHERE seq = ?1", seq, name);
    if (expiresAtMs !== undefined) yield* change(EXPIRE, seq, expiresAtMs);
    if (models !== undefined) yield* change("UPDATE api_key_policy SET models = ?2 WHERE key_seq = ?1", seq, printed(models));
    if (limits !== undefined) yield* setLimits(meterSeq, limits, atMs);
    return { kind: "done", seq };
  };

  return function* (mutation: KeyMutation): SqlProgram<AdminResult> {
    if (mutation.mutation === "note-key-use") {
      yield* change(noteUse, JSON.stringify(mutation.uses));
      return { kind: "done" };
    }
    if (mutation.mutation === "note-key-network") {
      const { keySeq, network, atMs } = mutation;
      if ((yield* change(NOTE_NETWORK, keySeq, network, atMs)) === 0) return { kind: "done" };
      return { kind: "done", of: (yield* first<{ id: string }>(ID_OF, keySeq))?.id ?? "" };
    }
    keysChanged();
    switch (mutation.mutation) {
      case "create-key":
        return yield* create(mutation);
      case "set-key":
        return yield* set(mutation);
      case "rotate-key":
        return yield* rotate(mutation);
      case "revoke-key": {
        const { keyId, atMs } = mutation;
        const revoked = yield* change(
          "UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE id = ?1",
          keyId,
          atMs,
        );
        if (revoked === 0) throw new MutationRejected(`there is no key ${keyId}`);
        return { kind: "done" };
      }
    }
  };
};
