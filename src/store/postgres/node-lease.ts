// Node leases: a node owns its generations while its lease has not expired.
//
// The database's clock decides. Other nodes end nodes with expired leases and reclaim their generations.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { SLOTS } from "../../domain/ids.ts";
import type { ClusterState } from "../cluster-port.ts";
import { WrongMode } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import type { Mode } from "../store.ts";
import { type Connection, together } from "./connections.ts";
import { LOCK_OPENING, migrate } from "./migrate.ts";
import { requireComplete } from "./migration-marker.ts";
import { ownerOf } from "./ownership.ts";

/** An opening: its epoch, its id range, and the newest existing numbers. */
export type Opening = {
  epoch: number;
  slot: number;
  newestGeneration: number;
  newestTransfer: number;
  newestDelivery: number;
  /** Set if the schema was migrated to this release. */
  migrated?: Migrated | undefined;
};

/** Epoch and time of the former opening in the same directory. */
export type PreviousLease = { epoch: number; openedAtMs: number };

/** `isVisit`: a command that opens the store briefly. */
export type OpeningOptions = {
  mode: Mode | undefined;
  nowMs: number;
  leaseMs: number;
  former?: PreviousLease | undefined;
  isVisit?: boolean | undefined;
};

const MODE_TEXT = { test: "for the simulator (--simulate)", live: "for real providers" } as const;

/** Ends owners with expired leases; an owner with a running transaction is left for the next time. */
const endDead = (by: string, which: string): string => `WITH dead AS (SELECT o.epoch FROM lease l JOIN node o ON o.epoch = l.epoch
    WHERE ${which} AND o.ended_at_ms IS NULL FOR UPDATE OF o, l SKIP LOCKED),
  gone AS (DELETE FROM lease WHERE epoch IN (SELECT epoch FROM dead))
  UPDATE node SET ended_at_ms = now_ms(), fenced_by = ${by} WHERE epoch IN (SELECT epoch FROM dead) RETURNING epoch`;
/**
 * For a running node whose own lease was renewed at most half a lease ago by the database's clock. A delayed statement, or one
 * after a suspended server, then ends no node before the other renewals arrive.
 */
const END_DEAD = endDead(
  "CAST(?1 AS bigint)",
  `l.ends_at_ms < now_ms() AND EXISTS (SELECT 1 FROM lease mine
    WHERE mine.epoch = CAST(?1 AS bigint) AND mine.ends_at_ms >= now_ms() + CAST(?2 AS bigint) / 2)`,
);
/**
 * For a node that opens and finds no free id range. Otherwise it ends no node before it has renewed its lease for a while. After
 * an outage the other nodes reconnect at the same time, with provider responses on their disks.
 */
const END_LONG_DEAD = endDead("NULL", "l.ends_at_ms + CAST(?1 AS bigint) < now_ms()");
/** The former opening of this directory, whose process is certainly dead, because this process holds the directory lock. */
const END_FORMER = endDead("NULL", "o.epoch = ?1 AND o.opened_at_ms = ?2 AND o.host = ?3");
const ENDED_BY = "UPDATE node SET fenced_by = ?1 WHERE epoch = ?2";
/** Ends all expired owners; they can neither renew nor write any more. */
export const endAllDead = async (line: Connection): Promise<void> => void (await line.send(END_LONG_DEAD, 0));
const FREE_SLOT = `SELECT min(s.slot) AS slot FROM generate_series(0, ${SLOTS - 1}) AS s (slot)
  WHERE NOT EXISTS (SELECT 1 FROM node o WHERE o.slot = s.slot AND o.ended_at_ms IS NULL)`;

/**
 * Prepares a database and opens an epoch in one transaction: schema, mode, secret, owner row and lease.
 * @throws StoreMigrated, WrongMode, WrongSchema.
 */
