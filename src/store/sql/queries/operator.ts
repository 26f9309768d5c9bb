// Queries of the operator's pages: account search, attempt results and parked generations.
import type { AccountSearch, ParkedRow, RouteResults, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { ACCOUNT, type StoredAccount, toAccount } from "./accounts.ts";

type Reads = Pick<StoreReads, "searchAccounts" | "unsettledDebts" | "lastOutcomes" | "healthChangedAt" | "parked">;

const STANDING: Readonly<Record<AccountSearch["standing"], string>> = {
  all: "true",
  paused: "a.paused = 1",
  owing: "b.owed_credits > 0",
  busy: "b.in_progress > 0",
};

const search = (standing: AccountSearch["standing"]): string =>
  `${ACCOUNT} WHERE (CAST(?2 AS bigint) IS NULL OR a.seq < CAST(?2 AS bigint)) AND ${STANDING[standing]}
     AND (lower(a.name) LIKE ?1 ESCAPE '\\' OR lower(a.id) LIKE ?1 ESCAPE '\\')
   ORDER BY a.seq DESC LIMIT ?3`;
/** The LIKE pattern that matches a text in lower case anywhere in a value. */
const having = (text: string): string => `%${text.toLowerCase().replaceAll(/[\\%_]/g, "\\$&")}%`;
// In table order, newest generation first. This needs no index and reads only the counted rows.
const outcomesIn = ({ json }: Dialect): string =>
  `SELECT route_id AS "routeId", state, ${json("failure")} ->> 'class' AS failure, count(*) AS count
   FROM (SELECT a.route_id, a.state, t.failure FROM attempt a
     JOIN attempt_text t ON t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no
     ORDER BY a.generation_seq DESC, a.attempt_no DESC LIMIT ?1) newest
   GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 NULLS FIRST`;
const HEALTH = 'SELECT route_id AS "routeId", at_ms AS "atMs" FROM route_health';
const UNSETTLED = `SELECT account_seq AS seq FROM balance WHERE owed_credits > 0 AND available_credits > 0 ORDER BY account_seq LIMIT ?1`;
// The transition that parked it is its last one.
const parkedIn = ({ json }: Dialect): string =>
  `SELECT g.id, a.id AS "accountId", g.model, g.created_at_ms AS "createdAtMs", j.at_ms AS "parkedAtMs",
     g.reserved_credits AS "reservedCredits", coalesce(${json("j.event")} ->> 'reason', '') AS reason
   FROM generation g JOIN snapshot s ON s.generation_seq = g.seq JOIN account a ON a.seq = g.account_seq
     JOIN generation_event j ON j.generation_seq = s.generation_seq AND j.version = s.version
   WHERE g.completed_at_ms IS NULL AND s.state = 'running.parked' ORDER BY g.seq LIMIT ?1`;

export const operatorReads = (query: Query, dialect: Dialect): Reads => {
  const [outcomes, parked] = [outcomesIn(dialect), parkedIn(dialect)];
  return {
    searchAccounts: async ({ text, standing, beforeSeq }, limit) =>
      (await query<StoredAccount>(search(standing), having(text), beforeSeq, limit)).map(toAccount),
    unsettledDebts: async (limit) => (await query<{ seq: number }>(UNSETTLED, limit)).map(({ seq }) => seq),
    lastOutcomes: (limit) => query<RouteResults>(outcomes, limit),
    healthChangedAt: async () =>
      new Map((await query<{ routeId: string; atMs: number }>(HEALTH)).map(({ routeId, atMs }) => [routeId, atMs])),
    parked: (limit) => query<ParkedRow>(parked, limit),
  };
};
