// Owners: each node is one from its opening on, as long as its lease runs by the database's clock; what a dead one owned is taken over.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { SLOTS } from "../../domain/ids.ts";
import type { Surroundings } from "../cluster-port.ts";
import { WrongMode } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import type { Mode } from "../store.ts";
import { type Connection, together } from "./connections.ts";
import { LOCK_OPENING, migrate } from "./migrate.ts";
import { requireComplete } from "./migration-marker.ts";
import { ownerOf } from "./ownership.ts";

/** An opening: its number, its share of the row numbers, and the newest numbers that there are. */
export type Opening = {
  epoch: number;
  slot: number;
  newestGeneration: number;
  newestPosting: number;
  /** The schema was brought to this release's. */
  migrated?: Migrated | undefined;
};

/** Who opened before in the same directory: its number, and when it did. */
export type PreviousLease = { epoch: number; openedAtMs: number };

/** `isVisit`: a command that is here for a moment, and no node of the service. */
export type OpeningOptions = {
  mode: Mode | undefined;
  nowMs: number;
  leaseMs: number;
  former?: PreviousLease | undefined;
  isVisit?: boolean | undefined;
};

const SPOKEN = { test: "for the simulator (--simulate)", live: "for real providers" } as const;

/** Ends owners whose leases have run out; one whose transaction is under way is left to the next time. */
const endDead = (
  by: string,
  which: string,
): string => `WITH dead AS (SELECT o.epoch FROM lease l JOIN owner o ON o.epoch = l.epoch
    WHERE ${which} AND o.ended_at_ms IS NULL FOR UPDATE OF o, l SKIP LOCKED),
  gone AS (DELETE FROM lease WHERE epoch IN (SELECT epoch FROM dead))
  UPDATE owner SET ended_at_ms = now_ms(), fenced_by = ${by} WHERE epoch IN (SELECT epoch FROM dead) RETURNING epoch`;
/**
 * Those of a node whose own lease was renewed half a lease ago at most, by the database's clock: what was held up on its way, or by a server
 * that stood still, ends nobody when it gets through before what the others have sent.
 */
const END_DEAD = endDead(
  "CAST(?1 AS bigint)",
  `l.ends_at_ms < now_ms() AND EXISTS (SELECT 1 FROM lease mine
    WHERE mine.epoch = CAST(?1 AS bigint) AND mine.ends_at_ms >= now_ms() + CAST(?2 AS bigint) / 2)`,
);
/**
 * Those of a node that opens and finds no share of the numbers free. Else it ends nobody before it has renewed its lease for a while: it cannot
 * know whether the others could, and after an outage they wait at the same door, with answers of providers on their disks.
 */
const END_LONG_DEAD = endDead("NULL", "l.ends_at_ms + CAST(?1 AS bigint) < now_ms()");
/** The one that a process opened which is dead for certain: another holds its directory now. */
const END_FORMER = endDead("NULL", "o.epoch = ?1 AND o.opened_at_ms = ?2 AND o.host = ?3");
const ENDED_BY = "UPDATE owner SET fenced_by = ?1 WHERE epoch = ?2";
/** All that are dead by now: they cannot renew their leases any more, nor write. */
export const endAllDead = async (line: Connection): Promise<void> => void (await line.send(END_LONG_DEAD, 0));
const FREE_SLOT = `SELECT min(s.slot) AS slot FROM generate_series(0, ${SLOTS - 1}) AS s (slot)
  WHERE NOT EXISTS (SELECT 1 FROM owner o WHERE o.slot = s.slot AND o.ended_at_ms IS NULL)`;

/**
 * Makes a database ready and opens an epoch in it, in one transaction: schema, mode, secret, the row of the owner and its lease.
 * @throws Moved, WrongMode, WrongSchema.
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
    throw new WrongMode(`the database was made ${SPOKEN[made]} and cannot be used ${SPOKEN[mode]}; use another one`);
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
    "INSERT INTO owner (pid, host, opened_at_ms, slot, is_visit) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING epoch",
    ...[process.pid, hostname(), nowMs, slot, isVisit ? 1 : 0],
  );
  const epoch = rows[0]?.epoch ?? 0;
  await line.send("INSERT INTO lease (epoch, ends_at_ms) VALUES (?1, now_ms() + ?2)", epoch, leaseMs);
  for (const one of dead) await line.send(ENDED_BY, epoch, one);
  // With its end, before anybody else can: what its former process had in hand is on this node's disk.
  if (former) await line.send(CLAIM_FORMER, epoch, ALL, former.epoch);
  const newest = await line.send<{ generation: number | null; posting: number | null }>(
    "SELECT (SELECT max(seq) FROM generation) AS generation, (SELECT max(seq) FROM posting) AS posting",
  );
  // Its own postings have greater numbers.
  await line.send("INSERT INTO usage_mark (epoch, up_to_seq) VALUES (?1, ?2)", epoch, newest.rows[0]?.posting ?? 0);
  await line.script("COMMIT");
  const { generation, posting } = newest.rows[0] ?? { generation: null, posting: null };
  return { epoch, slot, newestGeneration: generation ?? 0, newestPosting: posting ?? 0, migrated };
};

const RENEW = "UPDATE lease SET ends_at_ms = now_ms() + CAST(?2 AS bigint), leaving = ?3 WHERE epoch = ?1";
const LOOK = `SELECT now_ms() AS now, (SELECT count(*) FROM lease) AS alive, (SELECT count(*) FROM lease WHERE leaving = 0 AND epoch <> ?1) AS others, (SELECT min(epoch) FROM lease) AS first,
  (SELECT value FROM meta WHERE name = 'admin') AS news,
  CASE WHEN EXISTS (SELECT 1 FROM hint) THEN 1 ELSE 0 END AS hints,
  CASE WHEN EXISTS (SELECT 1 FROM owner WHERE ended_at_ms IS NOT NULL AND has_left = 1) THEN 1 ELSE 0 END AS left_behind`;

/** A look at the lease that takes longer is given up: another has to get through before the others may end this node. */
const LONGEST_LOOK_MS = 10_000;
const SHORTEST_LOOK_MS = 1000;
const LOOK_PART = 1 / 4;
export const longestLookMs = (leaseMs: number): number =>
  Math.min(leaseMs, LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, leaseMs * LOOK_PART));

