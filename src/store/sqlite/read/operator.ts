// Reads what the operator's pages ask: accounts by name, what came of the last attempts, and what waits for a person.
import type { Database } from "bun:sqlite";
import type { AccountSearch, ParkedRow, RouteOutcomes, StoreReads } from "../../store.ts";
import { ACCOUNT, type StoredAccount, toAccount } from "./accounts.ts";

type Reads = Pick<StoreReads, "searchAccounts" | "lastOutcomes" | "healthChangedAt" | "parked">;

const STANDING: Readonly<Record<AccountSearch["standing"], string>> = {
  all: "1",
  paused: "a.paused = 1",
  owing: "b.owed_credits > 0",
  busy: "b.in_progress > 0",
};

export const prepareOperatorReads = (db: Database): Reads => {
  const search = (standing: AccountSearch["standing"]) =>
    db.query<StoredAccount, [string, number | null, number]>(
      `${ACCOUNT} WHERE (?2 IS NULL OR a.seq < ?2) AND ${STANDING[standing]}
         AND (?1 = '' OR instr(lower(a.name), ?1) > 0 OR instr(lower(a.id), ?1) > 0)
       ORDER BY a.seq DESC LIMIT ?3`,
    );
  // By the table's own order, newest generation first: no index is needed, and no more is read than is counted.
  const outcomes = db.prepare<RouteOutcomes, [number]>(
    `SELECT route_id AS routeId, state, failure ->> 'class' AS failure, count(*) AS count
     FROM (SELECT route_id, state, failure FROM attempt ORDER BY seq DESC, n DESC LIMIT ?1) GROUP BY 1, 2, 3`,
  );
  const health = db.prepare<{ routeId: string; atMs: number }, []>("SELECT route_id AS routeId, at_ms AS atMs FROM route_health");
  const parked = db.prepare<ParkedRow, [number]>(
    `SELECT g.id, a.id AS accountId, g.model, g.created_at_ms AS createdAtMs, g.reserved_credits AS reservedCredits
     FROM generation g JOIN snapshot s ON s.seq = g.seq JOIN account a ON a.seq = g.account_seq
     WHERE g.completed_at_ms IS NULL AND s.state = 'running.parked' ORDER BY g.seq LIMIT ?1`,
  );
  return {
    searchAccounts: async ({ text, standing, beforeSeq }, limit) =>
      search(standing).all(text.toLowerCase(), beforeSeq, limit).map(toAccount),
    lastOutcomes: async (limit) => outcomes.all(limit),
    healthChangedAt: async () => new Map(health.all().map(({ routeId, atMs }) => [routeId, atMs])),
    parked: async (limit) => parked.all(limit),
  };
};
