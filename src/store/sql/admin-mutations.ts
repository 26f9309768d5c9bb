// Admin mutations: accounts, keys, credits, and marks beside the life of a generation.
import type { AdminMutation, AdminResult, CreateAccount, RollUpUsage, UpdateAccount } from "../../domain/mutations.ts";
import type { AttemptChange } from "../../domain/transition.ts";
import { erasedChange } from "../decide/erasure.ts";
import { auditAdmin } from "./audit.ts";
import type { Crediting } from "./balance-adjustments.ts";
import type { Dialect } from "./dialect.ts";
import { prepareEndUsers } from "./end-users.ts";
import { prepareErasure } from "./erasure.ts";
import { prepareKeys } from "./keys.ts";
import { settlingRestored } from "./mark-restored.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import type { Reversals } from "./reversals.ts";
import { change, first, insert, type SqlProgram } from "./sql-program.ts";
import { prepareUsers } from "./user-mutations.ts";
import { prepareWebhooks, type WebhooksDeps } from "./webhooks.ts";

/** Functions of the driver that admin mutations use. */
export type AdminMutationsDeps = {
  dialect: Dialect;
  crediting: Crediting;
  reversals: Pick<Reversals, "decide">;
  changeAttempt(seq: number, change: AttemptChange, atMs: number): SqlProgram<void>;
  rollUpUsage(mutation: RollUpUsage): SqlProgram<AdminResult>;
  /** Condition on `transfer p`: usage was not rolled up to it yet. */
  notAddedUp: string;
  /** Called before known key policies change. */
  keysChanged(): void;
  /** Called before known limits of end users change. */
  endUsersChanged(): void;
  webhooks: WebhooksDeps;
};

const DONE: AdminResult = { kind: "done" };

const UPDATE_ACCOUNT = `UPDATE account SET paused = coalesce(?2, paused),
    burst_per_s = CASE WHEN ?3 = 1 THEN ?4 ELSE burst_per_s END,
    in_progress_limit = CASE WHEN ?5 = 1 THEN ?6 ELSE in_progress_limit END,
    prompt_retention_s = CASE WHEN ?7 = 1 THEN ?8 ELSE prompt_retention_s END
  WHERE seq = ?1`;
const SET_PROVIDER_KEY = `INSERT INTO provider_credential VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (account) DO UPDATE SET id = excluded.id, sealed = excluded.sealed, set_at_ms = excluded.set_at_ms`;
const SWITCH_OFF =
  "INSERT INTO disabled_route VALUES (?1, ?2, ?3) ON CONFLICT (route_id) DO UPDATE SET reason = excluded.reason, at_ms = excluded.at_ms";
const SAVE_HEALTH = `INSERT INTO route_health VALUES (?1, ?2, ?3)
  ON CONFLICT (route_id) DO UPDATE SET snapshot = excluded.snapshot, at_ms = excluded.at_ms`;
const COMPLETED = "SELECT completed_at_ms AS at FROM generation WHERE seq = ?1";
/** The stored value of the retention `forever`. */
const FOREVER = -1;
const BEAT = "UPDATE meta SET value = ?1 WHERE name = 'last_seen_ms' AND CAST(value AS bigint) < ?2";
const DROP_PINS = "UPDATE pinned_input SET removed_at_ms = ?2 WHERE generation_seq = ?1 AND removed_at_ms IS NULL";
const NOTE_RECOVERY = "INSERT INTO meta VALUES ('recovery', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/** @throws MutationRejected if a required row is missing. */
const changed = function* (changing: SqlProgram<number>, otherwise: string): SqlProgram<AdminResult> {
  if ((yield* changing) === 0) throw new MutationRejected(otherwise);
  return DONE;
};

const makeAccount = function* ({ id, name, atMs }: Omit<CreateAccount, "mutation">): SqlProgram<number> {
  const seq = yield* insert("INSERT INTO account (id, name, created_at_ms) VALUES (?1, ?2, ?3) RETURNING seq", id, name, atMs);
  yield* change("INSERT INTO balance (account_seq) VALUES (?1)", seq);
  return seq;
};

const retentionS = (retention: UpdateAccount["promptRetentionS"]): number | null =>
  retention === "forever" ? FOREVER : (retention ?? null);

const setAccount = ({ accountSeq, paused, burstPerS, inProgressLimit, promptRetentionS }: UpdateAccount): SqlProgram<number> =>
  change(
    UPDATE_ACCOUNT,
    accountSeq,
    paused === undefined ? null : Number(paused),
    burstPerS === undefined ? 0 : 1,
    burstPerS ?? null,
    inProgressLimit === undefined ? 0 : 1,
    inProgressLimit ?? null,
    promptRetentionS === undefined ? 0 : 1,
    retentionS(promptRetentionS),
  );

