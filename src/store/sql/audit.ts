// Audit log: writes the principal of a mutation in the transaction of the mutation.
import type { AdminMutation, AdminResult, Principal } from "../../domain/mutations.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";

/**
 * The audited part of a mutation: its target and the members that describe the change. Hashes, passwords and encrypted values are
 * never audited.
 */
type AuditRule<D> = { target: (mutation: D) => Target; members: readonly (keyof D & string)[] };
/** A name, or a query for the name of a row. */
export type Target = string | null | SqlProgram<string | null>;

const nameOf = function* (sql: string, row: number | string): SqlProgram<string | null> {
  return (yield* first<{ id: string }>(sql, row))?.id ?? null;
};
export const accountOf = (seq: number): Target => nameOf("SELECT id FROM account WHERE seq = ?1", seq);
const generationOf = (seq: number): Target => nameOf("SELECT id FROM generation WHERE seq = ?1", seq);
const invitationOf = (hash: string): Target => nameOf("SELECT id FROM invitation WHERE hash = ?1", hash);

const nothing = { target: () => null, members: [] } as const;
/** Lists every mutation, so that a new one must define its audit entry. */
const AUDITED: { [K in AdminMutation["mutation"]]: AuditRule<Extract<AdminMutation, { mutation: K }>> } = {
  "mark-attempt": { target: ({ seq }) => generationOf(seq), members: [] },
  credit: { target: ({ accountSeq }) => accountOf(accountSeq), members: ["kind", "credits", "note", "reference"] },
  "settle-debt": nothing,
  "decide-reversal": { target: ({ id }) => id, members: ["credits", "reason"] },
  "create-account": { target: ({ id }) => id, members: ["name"] },
  "set-account": {
    target: ({ accountSeq }) => accountOf(accountSeq),
    members: ["paused", "burstPerS", "inProgressLimit", "promptRetentionS"],
  },
  "create-key": { target: ({ id }) => id, members: ["scope", "name", "start"] },
  "set-key": { target: ({ keyId }) => keyId, members: ["name", "limits", "expiresAtMs", "models"] },
  "rotate-key": { target: ({ keyId }) => keyId, members: ["id", "overlapMs", "start"] },
  "note-key-use": nothing,
  "note-key-network": {
    target: ({ keySeq }) => nameOf("SELECT id FROM api_key WHERE seq = ?1", keySeq),
    members: ["address", "network"],
  },
  "roll-up-usage": nothing,
  "revoke-key": { target: ({ keyId }) => keyId, members: [] },
  "decide-generation": { target: ({ seq }) => generationOf(seq), members: ["decision", "attempt", "reason"] },
  "expire-files": { target: ({ seq }) => generationOf(seq), members: [] },
  "erase-generation": { target: ({ seq }) => generationOf(seq), members: ["withFiles"] },
  "finish-file-removal": nothing,
  "drop-pins": nothing,
  "set-provider-key": { target: ({ account }) => account, members: [] },
  "drop-provider-key": { target: ({ account }) => account, members: [] },
  "switch-route": { target: ({ routeId }) => routeId, members: ["reason"] },
  "save-route-health": nothing,
  beat: nothing,
  "note-recovery": nothing,
  "settle-restored": { target: () => null, members: ["reason"] },
  invite: { target: ({ id }) => id, members: ["kind", "role", "email", "userId", "accountName", "expiresAtMs"] },
  "withdraw-invitation": { target: ({ invitationId }) => invitationId, members: [] },
  "accept-invitation": { target: ({ hash }) => invitationOf(hash), members: [] },
  "sign-up": { target: ({ userId }) => userId, members: ["email"] },
  "open-session": { target: ({ userId }) => userId, members: [] },
  "note-sessions-seen": nothing,
  "end-sessions": { target: ({ userId }) => userId, members: ["onlyId", "exceptId"] },
  "note-refused-sign-ins": { target: ({ userId }) => userId, members: ["wrong", "throttled", "networks"] },
  "note-look": { target: ({ of }) => of, members: ["what"] },
  "note-backup": { target: () => null, members: [] },
  "note-inspector-token": { target: () => null, members: ["role"] },
  "set-user": { target: ({ userId }) => userId, members: ["name", "role", "disabled"] },
  "set-end-user-limit": { target: ({ accountSeq }) => accountOf(accountSeq), members: ["limit"] },
  "create-webhook-endpoint": { target: ({ id }) => id, members: ["url", "events", "description", "enabled"] },
  "set-webhook-endpoint": { target: ({ id }) => id, members: ["url", "events", "description", "enabled"] },
  "delete-webhook-endpoint": { target: ({ id }) => id, members: [] },
  "rotate-webhook-secret": {
    target: ({ endpointId, accountSeq }) => endpointId ?? accountOf(accountSeq),
    members: ["overlapMs"],
  },
  "record-webhook-tries": nothing,
  "requeue-webhooks": nothing,
  "send-test-webhook": nothing,
  "sweep-webhooks": nothing,
  "make-console-key": { target: ({ accountSeq }) => accountOf(accountSeq), members: [] },
};

/** A secret member is audited as changed, without its value. */
const extras = (mutation: AdminMutation, outcome: AdminResult): Record<string, unknown> => ({
  ...(mutation.mutation === "set-user" && mutation.password !== undefined ? { password: "changed" } : {}),
  ...(mutation.mutation === "sign-up" || mutation.mutation === "open-session" || mutation.mutation === "accept-invitation"
    ? { sessionId: mutation.session.id, address: mutation.session.address }
    : {}),
  ...(outcome.kind === "done" && outcome.credits !== undefined ? { transferredCredits: outcome.credits } : {}),
});

const auditEntryOf = <K extends AdminMutation["mutation"]>(mutation: Extract<AdminMutation, { mutation: K }>) => {
  const { target, members } = AUDITED[mutation.mutation as K];
  const detail = Object.fromEntries(members.flatMap((name) => (mutation[name] === undefined ? [] : [[name, mutation[name]]])));
  return { target: target(mutation), detail };
};

/** Writes one entry. */
export const writeAudit = function* (
  atMs: number,
  by: Principal,
  action: string,
  target: Target,
  detail: Record<string, unknown>,
): SqlProgram<void> {
  const name = target === null || typeof target === "string" ? target : yield* target;
  yield* change(
    "INSERT INTO audit (at_ms, principal_kind, principal_id, principal_name, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    ...[atMs, by.kind, by.id, by.name, action, name, JSON.stringify(detail)],
  );
};

export const auditAdmin = function* (mutation: AdminMutation, by: Principal, outcome: AdminResult): SqlProgram<void> {
  // Maintenance that follows from a request was not requested itself.
  if (AUDITED[mutation.mutation] === nothing) return;
  // The network is already known: another node or the former process has audited it.
  if (mutation.mutation === "note-key-network" && (outcome.kind !== "done" || outcome.of === undefined)) return;
  if (mutation.atMs === undefined) throw new MutationRejected(`${mutation.mutation} has a principal but no time`);
  const { target, detail } = auditEntryOf(mutation);
  yield* writeAudit(mutation.atMs, by, mutation.mutation, target, { ...detail, ...extras(mutation, outcome) });
};
