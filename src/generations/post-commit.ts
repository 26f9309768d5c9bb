// What follows from a mutation on disk: memory is brought up to it, and whom it concerns is told.
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Mutation, MutationResult } from "../store/mutations.ts";
import { isPurchaseMutation } from "../store/purchase-mutations.ts";
import type { Facts } from "../telemetry/attempt-events.ts";
import type { Attempts } from "./attempt-cache.ts";
import type { Records } from "./record-cache.ts";

export type PostCommitDeps = {
  records: Records;
  attempts: Attempts;
  routes: Routes;
  health: CircuitBreakers;
  facts: Facts;
  supervisor: () => Pick<Supervisor, "admitted" | "routesChanged">;
  /** What a key opens may have changed. */
  callersChanged: () => void;
  /** Who may sign in, or is signed in, may have changed. */
  peopleChanged: () => void;
  watch: CommitListener;
};

/** Whoever looks on at what is committed; null while nobody does, and then a mutation costs one look at this. */
export type CommitListener = { committed: ((mutation: Mutation, outcome: MutationResult) => void) | null };

/** Mutations that change what a key opens: limits, pauses (a dispute pauses too), keys. */
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
/** Of purchases, those that do. */
const MAY_PAUSE: ReadonlySet<Mutation["mutation"]> = new Set(["pay-purchase", "note-reversal", "note-foreign-reversal"]);

/** Mutations that change what a session opens. */
const CHANGES_PEOPLE: ReadonlySet<Mutation["mutation"]> = new Set(["accept-invitation", "end-sessions", "set-person"]);

/** The hook is the only way the supervisor learns of a new generation. */
export const createPostCommit = (deps: PostCommitDeps): ((mutation: Mutation, outcome: MutationResult) => void) => {
  const { records, attempts, routes, health, facts, watch } = deps;
  const follow = (mutation: Mutation, outcome: MutationResult) => {
    if (mutation.mutation === "admit" && outcome.kind === "admitted") {
      records.keep(outcome.record);
      attempts.admitted(mutation);
      const { seq, id, accountSeq, plan, waitEndsAtMs, pins = [] } = mutation;
      deps.supervisor().admitted({ seq, id, accountSeq, plan, waitEndsAtMs, awaitsPins: pins.length > 0 });
    } else if (mutation.mutation === "step" && outcome.kind === "stepped") {
      records.keep(outcome.record);
      facts.stepped(mutation, outcome.record);
      if (outcome.settledCredits !== undefined) {
        facts.credited("adjust", -outcome.settledCredits);
        // A debt that is settled lifts its pause.
        deps.callersChanged();
      }
      attempts.stepped(mutation, outcome.record.requestId);
    } else if (mutation.mutation === "mark-attempt") {
      attempts.forget(mutation.seq, mutation.change.n);
      if (outcome.kind === "done") facts.marked(mutation);
    } else if (mutation.mutation === "expire-files") records.drop(mutation.seq);
    else if (mutation.mutation === "switch-route") {
      routes.switch(mutation.routeId, mutation.reason);
      if (mutation.reason === null) health.reset(mutation.routeId);
      deps.supervisor().routesChanged([mutation.routeId]);
    } else if (isPurchaseMutation(mutation)) {
      if (outcome.kind !== "purchase" || !outcome.changed) return;
      // Taking back pauses an account, also where there was nothing to take, and paying may open it again.
      if (MAY_PAUSE.has(mutation.mutation)) deps.callersChanged();
      if (outcome.movedCredits !== 0)
        facts.credited(mutation.mutation === "pay-purchase" ? "topup" : "adjust", outcome.movedCredits);
    } else if (CHANGES_PEOPLE.has(mutation.mutation)) deps.peopleChanged();
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
    if (watch.committed !== null) watch.committed(mutation, outcome);
  };
};