export const prepareAdminMutations = (deps: AdminMutationsDeps) => {
  const { crediting } = deps;
  const keys = prepareKeys(deps.dialect, deps.notAddedUp, deps.keysChanged);
  const users = prepareUsers(makeAccount);
  const endUsers = prepareEndUsers(deps.dialect, deps.endUsersChanged);
  const webhooks = prepareWebhooks(deps.dialect, deps.webhooks);
  const erasure = prepareErasure(deps.dialect, endUsers);
  const marked = `SELECT completed_at_ms AS at, erased_at_ms AS "erasedAt" FROM generation WHERE seq = ?1 ${deps.dialect.forUpdate}`;

  const execute = function* (mutation: AdminMutation): SqlProgram<AdminResult> {
    switch (mutation.mutation) {
      case "mark-attempt": {
        const generation = yield* first<{ at: number | null; erasedAt: number | null }>(marked, mutation.seq);
        const { begin, request } = mutation.change;
        if (begin || request !== undefined || typeof generation?.at !== "number")
          throw new MutationRejected("only attempts of a generation that has ended are marked; others change with a step");
        const kept = generation.erasedAt === null ? mutation.change : erasedChange(mutation.change);
        yield* deps.changeAttempt(mutation.seq, kept, mutation.atMs);
        return DONE;
      }
      case "decide-generation": {
        const found = yield* first<{ at: number | null }>(COMPLETED, mutation.seq);
        if (found?.at !== null) throw new MutationRejected("only a generation that has not ended is decided");
        return DONE;
      }
      case "credit": {
        const { transferredCredits, transferSeq } = yield* crediting.credit(mutation);
        return { kind: "done", credits: transferredCredits, ...(transferSeq === null ? {} : { seq: transferSeq }) };
      }
      case "settle-debt":
        return { kind: "done", credits: -(yield* crediting.settle(mutation.accountSeq, mutation.atMs)) };
      case "decide-reversal":
        return { kind: "done", credits: yield* deps.reversals.decide(mutation) };
      case "create-account":
        return { kind: "done", seq: yield* makeAccount(mutation) };
      case "set-account":
        if (mutation.paused !== undefined) yield* crediting.decidedOnPause(mutation.accountSeq);
        return yield* changed(setAccount(mutation), `there is no account ${mutation.accountSeq}`);
      case "create-key":
      case "set-key":
      case "rotate-key":
      case "revoke-key":
      case "note-key-use":
      case "note-key-network":
        return yield* keys(mutation);
      case "roll-up-usage":
        return yield* deps.rollUpUsage(mutation);
      case "expire-files": {
        const { seq, atMs } = mutation;
        // Already marked: the deletion of files is repeated after a crash, the mark is not.
        if ((yield* first<{ at: number | null }>("SELECT files_expired_at_ms AS at FROM generation WHERE seq = ?1", seq))?.at)
          return DONE;
        const mark = "UPDATE generation SET files_expired_at_ms = ?2 WHERE seq = ?1 AND status = 'succeeded'";
        return yield* changed(change(mark, seq, atMs), `generation ${seq} has no files`);
      }
      case "drop-pins":
        // Already marked: the deletion of copies is repeated after a crash, the mark is not.
        yield* change(DROP_PINS, mutation.seq, mutation.atMs);
        return DONE;
      case "erase-generation":
        return yield* erasure.erase(mutation);
      case "finish-file-removal":
        return yield* erasure.finishRemoval(mutation);
      case "set-provider-key":
        yield* change(SET_PROVIDER_KEY, mutation.account, mutation.id, mutation.sealed, mutation.atMs);
        return DONE;
      case "drop-provider-key": {
        const dropping = change("DELETE FROM provider_credential WHERE account = ?1", mutation.account);
        return yield* changed(dropping, `no key of ${mutation.account} is kept here`);
      }
      case "switch-route":
        // An enabled route stays enabled; a repeated request changes nothing.
        if (mutation.reason === null) {
          yield* change("DELETE FROM disabled_route WHERE route_id = ?1", mutation.routeId);
          yield* change("DELETE FROM route_health WHERE route_id = ?1", mutation.routeId);
        } else yield* change(SWITCH_OFF, mutation.routeId, mutation.reason, mutation.atMs);
        return DONE;
      case "save-route-health":
        yield* change(SAVE_HEALTH, mutation.routeId, mutation.snapshot, mutation.atMs);
        return DONE;
      case "beat":
        yield* change(BEAT, String(mutation.atMs), mutation.atMs);
        return DONE;
      case "note-recovery":
        yield* change(NOTE_RECOVERY, mutation.text);
        return DONE;
      case "settle-restored":
        yield* settlingRestored(mutation.atMs);
        return DONE;
      case "set-end-user-limit":
        return yield* endUsers.setLimit(mutation);
      case "create-webhook-endpoint":
      case "set-webhook-endpoint":
      case "delete-webhook-endpoint":
      case "rotate-webhook-secret":
      case "record-webhook-tries":
      case "requeue-webhooks":
      case "send-test-webhook":
      case "sweep-webhooks":
        return yield* webhooks(mutation);
      default:
        return yield* users(mutation, mutation.by);
    }
  };
  return function* (mutation: AdminMutation): SqlProgram<AdminResult> {
    const outcome = yield* execute(mutation);
    if (mutation.by) yield* auditAdmin(mutation, mutation.by, outcome);
    return outcome;
  };
};
