// Queries of recovery: open generations, events, snapshots, circuit breakers, time, secrets and mode.
import { createHmac } from "node:crypto";
import { ClockCache } from "../../../collections/clock-cache.ts";
import { msOfGenerationSeq } from "../../../domain/ids.ts";
import type { OpenGeneration } from "../../../domain/transition.ts";
import type { Deadline, PlannedRoute } from "../../../domain/types.ts";
import type { StoredEvent, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<
  StoreReads,
  | "unfinished"
  | "eventsOf"
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
  start_deadline_ms: number;
  plan_seq: number;
  version: number | null;
  snapshot: string | null;
  deadline_kind: Deadline["kind"] | null;
  deadline_attempt_no: number | null;
  deadline_at_ms: number | null;
};

/** The deadline of a row, as in the view `deadline`. */
const deadlineOf = ({
  status,
  start_deadline_ms,
  deadline_kind,
  deadline_attempt_no,
  deadline_at_ms,
}: OpenRow): Deadline | null => {
  if (status === "queued") return { kind: "start", n: 0, dueAtMs: start_deadline_ms };
  return deadline_kind === null ? null : { kind: deadline_kind, n: deadline_attempt_no ?? 0, dueAtMs: deadline_at_ms ?? 0 };
};

const unfinishedOf = (
  { version, snapshot, ...row }: OpenRow,
  plan: readonly PlannedRoute[],
  awaitsPins: boolean,
): OpenGeneration => ({
  seq: row.seq,
  id: row.id,
  accountSeq: row.account_seq,
  status: row.status,
  createdAtMs: row.created_at_ms,
  waitEndsAtMs: row.start_deadline_ms,
  plan,
  version: version ?? 0,
  snapshot,
  awaitsPins,
  deadline: deadlineOf({ version, snapshot, ...row }),
});

/** Minimum number of cached plans; thousands of generations share one plan. */
const PLANS_AT_LEAST = 1_000;
const openPlans = (query: Query, { items, json }: Dialect) => {
  const select = `SELECT seq, routes FROM plan
    WHERE seq IN (SELECT CAST(j.value AS bigint) FROM ${items(json("CAST(?1 AS text)"), "j")})`;
  const known = new ClockCache<number, readonly PlannedRoute[]>(PLANS_AT_LEAST);
  return async (seqs: readonly number[]): Promise<(seq: number) => readonly PlannedRoute[]> => {
    const found = new Map<number, readonly PlannedRoute[] | undefined>(seqs.map((seq) => [seq, known.get(seq)]));
    const missing = [...found.keys()].filter((seq) => !found.get(seq));
    if (missing.length > 0)
      for (const { seq, routes } of await query<{ seq: number; routes: string }>(select, JSON.stringify(missing))) {
        const plan = JSON.parse(routes) as PlannedRoute[];
        found.set(seq, plan);
        known.set(seq, plan);
      }
    return (seq) => {
      const plan = found.get(seq);
      if (!plan) throw new Error(`the database has no plan ${seq}`);
      return plan;
    };
  };
};

/** Names in `meta` of a restored copy: the time of the backup in milliseconds since 1970, and its last generation. */
export const TAKEN_AT = "restored_taken_at_ms";
export const UP_TO_SEQ = "restored_up_to_seq";
/** Names of the time of the restore and of the time when an operator settled the gap, in milliseconds since 1970. */
export const RESTORED_AT = "restored_at_ms";
export const SETTLED_AT_KEY = "restored_settled_at_ms";

// The partial index of open generations makes the cost that of the page, for any number of stored rows.
const unfinishedIn = (
  owned: string,
): string => `SELECT g.seq, g.id, g.account_seq, g.status, g.created_at_ms, g.start_deadline_ms, g.plan_seq, s.version, s.snapshot,
    s.deadline_kind, s.deadline_attempt_no, s.deadline_at_ms
  FROM generation g INDEXED BY generation_open LEFT JOIN snapshot s ON s.generation_seq = g.seq
  WHERE g.completed_at_ms IS NULL AND g.seq > ?1 AND ${owned} ORDER BY g.seq LIMIT ?2`;
const SELECT_EVENTS =
  "SELECT version, at_ms, event, state_after FROM generation_event WHERE generation_seq = ?1 ORDER BY version";
