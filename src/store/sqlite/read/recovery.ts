// Reads what a restart needs: generations not ended, their journals and snapshots, route health, time, secrets, mode.
import type { Database } from "bun:sqlite";
import { createHmac } from "node:crypto";
import type { Unfinished } from "../../../deeds.ts";
import { msOfGenerationSeq } from "../../../ids.ts";
import { Recent } from "../../../recent.ts";
import type { Command, PlannedRoute } from "../../../terms.ts";
import type { JournalLine, StoreReads } from "../../store.ts";
import { TAKEN_AT, UP_TO_SEQ } from "../restored.ts";

type Reads = Pick<
  StoreReads,
  | "unfinished"
  | "journalOf"
  | "snapshotOf"
  | "planOf"
  | "routeHealth"
  | "lastSeenMs"
  | "restored"
  | "recoveryNote"
  | "secret"
  | "mode"
>;

type OpenRow = {
  seq: number;
  id: string;
  account_seq: number;
  status: "queued" | "running";
  created_at_ms: number;
  wait_ends_at_ms: number;
  plan_seq: number;
  version: number | null;
  snapshot: string | null;
  due_kind: Command["kind"] | null;
  due_n: number | null;
  due_at_ms: number | null;
};

/** The deadline of a row, as the view `command` shows it. */
const deadlineOf = ({ snapshot, wait_ends_at_ms, due_kind, due_n, due_at_ms }: OpenRow): Command | null => {
  if (snapshot === null) return { kind: "start", n: 0, dueAtMs: wait_ends_at_ms };
  return due_kind === null ? null : { kind: due_kind, n: due_n ?? 0, dueAtMs: due_at_ms ?? 0 };
};

/** Plans remembered: thousands of generations have the same. */
const PLANS_AT_LEAST = 1_000;
const preparePlans = (db: Database) => {
  const select = db.prepare<{ routes: string }, [number]>("SELECT routes FROM plan WHERE seq = ?1");
  const known = new Recent<number, readonly PlannedRoute[]>(PLANS_AT_LEAST);
  return (seq: number): readonly PlannedRoute[] => {
    const before = known.get(seq);
    if (before) return before;
    const row = select.get(seq);
    if (!row) throw new Error(`the database has no plan ${seq}`);
    const plan = JSON.parse(row.routes) as PlannedRoute[];
    known.set(seq, plan);
    return plan;
  };
};

export const prepareRecoveryReads = (db: Database): Reads => {
  // The partial index of what has not ended: the cost is that of the page, however much is stored.
  const open = db.prepare<OpenRow, [number, number]>(
    `SELECT g.seq, g.id, g.account_seq, g.status, g.created_at_ms, g.wait_ends_at_ms, g.plan_seq, s.version, s.snapshot, s.due_kind, s.due_n, s.due_at_ms
     FROM generation g INDEXED BY generation_open LEFT JOIN snapshot s ON s.seq = g.seq
     WHERE g.completed_at_ms IS NULL AND g.seq > ?1 ORDER BY g.seq LIMIT ?2`,
  );
  const journal = db.prepare<{ version: number; at_ms: number; event: string; state_after: string }, [number]>(
    "SELECT version, at_ms, event, state_after FROM journal WHERE seq = ?1 ORDER BY version",
  );
  const snapshot = db.prepare<{ version: number; snapshot: string }, [number]>(
    "SELECT version, snapshot FROM snapshot WHERE seq = ?1",
  );
  const health = db.prepare<{ route_id: string; snapshot: string }, []>("SELECT route_id, snapshot FROM route_health");
  const meta = db.prepare<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?1");
  const newest = db.prepare<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation");
  const agreed = db.prepare<{ plan_seq: number; wait_ends_at_ms: number }, [number]>(
    "SELECT plan_seq, wait_ends_at_ms FROM generation WHERE seq = ?1",
  );
  const planAt = preparePlans(db);
  const metaValue = (name: string): string => {
    const row = meta.get(name);
    if (!row) throw new Error(`the database has no ${name}`);
    return row.value;
  };

  return {
    unfinished: async (afterSeq, limit) =>
      open.all(afterSeq, limit).map(
        (row): Unfinished => ({
          seq: row.seq,
          id: row.id,
          accountSeq: row.account_seq,
          status: row.status,
          createdAtMs: row.created_at_ms,
          waitEndsAtMs: row.wait_ends_at_ms,
          plan: planAt(row.plan_seq),
          version: row.version ?? 0,
          snapshot: row.snapshot,
          deadline: deadlineOf(row),
        }),
      ),
    journalOf: async (seq) =>
      journal.all(seq).map((row) => ({
        version: row.version,
        atMs: row.at_ms,
        event: JSON.parse(row.event) as JournalLine["event"],
        stateAfter: row.state_after,
      })),
    snapshotOf: async (seq) => snapshot.get(seq) ?? undefined,
    planOf: async (seq) => {
      const row = agreed.get(seq);
      return row ? { plan: planAt(row.plan_seq), waitEndsAtMs: row.wait_ends_at_ms } : undefined;
    },
    routeHealth: async () => new Map(health.all().map((row) => [row.route_id, row.snapshot])),
    lastSeenMs: async () => {
      const newestSeq = newest.get()?.seq;
      return Math.max(Number(metaValue("last_seen_ms")), typeof newestSeq === "number" ? msOfGenerationSeq(newestSeq) : 0);
    },
    restored: async () => {
      const [takenAt, upTo] = [meta.get(TAKEN_AT), meta.get(UP_TO_SEQ)];
      return takenAt && upTo ? { takenAtMs: Number(takenAt.value), upToSeq: Number(upTo.value) } : null;
    },
    recoveryNote: async () => meta.get("recovery")?.value ?? null,
    secret: async (name) =>
      createHmac("sha256", Buffer.from(metaValue("secret"), "hex"))
        .update(name)
        .digest("hex"),
    mode: async () => (metaValue("mode") === "test" ? "test" : "live"),
  };
};
