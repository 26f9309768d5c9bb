// Reads people, their sessions and invitations, and the audit log.
import type { Database } from "bun:sqlite";
import type { Actor } from "../../../deeds.ts";
import type { Caller, JsonObject } from "../../../terms.ts";
import type { AuditRow, InvitationRow, PeopleReads, PersonRow, SessionFacts, SessionRow } from "../../people.ts";
import { schemaVersion } from "../migrate.ts";

/** The step of the schema that brought these tables: a copy of before it is read as well, and has nobody in it. */
const SINCE = 3;

const PERSON = `SELECT p.seq, p.id, p.email, p.name, p.role, p.account_seq AS accountSeq, a.id AS accountId, p.created_at_ms AS createdAtMs,
  p.disabled_at_ms AS disabledAtMs, (SELECT max(seen_at_ms) FROM session s WHERE s.person_seq = p.seq) AS seenAtMs`;
const OF_PERSON = "FROM person p LEFT JOIN account a ON a.seq = p.account_seq";
const INVITATION = `SELECT i.id, i.kind, i.role, a.id AS accountId, i.account_name AS accountName, coalesce(i.email, p.email) AS email,
  p.id AS personId, p.name AS personName, i.made_by AS madeBy, i.created_at_ms AS createdAtMs, i.expires_at_ms AS expiresAtMs,
  i.used_at_ms AS usedAtMs, i.withdrawn_at_ms AS withdrawnAtMs
  FROM invitation i LEFT JOIN account a ON a.seq = i.account_seq LEFT JOIN person p ON p.seq = i.person_seq`;

type StoredAudit = Omit<AuditRow, "actor" | "detail"> & {
  kind: Actor["kind"];
  id: string;
  name: string;
  detail: string;
};

export const preparePeopleReads = (db: Database): PeopleReads => {
  const isThere = (): boolean => schemaVersion(db) >= SINCE;
  const one = <Row>(sql: string, ...values: (string | number)[]): Row | undefined =>
    isThere() ? (db.query<Row, (string | number)[]>(sql).get(...values) ?? undefined) : undefined;
  const all = <Row>(sql: string, ...values: (string | number | null)[]): Row[] =>
    isThere() ? db.query<Row, (string | number | null)[]>(sql).all(...values) : [];

  return {
    // Asked at every request of the console, of the newest schema only.
    sessionByHash: async (hash) =>
      one<SessionFacts>(
        `SELECT p.seq AS personSeq, p.id AS personId, p.email, p.name, p.role, p.account_seq AS accountSeq, a.id AS accountId,
           s.id AS sessionId, s.created_at_ms AS createdAtMs, s.seen_at_ms AS seenAtMs, s.expires_at_ms AS expiresAtMs
         FROM session s JOIN person p ON p.seq = s.person_seq LEFT JOIN account a ON a.seq = p.account_seq
         WHERE s.hash = ?1 AND s.ended_at_ms IS NULL AND p.disabled_at_ms IS NULL`,
        hash,
      ),
    personByEmail: async (email) =>
      one<PersonRow & { password: string }>(`${PERSON}, p.password ${OF_PERSON} WHERE p.email = ?1`, email),
    people: async () => all<PersonRow>(`${PERSON} ${OF_PERSON} ORDER BY p.seq`),
    sessionsOf: async (personId) =>
      all<SessionRow>(
        `SELECT s.id, s.created_at_ms AS createdAtMs, s.seen_at_ms AS seenAtMs, s.expires_at_ms AS expiresAtMs,
           s.ended_at_ms AS endedAtMs, s.agent, s.address FROM session s JOIN person p ON p.seq = s.person_seq
         WHERE p.id = ?1 AND s.ended_at_ms IS NULL ORDER BY s.seen_at_ms DESC, s.id DESC`,
        personId,
      ),
    invitationByHash: async (hash) => one<InvitationRow>(`${INVITATION} WHERE i.hash = ?1`, hash),
    invitations: async () => all<InvitationRow>(`${INVITATION} ORDER BY i.created_at_ms DESC, i.id DESC LIMIT 500`),
    operators: async () =>
      one<{ n: number }>("SELECT count(*) AS n FROM person WHERE role = 'operator' AND disabled_at_ms IS NULL")?.n ?? 0,
    consoleCaller: async (accountSeq) => {
      const row = one<Omit<Caller, "paused" | "expiresAtMs" | "models"> & { paused: number }>(
        `SELECT k.seq AS keySeq, k.id AS keyId, k.scope, a.seq AS accountSeq, a.id AS accountId, a.paused, a.burst_per_s AS burstPerS,
           a.in_progress_limit AS inProgressLimit FROM api_key k JOIN account a ON a.seq = k.account_seq
         WHERE k.account_seq = ?1 AND k.kind = 'console'`,
        accountSeq,
      );
      // It has no terms: nobody sets any for what nobody sees.
      return row ? { ...row, paused: row.paused === 1, expiresAtMs: null, models: null } : undefined;
    },
    audit: async (beforeSeq, limit, { actor, action, target, fromMs, toMs }) =>
      all<StoredAudit>(
        `SELECT seq, at_ms AS atMs, actor_kind AS kind, actor_id AS id, actor_name AS name, action, target, detail FROM audit
         WHERE (?1 IS NULL OR seq < ?1) AND (?3 IS NULL OR ?3 IN (actor_id, actor_name)) AND (?4 IS NULL OR action = ?4)
           AND (?5 IS NULL OR target = ?5) AND (?6 IS NULL OR at_ms >= ?6) AND (?7 IS NULL OR at_ms < ?7)
         ORDER BY seq DESC LIMIT ?2`,
        beforeSeq,
        limit,
        actor ?? null,
        action ?? null,
        target ?? null,
        fromMs ?? null,
        toMs ?? null,
      ).map(
        ({ kind, id, name, detail, ...row }): AuditRow => ({
          ...row,
          actor: { kind, id, name },
          detail: JSON.parse(detail) as JsonObject,
        }),
      ),
  };
};