const SNAPSHOT = "SELECT version, snapshot FROM snapshot WHERE generation_seq = ?1";
const AGREED = "SELECT plan_seq, start_deadline_ms FROM generation WHERE seq = ?1";
const RESTORED = `SELECT name, value FROM meta WHERE name IN ('${TAKEN_AT}', '${UP_TO_SEQ}', '${SETTLED_AT_KEY}')`;
const META = "SELECT value FROM meta WHERE name = ?1";

/**
 * @param owned A condition on `generation g`: this node owns it.
 */
export const recoveryReads = (query: Query, dialect: Dialect, owned = "true"): Reads => {
  const unfinished = unfinishedIn(owned);
  const unpinned = `SELECT DISTINCT generation_seq AS seq FROM pinned_input WHERE sha256 IS NULL
    AND generation_seq IN (SELECT CAST(j.value AS bigint) FROM ${dialect.items(dialect.json("CAST(?1 AS text)"), "j")})`;
  /** Generations whose inputs are not pinned yet. A generation with a transition is pinned. */
  const awaiting = async (rows: readonly OpenRow[]): Promise<ReadonlySet<number>> => {
    const seqs = rows.filter(({ snapshot }) => snapshot === null).map(({ seq }) => seq);
    if (seqs.length === 0) return new Set();
    return new Set((await query<{ seq: number }>(unpinned, JSON.stringify(seqs))).map(({ seq }) => seq));
  };
  const plansAt = openPlans(query, dialect);
  const metaOf = async (name: string): Promise<string | undefined> => (await query<{ value: string }>(META, name))[0]?.value;
  const metaValue = async (name: string): Promise<string> => {
    const value = await metaOf(name);
    if (value === undefined) throw new Error(`the database has no ${name}`);
    return value;
  };

  return {
    unfinished: async (afterSeq, limit) => {
      const rows = await query<OpenRow>(unfinished, afterSeq, limit);
      const [planAt, awaits] = await Promise.all([plansAt(rows.map(({ plan_seq }) => plan_seq)), awaiting(rows)]);
      return rows.map((row) => unfinishedOf(row, planAt(row.plan_seq), awaits.has(row.seq)));
    },
    eventsOf: async (seq) => {
      const lines = await query<{ version: number; at_ms: number; event: string; state_after: string }>(SELECT_EVENTS, seq);
      return lines.map((row) => ({
        version: row.version,
        atMs: row.at_ms,
        event: JSON.parse(row.event) as StoredEvent["event"],
        stateAfter: row.state_after,
      }));
    },
    snapshotOf: async (seq) => (await query<{ version: number; snapshot: string }>(SNAPSHOT, seq))[0],
    planOf: async (seq) => {
      const [row] = await query<{ plan_seq: number; start_deadline_ms: number }>(AGREED, seq);
      if (!row) return undefined;
      const planAt = await plansAt([row.plan_seq]);
      return { plan: planAt(row.plan_seq), waitEndsAtMs: row.start_deadline_ms };
    },
    routeHealth: async () => {
      const rows = await query<{ route_id: string; snapshot: string }>("SELECT route_id, snapshot FROM route_health");
      return new Map(rows.map((row) => [row.route_id, row.snapshot]));
    },
    lastSeenMs: async () => {
      const [newest] = await query<{ seq: number | null }>("SELECT max(seq) AS seq FROM generation");
      const generatedMs = typeof newest?.seq === "number" ? msOfGenerationSeq(newest.seq) : 0;
      return Math.max(Number(await metaValue("last_seen_ms")), generatedMs);
    },
    restored: async () => {
      const rows = await query<{ name: string; value: string }>(RESTORED);
      const found = new Map(rows.map(({ name, value }) => [name, value]));
      const [takenAt, upTo] = [found.get(TAKEN_AT), found.get(UP_TO_SEQ)];
      if (takenAt === undefined || upTo === undefined) return null;
      return { takenAtMs: Number(takenAt), upToSeq: Number(upTo), isSettled: found.has(SETTLED_AT_KEY) };
    },
    recoveryNote: async () => (await metaOf("recovery")) ?? null,
    secret: async (name) =>
      createHmac("sha256", Buffer.from(await metaValue("secret"), "hex"))
        .update(name)
        .digest("hex"),
    mode: async () => ((await metaValue("mode")) === "test" ? "test" : "live"),
  };
};
