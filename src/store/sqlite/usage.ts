// What generations came to by day, account, key and model, and what keys spent: added up behind the postings that ended them, some at a time.
import type { Database } from "bun:sqlite";
import { dayOf, waitBucket } from "../../days.ts";
import type { OfficeOutcome, RollUpUsageDeed } from "../../deeds.ts";

type Ended = {
  accountSeq: number;
  keySeq: number;
  model: string;
  succeeded: number;
  costCredits: number;
  createdAtMs: number;
  completedAtMs: number;
};
type Spent = { keySeq: number; day: number; credits: number };
type Sum = { key: readonly [number, number, number, string, number]; sums: [number, number, number, number] };

export const prepareUsage = (db: Database) => {
  const selectMark = db.prepare<{ upTo: number }, []>(
    "SELECT CAST(value AS INTEGER) AS upTo FROM meta WHERE name = 'usage_up_to'",
  );
  const setMark = db.prepare(
    "INSERT INTO meta VALUES ('usage_up_to', CAST(?1 AS TEXT)) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );
  const selectEnd = db.prepare<{ upTo: number | null }, [number, number]>(
    "SELECT max(seq) AS upTo FROM (SELECT seq FROM posting WHERE seq > ?1 ORDER BY seq LIMIT ?2)",
  );
  // A success has one capture, and perhaps a release of the rest; a failure has one release.
  const selectEnded = db.prepare<Ended, [number, number]>(
    `SELECT g.account_seq AS accountSeq, g.key_seq AS keySeq, g.model, g.status = 'succeeded' AS succeeded, g.cost_credits AS costCredits,
       g.created_at_ms AS createdAtMs, g.completed_at_ms AS completedAtMs FROM posting p CROSS JOIN generation g ON g.seq = p.generation_seq
     WHERE p.seq > ?1 AND p.seq <= ?2 AND (p.kind = 'capture' OR g.status = 'failed')`,
  );
  const add = db.prepare(
    `INSERT INTO usage_day VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (day, account_seq, key_seq, model, wait) DO UPDATE SET
       succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
       charged_credits = charged_credits + excluded.charged_credits, wait_ms = wait_ms + excluded.wait_ms`,
  );
  const addSpent = db.prepare(
    "INSERT INTO key_ended VALUES (?1, ?2, ?3) ON CONFLICT (key_seq, day) DO UPDATE SET credits = credits + excluded.credits",
  );
  return ({ limit }: RollUpUsageDeed): OfficeOutcome => {
    const from = selectMark.get()?.upTo ?? 0;
    const upTo = selectEnd.get(from, limit)?.upTo;
    if (typeof upTo !== "number") return { kind: "done", seq: from };
    // Added up here first: the rows of a day are few, and each is then written once.
    const sums = new Map<string, Sum>();
    const spent = new Map<string, Spent>();
    for (const one of selectEnded.iterate(from, upTo)) {
      const waitMs = one.completedAtMs - one.createdAtMs;
      const key = [dayOf(one.completedAtMs), one.accountSeq, one.keySeq, one.model, waitBucket(waitMs)] as const;
      const name = key.join(" ");
      const sum = sums.get(name) ?? { key, sums: [0, 0, 0, 0] };
      sum.sums[0] += one.succeeded;
      sum.sums[1] += 1 - one.succeeded;
      sum.sums[2] += one.costCredits;
      sum.sums[3] += waitMs;
      sums.set(name, sum);
      if (one.costCredits === 0) continue;
      // Limits count by the day of the submission, usage by that of the end.
      const { keySeq } = one;
      const day = dayOf(one.createdAtMs);
      const before = spent.get(`${keySeq} ${day}`)?.credits ?? 0;
      spent.set(`${keySeq} ${day}`, { keySeq, day, credits: before + one.costCredits });
    }
    for (const sum of sums.values()) add.run(...sum.key, ...sum.sums);
    for (const { keySeq, day, credits } of spent.values()) addSpent.run(keySeq, day, credits);
    setMark.run(upTo);
    return { kind: "done", seq: upTo };
  };
};
