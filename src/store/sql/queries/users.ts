// Queries of users, sessions, invitations and the audit log.

import type { Principal } from "../../../domain/mutations.ts";
import type { Caller, JsonObject } from "../../../domain/types.ts";
import type { AuditRow, InvitationRow, SessionFacts, SessionRow, UserReads, UserRow } from "../../user-reads.ts";
import type { Query } from "../sql-program.ts";

const USER = `SELECT p.seq, p.id, p.email, p.name, p.role, p.account_seq AS "accountSeq", a.id AS "accountId", p.created_at_ms AS "createdAtMs",
  p.disabled_at_ms AS "disabledAtMs", (SELECT max(seen_at_ms) FROM session s WHERE s.user_seq = p.seq) AS "seenAtMs"`;
const OF_USER = "FROM console_user p LEFT JOIN account a ON a.seq = p.account_seq";
const INVITATION = `SELECT i.id, i.kind, i.role, a.id AS "accountId", i.account_name AS "accountName", coalesce(i.email, p.email) AS email,
  p.id AS "userId", p.name AS "userName", i.created_by AS "madeBy", i.created_at_ms AS "createdAtMs", i.expires_at_ms AS "expiresAtMs",
  i.used_at_ms AS "usedAtMs", i.withdrawn_at_ms AS "withdrawnAtMs"
  FROM invitation i LEFT JOIN account a ON a.seq = i.account_seq LEFT JOIN console_user p ON p.seq = i.user_seq`;

type StoredConsole = Omit<Caller, "paused" | "expiresAtMs" | "models" | "isLimited"> & { paused: number };
type StoredAudit = Omit<AuditRow, "actor" | "detail"> & {
  kind: Principal["kind"];
  id: string;
  name: string;
  detail: string;
};

// Runs for every request of the console.
const SESSION = `SELECT p.seq AS "userSeq", p.id AS "userId", p.email, p.name, p.role, p.account_seq AS "accountSeq", a.id AS "accountId",
    s.id AS "sessionId", s.created_at_ms AS "createdAtMs", s.seen_at_ms AS "seenAtMs", s.expires_at_ms AS "expiresAtMs"
  FROM session s JOIN console_user p ON p.seq = s.user_seq LEFT JOIN account a ON a.seq = p.account_seq
  WHERE s.hash = ?1 AND s.ended_at_ms IS NULL AND p.disabled_at_ms IS NULL`;
const BY_EMAIL = `${USER}, p.password ${OF_USER} WHERE p.email = ?1`;
const USERS = `${USER} ${OF_USER} ORDER BY p.seq`;
const USERS_OF = `${USER} ${OF_USER} WHERE p.account_seq = ?1 ORDER BY p.seq`;
const COUNT_USERS = `SELECT count(*) AS n FROM (SELECT 1 AS one FROM console_user
  WHERE account_seq = ?1 AND disabled_at_ms IS NULL LIMIT ?2) counted`;
const SESSIONS_OF = `SELECT s.id, s.created_at_ms AS "createdAtMs", s.seen_at_ms AS "seenAtMs", s.expires_at_ms AS "expiresAtMs",
    s.ended_at_ms AS "endedAtMs", s.agent, s.address FROM session s JOIN console_user p ON p.seq = s.user_seq
  WHERE p.id = ?1 AND s.ended_at_ms IS NULL ORDER BY s.seen_at_ms DESC, s.id DESC`;
const INVITED = `${INVITATION} WHERE i.hash = ?1`;
const INVITATIONS = `${INVITATION} ORDER BY i.created_at_ms DESC, i.id DESC LIMIT 500`;
const OPERATORS = "SELECT count(*) AS n FROM console_user WHERE role = 'operator' AND disabled_at_ms IS NULL";
const CONSOLE_CALLER = `SELECT k.seq AS "keySeq", k.id AS "keyId", k.scope, a.seq AS "accountSeq", a.id AS "accountId", a.paused,
    a.burst_per_s AS "burstPerS", a.in_progress_limit AS "inProgressLimit" FROM api_key k JOIN account a ON a.seq = k.account_seq
  WHERE k.account_seq = ?1 AND k.kind = 'console'`;
/** An absent filter (null) matches every row. */
const requested = (n: number, type: "bigint" | "text", fits: (value: string) => string): string =>
  `(CAST(?${n} AS ${type}) IS NULL OR ${fits(`CAST(?${n} AS ${type})`)})`;
const AUDIT = `SELECT seq, at_ms AS "atMs", principal_kind AS kind, principal_id AS id, principal_name AS name, action, target, detail FROM audit
  WHERE ${requested(1, "bigint", (seq) => `seq < ${seq}`)} AND ${requested(3, "text", (actor) => `${actor} IN (principal_id, principal_name)`)}
    AND ${requested(4, "text", (action) => `action = ${action}`)} AND ${requested(5, "text", (target) => `target = ${target}`)}
    AND ${requested(6, "bigint", (from) => `at_ms >= ${from}`)} AND ${requested(7, "bigint", (to) => `at_ms < ${to}`)}
    AND ${requested(8, "text", (kind) => `principal_kind = ${kind}`)}
  ORDER BY seq DESC LIMIT ?2`;

export const userReads = (query: Query): UserReads => ({
  sessionByHash: async (hash) => (await query<SessionFacts>(SESSION, hash))[0],
  userByEmail: async (email) => (await query<UserRow & { password: string }>(BY_EMAIL, email))[0],
  users: () => query<UserRow>(USERS),
  usersOf: (accountSeq) => query<UserRow>(USERS_OF, accountSeq),
  countUsers: async (accountSeq, most) => (await query<{ n: number }>(COUNT_USERS, accountSeq, most))[0]?.n ?? 0,
  sessionsOf: (userId) => query<SessionRow>(SESSIONS_OF, userId),
  invitationByHash: async (hash) => (await query<InvitationRow>(INVITED, hash))[0],
  invitations: () => query<InvitationRow>(INVITATIONS),
  operators: async () => (await query<{ n: number }>(OPERATORS))[0]?.n ?? 0,
  consoleCaller: async (accountSeq) => {
    const [row] = await query<StoredConsole>(CONSOLE_CALLER, accountSeq);
    // A playground key has no policy, because no user can set one.
    return row ? { ...row, paused: row.paused === 1, expiresAtMs: null, models: null, isLimited: false } : undefined;
  },
  audit: async (beforeSeq, limit, { actor, actorKind, action, target, fromMs, toMs }) => {
    const filters = [actor ?? null, action ?? null, target ?? null, fromMs ?? null, toMs ?? null, actorKind ?? null];
    const rows = await query<StoredAudit>(AUDIT, beforeSeq, limit, ...filters);
    return rows.map(
      ({ kind, id, name, detail, ...row }): AuditRow => ({
        ...row,
        actor: { kind, id, name },
        detail: JSON.parse(detail) as JsonObject,
      }),
    );
  },
});
