// Reads what a restart needs: generations not ended, their journals and snapshots, route health, time, secrets, mode.
import type { Database } from "bun:sqlite";
import { createHmac } from "node:crypto";
import type { Unfinished } from "../../../deeds.ts";
import { msOfGenerationSeq } from "../../../ids.ts";
import type { Command, PlannedRoute } from "../../../terms.ts";
import type { JournalLine, StoreReads } from "../../store.ts";
import { prepareLatestAttempt } from "./attempts.ts";

type Reads = Pick<
  StoreReads,
  "unfinished" | "journalOf" | "snapshotOf" | "routeHealth" | "lastSeenMs" | "recoveryNote" | "secret" | "mode"
>;

type OpenRow = {
  seq: number;
  id: string;
  account_seq: number;
  status: "queued" | "running";
  created_at_ms: number;
  wait_ends_at_ms: number;
  plan: string;
  version: number | null;
  snapshot: string | null;
};

export const prepareRecoveryReads = (db: Database): Reads => {
  // The partial index of what has not ended: the cost is that of the page, however much is stored.
  const open = db.prepare<OpenRow, [number, number]>(
    `SELECT g.seq, g.id, g.account_seq, g.status, g.created_at_ms, g.wait_ends_at_ms, p.plan, s.version, s.snapshot
     FROM generation g INDEXED BY generation_open JOIN submission p ON p.seq = g.seq LEFT JOIN snapshot s ON s.seq = g.seq
     WHERE g.completed_at_ms IS NULL AND g.seq > ?1 ORDER BY g.seq LIMIT ?2`,
  );
  const commands = db.prepare<Command & { seq: number }, [number, number]>(
    "SELECT seq, kind, n, due_at_ms AS dueAtMs FROM command WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq, due_at_ms",
  );
  const latestAttempt = prepareLatestAttempt(db);
  const journal = db.prepare<{ version: number; at_ms: number; event: string; state_after: string }, [number]>(
    "SELECT version, at_ms, event, state_after FROM journal WHERE seq = ?1 ORDER BY version",
  );
  const snapshot = db.prepare<{ version: number; snapshot: string }, [number]>(
    "SELECT version, snapshot FROM snapshot WHERE seq = ?1",
  );
  const health = db.prepare<{ route_id: string; snapshot: string }, []>("SELECT route_id, snapshot FROM route_health");
  const meta = db.prepare<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?1");
  const newest = db.prepare<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation");
  const metaValue = (name: string): string => {
    const row = meta.get(name);
    if (!row) throw new Error(`the database has no ${name}`);
    return row.value;
  };

  return {
    unfinished: async (afterSeq, limit) => {
      const rows = open.all(afterSeq, limit);
      const first = rows[0];
      const last = rows.at(-1);
      if (!first || !last) return [];
      const bySeq = new Map<number, Command[]>();
      for (const { seq, ...command } of commands.all(first.seq, last.seq)) {
        const known = bySeq.get(seq);
        if (known) known.push(command);
        else bySeq.set(seq, [command]);
      }
      return rows.map(
        (row): Unfinished => ({
          seq: row.seq,
          id: row.id,
          accountSeq: row.account_seq,
          status: row.status,
          createdAtMs: row.created_at_ms,
          waitEndsAtMs: row.wait_ends_at_ms,
          plan: JSON.parse(row.plan) as PlannedRoute[],
          version: row.version ?? 0,
          snapshot: row.snapshot,
          commands: bySeq.get(row.seq) ?? [],
          // A generation without a snapshot has made no step, so it has no attempt.
          attempt: row.version === null ? null : latestAttempt(row.seq),
        }),
      );
    },
    journalOf: async (seq) =>
      journal.all(seq).map((row) => ({
        version: row.version,
        atMs: row.at_ms,
        event: JSON.parse(row.event) as JournalLine["event"],
        stateAfter: row.state_after,
      })),
    snapshotOf: async (seq) => snapshot.get(seq) ?? undefined,
    routeHealth: async () => new Map(health.all().map((row) => [row.route_id, row.snapshot])),
    lastSeenMs: async () => {
      const newestSeq = newest.get()?.seq;
      return Math.max(Number(metaValue("last_seen_ms")), typeof newestSeq === "number" ? msOfGenerationSeq(newestSeq) : 0);
    },
    recoveryNote: async () => meta.get("recovery")?.value ?? null,
    secret: async (name) =>
      createHmac("sha256", Buffer.from(metaValue("secret"), "hex"))
        .update(name)
        .digest("hex"),
    mode: async () => (metaValue("mode") === "test" ? "test" : "live"),
  };
};
