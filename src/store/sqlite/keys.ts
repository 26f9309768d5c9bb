// The deeds about keys: made, changed, rotated, revoked, and when they were last used.
import type { Database } from "bun:sqlite";
import { DAY_MS, windowFrom } from "../../days.ts";
import type { CreateKeyDeed, NoteKeyUseDeed, OfficeOutcome, RevokeKeyDeed, RotateKeyDeed, SetKeyDeed } from "../../deeds.ts";
import { leastSeqAt } from "../../ids.ts";
import type { KeyLimits } from "../../terms.ts";
import type { Limits } from "./limits.ts";
import { DeedRefused } from "./refused.ts";

export type KeyDeed = CreateKeyDeed | SetKeyDeed | RotateKeyDeed | RevokeKeyDeed | NoteKeyUseDeed;

type KeyRow = {
  seq: number;
  meterSeq: number;
  expiresAtMs: number | null;
  models: string | null;
  revokedAtMs: number | null;
  successor: string | null;
};

const printed = (models: readonly string[] | null): string | null => (models === null ? null : JSON.stringify(models));

/** What a line of keys may spend, and what it has spent. */
const prepareMeters = (db: Database) => {
  const update = db.prepare(
    "UPDATE meter SET day_limit_credits = ?2, week_limit_credits = ?3, month_limit_credits = ?4 WHERE seq = ?1",
  );
  const select = db.prepare<KeyLimits, [number]>(
    "SELECT day_limit_credits AS day, week_limit_credits AS week, month_limit_credits AS month FROM meter WHERE seq = ?1",
  );
  const insert = db.prepare("INSERT INTO meter VALUES (?1, ?2, ?3, ?4, ?5)");
  // What has ended was added up by day; what was not yet, and what is open, is little. Row numbers rise with time.
  const sumUp = db.prepare(
    `WITH line AS (SELECT key_seq FROM key_terms WHERE meter_seq = ?1)
     INSERT INTO key_spend SELECT ?1, day, sum(credits) FROM (
       SELECT day, credits FROM key_ended WHERE key_seq IN line AND day >= ?3 / ${DAY_MS}
       UNION ALL SELECT g.created_at_ms / ${DAY_MS}, g.cost_credits FROM posting p CROSS JOIN generation g ON g.seq = p.generation_seq
         WHERE p.seq > coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'usage_up_to'), 0)
           AND p.kind = 'capture' AND g.created_at_ms >= ?3 AND g.key_seq IN line
       UNION ALL SELECT created_at_ms / ${DAY_MS}, reserved_credits FROM generation
         WHERE completed_at_ms IS NULL AND seq >= ?2 AND created_at_ms >= ?3 AND key_seq IN line
     ) GROUP BY day`,
  );
  /**
   * Windows that are not named keep their limit. A meter stays when all of them are taken away: summing up anew is work of the writer,
   * and whoever may change a key could have it done again and again. `isNew`: the key was made just now, and has spent nothing.
   */
  return (meterSeq: number, asked: Partial<KeyLimits>, atMs: number, isNew = false): void => {
    const known = select.get(meterSeq);
    const { day, week, month } = { ...(known ?? { day: null, week: null, month: null }), ...asked };
    if (known) {
      update.run(meterSeq, day, week, month);
      return;
    }
    if (day === null && week === null && month === null) return;
    const fromDay = Math.min(windowFrom("week", atMs), windowFrom("month", atMs));
    insert.run(meterSeq, fromDay, day, week, month);
    if (!isNew) sumUp.run(meterSeq, leastSeqAt(fromDay * DAY_MS), fromDay * DAY_MS);
  };
};