export const acquireLease = async (
  line: Connection,
  { mode, nowMs, leaseMs, former, isVisit = false }: OpeningOptions,
): Promise<Opening> => {
  await line.script("BEGIN; SET LOCAL lock_timeout = '60s'");
  await line.send(LOCK_OPENING);
  await requireComplete(line);
  const migrated = await migrate(line, nowMs);
  const put = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO NOTHING";
  await line.send(put, "mode", mode ?? "live");
  // Every secret is derived from this one by name, so that reading a new one never writes.
  await line.send(put, "secret", randomBytes(32).toString("hex"));
  await line.send(put, "created_at_ms", String(nowMs));
  await line.send(put, "last_seen_ms", "0");
  await line.send(put, "admin", "0");
  const made = (await line.send<{ value: Mode }>("SELECT value FROM meta WHERE name = 'mode'")).rows[0]?.value;
  if (made && mode && made !== mode)
    throw new WrongMode(`the database was created ${MODE_TEXT[made]} and cannot be used ${MODE_TEXT[mode]}; use another one`);
  const dead: number[] = [];
  if (former) {
    const { rows } = await line.send<{ epoch: number }>(END_FORMER, former.epoch, former.openedAtMs, hostname());
    dead.push(...rows.map(({ epoch }) => epoch));
  }
  const freeSlot = async () => (await line.send<{ slot: number | null }>(FREE_SLOT)).rows[0]?.slot ?? null;
  const slotAfter = async (moreMs: number): Promise<number | null> => {
    const { rows } = await line.send<{ epoch: number }>(END_LONG_DEAD, moreMs);
    dead.push(...rows.map(({ epoch }) => epoch));
    return await freeSlot();
  };
  const slot = (await freeSlot()) ?? (await slotAfter(leaseMs)) ?? (await slotAfter(0));
  if (slot === null) throw new Error(`${SLOTS} nodes are open over this database, and there may not be more`);
  const { rows } = await line.send<{ epoch: number }>(
    "INSERT INTO node (pid, host, opened_at_ms, slot, is_temporary) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING epoch",
    ...[process.pid, hostname(), nowMs, slot, isVisit ? 1 : 0],
  );
  const epoch = rows[0]?.epoch ?? 0;
  await line.send("INSERT INTO lease (epoch, ends_at_ms) VALUES (?1, now_ms() + ?2)", epoch, leaseMs);
  for (const one of dead) await line.send(ENDED_BY, epoch, one);
  // Reclaims the generations of the former process in the same transaction, because its responses are on this node's disk.
  if (former) await line.send(CLAIM_FORMER, epoch, ALL, former.epoch);
  const newest = await line.send<{ generation: number | null; transfer: number | null; delivery: number | null }>(
    `SELECT (SELECT max(seq) FROM generation) AS generation, (SELECT max(seq) FROM transfer) AS transfer,
      (SELECT max(seq) FROM webhook_delivery) AS delivery`,
  );
  // Its own transfers have higher numbers.
  await line.send("INSERT INTO usage_progress (epoch, up_to_seq) VALUES (?1, ?2)", epoch, newest.rows[0]?.transfer ?? 0);
  await line.script("COMMIT");
  const { generation, transfer, delivery } = newest.rows[0] ?? { generation: null, transfer: null, delivery: null };
  return {
    ...{ epoch, slot, newestGeneration: generation ?? 0, newestTransfer: transfer ?? 0, newestDelivery: delivery ?? 0 },
    migrated,
  };
};

const RENEW = "UPDATE lease SET ends_at_ms = now_ms() + CAST(?2 AS bigint), is_draining = ?3 WHERE epoch = ?1";
const SELECT_STATE = `SELECT now_ms() AS now, (SELECT count(*) FROM lease) AS alive, (SELECT count(*) FROM lease WHERE is_draining = 0 AND epoch <> ?1) AS others, (SELECT min(epoch) FROM lease) AS first,
  (SELECT value FROM meta WHERE name = 'admin') AS news,
  CASE WHEN EXISTS (SELECT 1 FROM callback_inbox) THEN 1 ELSE 0 END AS hints,
  CASE WHEN EXISTS (SELECT 1 FROM node WHERE ended_at_ms IS NOT NULL AND has_open_generations = 1) THEN 1 ELSE 0 END AS left_behind`;

/** Timeout of a renewal in milliseconds, so that a retry fits into the lease. */
const MAX_CHECK_MS = 10_000;
const SHORTEST_CHECK_MS = 1000;
const CHECK_PART = 1 / 4;
export const renewalTimeoutMs = (leaseMs: number): number =>
  Math.min(leaseMs, MAX_CHECK_MS, Math.max(SHORTEST_CHECK_MS, leaseMs * CHECK_PART));

/**
 * For how long a node has renewed its lease without a gap. If the database was unreachable for a node, the node cannot determine
 * whether it was reachable for others.
 */
export type Streak = {
  /** Whether it may end others: it has renewed repeatedly for a while, and recently. */
  isLong(): boolean;
  /** The lease was renewed now. */
  renewed(): void;
};

/** Maximum gap between two renewals as a fraction of the lease; the others had at least as much left. */
const GAP_PART = 1 / 2;
/**
 * After an outage, this fraction of the lease is left for the others to return; with renewals and takeovers it stays below one
 * lease.
 */
const STREAK_PART = 1 / 3;

/** @param monoMs monotonic time that also passes during a suspension. A streak starts with the opening. */
export const createRenewalStreak = (leaseMs: number, monoMs: () => number): Streak => {
  let sinceMs = monoMs();
  let lastMs = sinceMs;
  const isBroken = () => monoMs() - lastMs > leaseMs * GAP_PART;
  return {
    isLong: () => !isBroken() && lastMs - sinceMs >= leaseMs * STREAK_PART,
    renewed: () => {
      if (isBroken()) sinceMs = monoMs();
      lastMs = monoMs();
    },
  };
};

