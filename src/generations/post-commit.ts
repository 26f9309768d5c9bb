// Work after a commit: it updates caches and notifies listeners.
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { LowBalance } from "../domain/low-balance.ts";
import type { Mutation, MutationResult } from "../domain/mutations.ts";
import { isPurchaseMutation } from "../domain/purchase-mutations.ts";
import type { SpendReached } from "../domain/spend-alert.ts";
import type { Routes } from "../routing/route-table.ts";
import type { AttemptEvents } from "../telemetry/attempt-events.ts";
import type { Attempts } from "./attempt-cache.ts";
import type { RecordCache } from "./record-cache.ts";

/** Called for each mutation after its commit. */
export type PostCommit = (mutation: Mutation, outcome: MutationResult) => void;

export type PostCommitDeps = {
  records: RecordCache;
  attempts: Attempts;
  routes: Routes;
  health: CircuitBreakers;
  facts: AttemptEvents;
  supervisor: Pick<Supervisor, "admitted" | "routesChanged">;
  /** Called when the permissions of a key may have changed. */
  callersChanged: () => void;
  /** Called when users or sessions may have changed. */
  usersChanged: () => void;
  /** Called for mutations of webhooks, and for steps that added deliveries to the outbox. */
  webhooksChanged: PostCommit;
  /** Called when a balance has fallen below the threshold of its account. */
  balanceFell: (lowBalance: LowBalance) => void;
  /** The spend of a month has reached the amount of an account. */
  spendReached: (reached: SpendReached) => void;
  watch: CommitListener;
};

/** A listener to committed mutations; null without one, so a commit costs one check. */
export type CommitListener = { committed: PostCommit | null };

/** Mutations that change the permissions of a key: limits, pauses (also by a dispute), keys. */
const CHANGES_CALLERS: ReadonlySet<Mutation["mutation"]> = new Set([
  "set-account",
  "create-key",
  "set-key",
  "rotate-key",
  "revoke-key",
  "credit",
  "settle-debt",
  "decide-reversal",
]);
/** Purchase mutations that do so. */
const MAY_PAUSE: ReadonlySet<Mutation["mutation"]> = new Set(["pay-purchase", "note-reversal", "note-foreign-reversal"]);

/** Mutations that change the permissions of a session. */
const CHANGES_USERS: ReadonlySet<Mutation["mutation"]> = new Set(["accept-invitation", "end-sessions", "set-user"]);

/** Mutations that change endpoints, secrets or deliveries of webhooks. */
const CHANGES_WEBHOOKS: ReadonlySet<Mutation["mutation"]> = new Set([
  "set-webhook-endpoint",
  "delete-webhook-endpoint",
  "rotate-webhook-secret",
  "requeue-webhooks",
  "send-test-webhook",
]);

/** The supervisor learns of new generations only through this hook. */
export const createPostCommit = (deps: PostCommitDeps): PostCommit => {
  const { records, attempts, routes, health, facts, watch } = deps;
  const follow = (mutation: Mutation, outcome: MutationResult) => {
    if (mutation.mutation === "admit" && outcome.kind === "admitted") {
      records.keep(outcome.record);
      attempts.admitted(mutation);
      const { seq, id, accountSeq, plan, waitEndsAtMs, pins = [] } = mutation;
      deps.supervisor.admitted({ seq, id, accountSeq, plan, waitEndsAtMs, awaitsPins: pins.length > 0 });
    } else if (mutation.mutation === "step" && outcome.kind === "stepped") {
      records.keep(outcome.record);
      facts.stepped(mutation, outcome.record);
      if (outcome.settledCredits !== undefined) {
        facts.credited("adjust", -outcome.settledCredits);
        // Settling a debt ends its pause.
        deps.callersChanged();
      }
      attempts.stepped(mutation, outcome.record.requestId);
      if (outcome.deliveries !== undefined) deps.webhooksChanged(mutation, outcome);
    } else if (mutation.mutation === "mark-attempt") {
      attempts.forget(mutation.seq, mutation.change.n);
      if (outcome.kind === "done") facts.marked(mutation);
    } else if (mutation.mutation === "expire-files") records.drop(mutation.seq);
    else if (mutation.mutation === "erase-generation") {
      records.drop(mutation.seq);
      attempts.forgetAll(mutation.seq);
    } else if (mutation.mutation === "switch-route") {
      routes.switch(mutation.routeId, mutation.reason);
      if (mutation.reason === null) health.reset(mutation.routeId);
      deps.supervisor.routesChanged([mutation.routeId]);
    } else if (isPurchaseMutation(mutation)) {
      if (outcome.kind !== "purchase" || !outcome.changed) return;
      if (outcome.deliveries !== undefined) deps.webhooksChanged(mutation, outcome);
      // A reversal pauses the account even if nothing was withdrawn, and a payment may end the pause.
      if (MAY_PAUSE.has(mutation.mutation)) deps.callersChanged();
      if (outcome.transferredCredits !== 0)
        facts.credited(mutation.mutation === "pay-purchase" ? "topup" : "adjust", outcome.transferredCredits);
    } else if (CHANGES_USERS.has(mutation.mutation)) deps.usersChanged();
    else if (CHANGES_WEBHOOKS.has(mutation.mutation)) deps.webhooksChanged(mutation, outcome);
    else if (CHANGES_CALLERS.has(mutation.mutation)) {
      deps.callersChanged();
      if (outcome.kind !== "done") return;
      if (mutation.mutation === "credit") facts.credited(mutation.kind, outcome.credits ?? 0);
      else if (mutation.mutation === "settle-debt" || mutation.mutation === "decide-reversal")
        facts.credited("adjust", outcome.credits ?? 0);
    }
  };
  return (mutation, outcome) => {
    follow(mutation, outcome);
    if ("lowBalance" in outcome && outcome.lowBalance !== undefined) deps.balanceFell(outcome.lowBalance);
    if ("spendReached" in outcome) for (const reached of outcome.spendReached ?? []) deps.spendReached(reached);
    if (watch.committed !== null) watch.committed(mutation, outcome);
  };
};
