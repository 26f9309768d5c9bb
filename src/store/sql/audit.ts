// Audit log: writes the principal of a mutation in the transaction of the mutation.
import type { AdminMutation, AdminResult, Principal } from "../mutations.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";

/**
 * The audited part of a mutation: its target and the members that describe the change. Hashes, passwords and encrypted values are
 * never audited.
 */
type Told<D> = { target: (mutation: D) => Target; tells: readonly (keyof D & string)[] };
/** A name, or a query for the name of a row. */
export type Target = string | null | SqlProgram<string | null>;

const nameOf = function* (sql: string, row: number | string): SqlProgram<string | null> {
  return (yield* first<{ id: string }>(sql, row))?.id ?? null;
};
export const accountOf = (seq: number): Target => nameOf("SELECT id FROM account WHERE seq = ?1", seq);
const generationOf = (seq: number): Target => nameOf("SELECT id FROM generation WHERE seq = ?1", seq);
const invitationOf = (hash: string): Target => nameOf("SELECT id FROM invitation WHERE hash = ?1", hash);

const nothing = { target: () => null, tells: [] } as const;
/** Lists every mutation, so that a new one must define its audit entry. */
const AUDITED: { [K in AdminMutation["mutation"]]: Told<Extract<AdminMutation, { mutation: K }>> } = {
  "mark-attempt": { target: ({ seq }) => generationOf(seq), tells: [] },
  credit: { target: ({ accountSeq }) => accountOf(accountSeq), tells: ["kind", "credits", "note", "reference"] },
  "settle-debt": nothing,
  "decide-reversal": { target: ({ id }) => id, tells: ["credits", "reason"] },
  "create-account": { target: ({ id }) => id, tells: ["name"] },
  "set-account": {
    target: ({ accountSeq }) => accountOf(accountSeq),
    tells: ["paused", "burstPerS", "inProgressLimit"],
  },
  "create-key": { target: ({ id }) => id, tells: ["scope", "name", "start"] },
  "set-key": { target: ({ keyId }) => keyId, tells: ["name", "limits", "expiresAtMs", "models"] },
  "rotate-key": { target: ({ keyId }) => keyId, tells: ["id", "overlapMs", "start"] },
  "note-key-use": nothing,
  "note-key-network": {
    target: ({ keySeq }) => nameOf("SELECT id FROM api_key WHERE seq = ?1", keySeq),
    tells: ["address", "network"],
  },
  "roll-up-usage": nothing,
  "revoke-key": { target: ({ keyId }) => keyId, tells: [] },
  "decide-generation": { target: ({ seq }) => generationOf(seq), tells: ["decision", "attempt", "reason"] },
  "expire-files": { target: ({ seq }) => generationOf(seq), tells: [] },
  "drop-pins": nothing,
  "set-provider-key": { target: ({ account }) => account, tells: [] },
  "drop-provider-key": { target: ({ account }) => account, tells: [] },
  "switch-route": { target: ({ routeId }) => routeId, tells: ["reason"] },
  "save-route-health": nothing,
  beat: nothing,
  "note-recovery": nothing,
  "settle-restored": { target: () => null, tells: ["reason"] },
  invite: { target: ({ id }) => id, tells: ["kind", "role", "email", "userId", "accountName", "expiresAtMs"] },
  "withdraw-invitation": { target: ({ invitationId }) => invitationId, tells: [] },
  "accept-invitation": { target: ({ hash }) => invitationOf(hash), tells: [] },
  "sign-up": { target: ({ userId }) => userId, tells: ["email"] },
  "open-session": { target: ({ userId }) => userId, tells: [] },
  "note-sessions-seen": nothing,
  "end-sessions": { target: ({ userId }) => userId, tells: ["onlyId", "exceptId"] },
  "note-refused-sign-ins": { target: ({ userId }) => userId, tells: ["wrong", "throttled", "networks"] },
  "note-look": { target: ({ of }) => of, tells: ["what"] },
  "note-inspector-token": { target: () => null, tells: ["role"] },
  "set-user": { target: ({ userId }) => userId, tells: ["name", "role", "disabled"] },
  "make-console-key": { target: ({ accountSeq }) => accountOf(accountSeq), tells: [] },
};

/** A secret member is audited as changed, without its value. */
const extras = (mutation: AdminMutation, outcome: AdminResult): Record<string, unknown> => ({
  ...(mutation.mutation === "set-user" && mutation.password !== undefined ? { password: "changed" } : {}),
  ...(mutation.mutation === "sign-up" || mutation.mutation === "open-session" || mutation.mutation === "accept-invitation"
    ? { sessionId: mutation.session.id, address: mutation.session.address }
    : {}),
  ...(outcome.kind === "done" && outcome.credits !== undefined ? { movedCredits: outcome.credits } : {}),
});

const toldOf = <K extends AdminMutation["mutation"]>(mutation: Extract<AdminMutation, { mutation: K }>) => {
  const { target, tells } = AUDITED[mutation.mutation as K];
  const detail = Object.fromEntries(tells.flatMap((name) => (mutation[name] === undefined ? [] : [[name, mutation[name]]])));
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
  const { target, detail } = toldOf(mutation);
  yield* writeAudit(mutation.atMs, by, mutation.mutation, target, { ...detail, ...extras(mutation, outcome) });
};