export const prepareKeys = (db: Database, limits: Limits) => {
  const setLimits = prepareMeters(db);
  const insertKey = db.prepare(
    "INSERT INTO api_key (id, account_seq, scope, name, hash, start, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
  );
  const insertTerms = db.prepare("INSERT INTO key_terms VALUES (?1, ?2, ?3, ?4, ?5)");
  const beginTerms = db.prepare("INSERT OR IGNORE INTO key_terms (key_seq, meter_seq) VALUES (?1, ?1)");
  const selectKey = db.prepare<KeyRow, [string]>(
    `SELECT k.seq, coalesce(t.meter_seq, k.seq) AS meterSeq, t.expires_at_ms AS expiresAtMs, t.models, k.revoked_at_ms AS revokedAtMs,
       (SELECT s.id FROM key_terms n JOIN api_key s ON s.seq = n.key_seq WHERE n.rotated_from = k.seq) AS successor
     FROM api_key k LEFT JOIN key_terms t ON t.key_seq = k.seq WHERE k.id = ?1`,
  );
  const rename = db.prepare("UPDATE api_key SET name = ?2 WHERE seq = ?1");
  const expire = db.prepare("UPDATE key_terms SET expires_at_ms = ?2 WHERE key_seq = ?1");
  const setModels = db.prepare("UPDATE key_terms SET models = ?2 WHERE key_seq = ?1");
  const copyKey = db.prepare(
    `INSERT INTO api_key (id, account_seq, scope, name, hash, start, created_at_ms)
     SELECT ?2, account_seq, scope, name, ?3, ?4, ?5 FROM api_key WHERE seq = ?1`,
  );
  const revokeKey = db.prepare("UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE id = ?1");
  const noteUse = db.prepare(
    `INSERT INTO key_use VALUES (?1, ?2)
     ON CONFLICT (key_seq) DO UPDATE SET last_used_at_ms = max(last_used_at_ms, excluded.last_used_at_ms)`,
  );

  /** A key that can be changed. @throws DeedRefused */
  const changeable = (id: string): KeyRow => {
    const row = selectKey.get(id);
    if (!row) throw new DeedRefused(`there is no key ${id}`);
    if (row.revokedAtMs !== null) throw new DeedRefused(`the key ${id} was revoked; make a new one`);
    return row;
  };

  const create = ({ id, accountSeq, scope, name, hash, start, terms, atMs }: CreateKeyDeed): OfficeOutcome => {
    const seq = Number(insertKey.run(id, accountSeq, scope, name, hash, start, atMs).lastInsertRowid);
    if (terms) {
      insertTerms.run(seq, seq, null, terms.expiresAtMs, printed(terms.models));
      setLimits(seq, terms.limits, atMs, true);
    }
    return { kind: "done", seq };
  };

  const set = ({ keyId, name, expiresAtMs, models, limits: asked, atMs }: SetKeyDeed): OfficeOutcome => {
    const { seq, meterSeq } = changeable(keyId);
    beginTerms.run(seq);
    if (name !== undefined) rename.run(seq, name);
    if (expiresAtMs !== undefined) expire.run(seq, expiresAtMs);
    if (models !== undefined) setModels.run(seq, printed(models));
    if (asked !== undefined) setLimits(meterSeq, asked, atMs);
    return { kind: "done", seq };
  };

  const rotate = ({ keyId, overlapMs, id, hash, start, atMs }: RotateKeyDeed): OfficeOutcome => {
    const row = changeable(keyId);
    if (row.successor !== null) throw new DeedRefused(`the key ${keyId} was rotated to ${row.successor}; rotate that one`);
    if (row.expiresAtMs !== null && row.expiresAtMs <= atMs)
      throw new DeedRefused(`the key ${keyId} has expired; make a new one`);
    beginTerms.run(row.seq);
    const seq = Number(copyKey.run(row.seq, id, hash, start, atMs).lastInsertRowid);
    insertTerms.run(seq, row.meterSeq, row.seq, row.expiresAtMs, row.models);
    expire.run(row.seq, Math.min(row.expiresAtMs ?? Number.POSITIVE_INFINITY, atMs + overlapMs));
    return { kind: "done", seq };
  };

  return (deed: KeyDeed): OfficeOutcome => {
    if (deed.deed === "note-key-use") {
      for (const [keySeq, atMs] of deed.uses) noteUse.run(keySeq, atMs);
      return { kind: "done" };
    }
    limits.forget();
    switch (deed.deed) {
      case "create-key":
        return create(deed);
      case "set-key":
        return set(deed);
      case "rotate-key":
        return rotate(deed);
      case "revoke-key":
        if (revokeKey.run(deed.keyId, deed.atMs).changes === 0) throw new DeedRefused(`there is no key ${deed.keyId}`);
        return { kind: "done" };
    }
  };
};
