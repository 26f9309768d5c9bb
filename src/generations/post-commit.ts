// What follows from a deed on disk: memory is brought up to it, and whom it concerns is told.
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

/** Whoever looks on at what is committed; null while nobody does, and then a deed costs one look at this. */
export type CommitListener = { committed: ((deed: Mutation, outcome: MutationResult) => void) | null };

/** Deeds that change what a key opens: limits, pauses (a dispute pauses too), keys. */
const CHANGES_CALLERS: ReadonlySet<Mutation["deed"]> = new Set([
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
const MAY_PAUSE: ReadonlySet<Mutation["deed"]> = new Set(["pay-purchase", "note-reversal", "note-foreign-reversal"]);

/** Deeds that change what a session opens. */
const CHANGES_PEOPLE: ReadonlySet<Mutation["deed"]> = new Set(["accept-invitation", "end-sessions", "set-person"]);

/** The hook is the only way the supervisor learns of a new generation. */
export const createPostCommit = (deps: PostCommitDeps): ((deed: Mutation, outcome: MutationResult) => void) => {
  const { records, attempts, routes, health, facts, watch } = deps;
  const follow = (deed: Mutation, outcome: MutationResult) => {
    if (deed.deed === "admit" && outcome.kind === "admitted") {
      records.keep(outcome.record);
      attempts.admitted(deed);
      const { seq, id, accountSeq, plan, waitEndsAtMs, pins = [] } = deed;
      deps.supervisor().admitted({ seq, id, accountSeq, plan, waitEndsAtMs, awaitsPins: pins.length > 0 });
    } else if (deed.deed === "step" && outcome.kind === "stepped") {
      records.keep(outcome.record);
      facts.stepped(deed, outcome.record);
      if (outcome.settledCredits !== undefined) {
        facts.credited("adjust", -outcome.settledCredits);
        // A debt that is settled lifts its pause.
        deps.callersChanged();
      }
      attempts.stepped(deed, outcome.record.requestId);
    } else if (deed.deed === "mark-attempt") {
      attempts.forget(deed.seq, deed.change.n);
      if (outcome.kind === "done") facts.marked(deed);
    } else if (deed.deed === "expire-files") records.drop(deed.seq);
    else if (deed.deed === "switch-route") {
      routes.switch(deed.routeId, deed.reason);
      if (deed.reason === null) health.mended(deed.routeId);
      deps.supervisor().routesChanged([deed.routeId]);
    } else if (isPurchaseMutation(deed)) {
      if (outcome.kind !== "purchase" || !outcome.changed) return;
      // Taking back pauses an account, also where there was nothing to take, and paying may open it again.
      if (MAY_PAUSE.has(deed.deed)) deps.callersChanged();
      if (outcome.movedCredits !== 0) facts.credited(deed.deed === "pay-purchase" ? "topup" : "adjust", outcome.movedCredits);
    } else if (CHANGES_PEOPLE.has(deed.deed)) deps.peopleChanged();
    else if (CHANGES_CALLERS.has(deed.deed)) {
      deps.callersChanged();
      if (outcome.kind !== "done") return;
      if (deed.deed === "credit") facts.credited(deed.kind, outcome.credits ?? 0);
      else if (deed.deed === "settle-debt" || deed.deed === "decide-reversal") facts.credited("adjust", outcome.credits ?? 0);
    }
  };
  return (deed, outcome) => {
    follow(deed, outcome);
    if (watch.committed !== null) watch.committed(deed, outcome);
  };
};