/** For how long a node has been able to renew its lease: who could not reach the database does not know whether the others could. */
export type Streak = {
  /** Whether it may end others: it has renewed its lease again and again for a while, and lately. */
  isLong(): boolean;
  /** Its lease was renewed just now. */
  renewed(): void;
};

/** Between two renewals of a streak there is no more than this part of a lease: the others had at least as much left of theirs. */
const GAP_PART = 1 / 2;
/** After a time without the database this part of a lease is the others' to come back; together with looks and claims less than a lease. */
const STREAK_PART = 1 / 3;

/** @param monoMs time that passes also while this process is stopped. A streak begins with the opening. */
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
 * Ends owners that are dead, where this one may, makes its lease run anew, and looks round.
 * @returns null: another node has ended this owner.
 */
export const attend = async (
  line: Connection,
  { epoch, leaseMs, isLeaving, endsOthers }: { epoch: number; leaseMs: number; isLeaving: boolean; endsOthers: boolean },
): Promise<Surroundings | null> => {
  // Before the renewal: it is the lease as it was that says whether the database could be reached meanwhile.
  const ending = endsOthers ? line.send<{ epoch: number }>(END_DEAD, epoch, leaseMs) : Promise.resolve(null);
  const [dead, { changes }, { rows }] = await together([
    ending,
    line.send(RENEW, epoch, leaseMs, isLeaving ? 1 : 0),
    line.send<{ now: number; alive: number; others: number; first: number; news: string; hints: number; left_behind: number }>(
      LOOK,
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

/** Ends this owner of its own will: others take over at once. */
export const resign = async (line: Connection, epoch: number): Promise<void> => {
  await line.script("BEGIN");
  await line.send("DELETE FROM lease WHERE epoch = ?1", epoch);
  await line.send("UPDATE owner SET ended_at_ms = now_ms() WHERE epoch = ?1 AND ended_at_ms IS NULL", epoch);
  await line.script("COMMIT");
};

/**
 * Takes over generations whose owners have ended, and ended ones of theirs whose attempts are still asked about. Nobody writes a step of them
 * any more: an owner that was ended has no transaction under way. Another node that takes the same ones meets the number of the claim.
 */
const claimOf = (which: string): string => `WITH left_behind AS (SELECT g.seq FROM generation g
    WHERE g.seq IN (SELECT seq FROM generation WHERE completed_at_ms IS NULL UNION SELECT seq FROM attempt WHERE watch_until_ms IS NOT NULL)
    AND EXISTS (SELECT 1 FROM owner o WHERE o.epoch = ${ownerOf("g")} AND o.ended_at_ms IS NOT NULL${which})
    ORDER BY g.seq LIMIT ?2 FOR NO KEY UPDATE OF g SKIP LOCKED)
  INSERT INTO claim (seq, n, epoch, from_version, at_ms) SELECT l.seq,
    coalesce((SELECT max(c.n) FROM claim c WHERE c.seq = l.seq), 0) + 1, CAST(?1 AS bigint),
    coalesce((SELECT s.version FROM snapshot s WHERE s.seq = l.seq), (SELECT max(j.version) FROM journal j WHERE j.seq = l.seq), 0), now_ms()
    FROM left_behind l
  ON CONFLICT (seq, n) DO NOTHING RETURNING seq`;
const CLAIM = claimOf("");
const CLAIM_FORMER = claimOf(" AND o.epoch = ?3");
const ALL = 1_000_000_000;
const SETTLE = `UPDATE owner o SET has_left = 0 WHERE o.ended_at_ms IS NOT NULL AND o.has_left = 1 AND NOT EXISTS (SELECT 1 FROM generation g
  WHERE g.seq IN (SELECT seq FROM generation WHERE completed_at_ms IS NULL UNION SELECT seq FROM attempt WHERE watch_until_ms IS NOT NULL)
  AND ${ownerOf("g")} = o.epoch)`;

/** @returns the generations that are this owner's from now on. */
export const claim = async (line: Connection, epoch: number, limit: number): Promise<number[]> => {
  const { rows } = await line.send<{ seq: number }>(CLAIM, epoch, limit);
  // What others are taking over at this moment is not left for good.
  if (rows.length === 0) await line.send(SETTLE);
  return rows.map(({ seq }) => seq);
};