/**
 * Renews the lease of a node, ends expired owners if allowed, and reads the state of the cluster.
 * @returns null if another node has ended this owner.
 */
export const renewLease = async (
  line: Connection,
  { epoch, leaseMs, isLeaving, endsOthers }: { epoch: number; leaseMs: number; isLeaving: boolean; endsOthers: boolean },
): Promise<ClusterState | null> => {
  // Sent before the renewal, because the old lease shows whether the database was reachable meanwhile.
  const ending = endsOthers ? line.send<{ epoch: number }>(END_DEAD, epoch, leaseMs) : Promise.resolve(null);
  const [dead, { changes }, { rows }] = await together([
    ending,
    line.send(RENEW, epoch, leaseMs, isLeaving ? 1 : 0),
    line.send<{ now: number; alive: number; others: number; first: number; news: string; hints: number; left_behind: number }>(
      SELECT_STATE,
      epoch,
    ),
  ] as const);
  const [found] = rows;
  if (changes === 0 || !found) return null;
  const ended = (dead?.rows ?? []).map((row) => row.epoch);
  const { now, alive, others, first, news, hints, left_behind } = found;
  return {
    apartMs: now - Date.now(),
    alive,
    others,
    isFirst: first === epoch,
    news,
    hasHints: hints === 1,
    isAnythingLeft: left_behind === 1,
    ended,
  };
};

/** Ends this owner voluntarily, so that others take over immediately. */
export const resign = async (line: Connection, epoch: number): Promise<void> => {
  await line.script("BEGIN");
  await line.send("DELETE FROM lease WHERE epoch = ?1", epoch);
  await line.send("UPDATE node SET ended_at_ms = now_ms() WHERE epoch = ?1 AND ended_at_ms IS NULL", epoch);
  await line.script("COMMIT");
};

/**
 * Reclaims generations of ended owners, and ended generations with watched attempts. An ended owner has no running transaction,
 * so no other node writes them. A concurrent takeover conflicts on the claim number.
 */
const claimOf = (which: string): string => `WITH left_behind AS (SELECT g.seq FROM generation g
    WHERE g.seq IN (SELECT seq FROM generation WHERE completed_at_ms IS NULL UNION SELECT generation_seq FROM attempt WHERE watch_until_ms IS NOT NULL)
    AND EXISTS (SELECT 1 FROM node o WHERE o.epoch = ${ownerOf("g")} AND o.ended_at_ms IS NOT NULL${which})
    ORDER BY g.seq LIMIT ?2 FOR NO KEY UPDATE OF g SKIP LOCKED)
  INSERT INTO ownership_change (generation_seq, change_no, epoch, from_version, at_ms) SELECT l.seq,
    coalesce((SELECT max(c.change_no) FROM ownership_change c WHERE c.generation_seq = l.seq), 0) + 1, CAST(?1 AS bigint),
    coalesce((SELECT s.version FROM snapshot s WHERE s.generation_seq = l.seq), (SELECT max(j.version) FROM generation_event j WHERE j.generation_seq = l.seq), 0), now_ms()
    FROM left_behind l
  ON CONFLICT (generation_seq, change_no) DO NOTHING RETURNING generation_seq AS seq`;
const CLAIM = claimOf("");
const CLAIM_FORMER = claimOf(" AND o.epoch = ?3");
const ALL = 1_000_000_000;
const SETTLE = `UPDATE node o SET has_open_generations = 0 WHERE o.ended_at_ms IS NOT NULL AND o.has_open_generations = 1 AND NOT EXISTS (SELECT 1 FROM generation g
  WHERE g.seq IN (SELECT seq FROM generation WHERE completed_at_ms IS NULL UNION SELECT generation_seq FROM attempt WHERE watch_until_ms IS NOT NULL)
  AND ${ownerOf("g")} = o.epoch)`;

/** @returns the generations that belong to this owner now. */
export const claim = async (line: Connection, epoch: number, limit: number): Promise<number[]> => {
  const { rows } = await line.send<{ seq: number }>(CLAIM, epoch, limit);
  // Generations that other nodes are reclaiming now are checked again later.
  if (rows.length === 0) await line.send(SETTLE);
  return rows.map(({ seq }) => seq);
};

/** Takes over pending webhook deliveries of ended nodes. @returns their number. */
export const claimWebhooks = async (line: Connection, epoch: number, limit: number): Promise<number> => {
  const { changes } = await line.send(
    `UPDATE webhook_delivery SET epoch = ?1 WHERE seq IN (SELECT d.seq FROM node n JOIN webhook_delivery d ON d.epoch = n.epoch
      WHERE n.ended_at_ms IS NOT NULL AND d.state = 'pending' ORDER BY d.seq LIMIT ?2 FOR NO KEY UPDATE OF d SKIP LOCKED)`,
    ...[epoch, limit],
  );
  return changes;
};
