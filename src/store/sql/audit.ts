// The audit log: a mutation that somebody wanted is written down with who it was, in the transaction that carries it out.
import type { AdminMutation, AdminResult, Principal } from "../mutations.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";

/** What is told of a mutation: whom or what it concerned, and the members that say what changed. Hashes, passwords and sealed values never. */
type Told<D> = { target: (mutation: D) => Target; tells: readonly (keyof D & string)[] };
/** A name, or the question for the name of what the mutation knows by its row. */
export type Target = string | null | SqlProgram<string | null>;

const nameOf = function* (sql: string, row: number | string): SqlProgram<string | null> {
  return (yield* first<{ id: string }>(sql, row))?.id ?? null;
};
export const accountOf = (seq: number): Target => nameOf("SELECT id FROM account WHERE seq = ?1", seq);
const generationOf = (seq: number): Target => nameOf("SELECT id FROM generation WHERE seq = ?1", seq);
const invitationOf = (hash: string): Target => nameOf("SELECT id FROM invitation WHERE hash = ?1", hash);

const nothing = { target: () => null, tells: [] } as const;
/** Every mutation is here, so that a new one does not come without saying what may be told of it. */
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
  invite: { target: ({ id }) => id, tells: ["kind", "role", "email", "personId", "accountName", "expiresAtMs"] },
  "withdraw-invitation": { target: ({ invitationId }) => invitationId, tells: [] },
  "accept-invitation": { target: ({ hash }) => invitationOf(hash), tells: [] },
  "sign-up": { target: ({ personId }) => personId, tells: ["email"] },
  "open-session": { target: ({ personId }) => personId, tells: [] },
  "note-sessions-seen": nothing,
  "end-sessions": { target: ({ personId }) => personId, tells: ["onlyId", "exceptId"] },
  "note-refused-sign-ins": { target: ({ personId }) => personId, tells: ["wrong", "throttled", "networks"] },
  "note-look": { target: ({ of }) => of, tells: ["what"] },
  "note-inspector-token": { target: () => null, tells: ["role"] },
  "set-person": { target: ({ personId }) => personId, tells: ["name", "role", "disabled"] },
  "make-console-key": { target: ({ accountSeq }) => accountOf(accountSeq), tells: [] },
};

/** A member that holds a secret is told as having changed, no more. */
const extras = (mutation: AdminMutation, outcome: AdminResult): Record<string, unknown> => ({
  ...(mutation.mutation === "set-person" && mutation.password !== undefined ? { password: "changed" } : {}),
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

/** Writes one line. */
export const writeAudit = function* (
  atMs: number,
  by: Principal,
  action: string,
  target: Target,
  detail: Record<string, unknown>,
): SqlProgram<void> {
  const name = target === null || typeof target === "string" ? target : yield* target;
  yield* change(
    "INSERT INTO audit (at_ms, actor_kind, actor_id, actor_name, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    ...[atMs, by.kind, by.id, by.name, action, name, JSON.stringify(detail)],
  );
};

export const auditAdmin = function* (mutation: AdminMutation, by: Principal, outcome: AdminResult): SqlProgram<void> {
  // Upkeep that somebody's wish brings about is not what they wished.
  if (AUDITED[mutation.mutation] === nothing) return;
  // The network is known already: another node has told of it, or the process before.
  if (mutation.mutation === "note-key-network" && (outcome.kind !== "done" || outcome.of === undefined)) return;
  if (mutation.atMs === undefined) throw new MutationRejected(`${mutation.mutation} has a principal but no time`);
  const { target, detail } = toldOf(mutation);
  yield* writeAudit(mutation.atMs, by, mutation.mutation, target, { ...detail, ...extras(mutation, outcome) });
};
