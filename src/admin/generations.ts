// Operator decisions: settle, fail or retry a generation, with a recorded reason.
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult, Principal } from "../domain/mutations.ts";
import { type Decide, type Decision, isCarriedOut, type OperatorDecision } from "../domain/operator-decision.ts";
import type { Attempt, AttemptState, Credits, GenerationStatus } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import { AdminError } from "./admin-error.ts";
import { requireDone } from "./keys.ts";

/** `attempt`: null for the newest attempt that can be settled; only `settle` accepts a number. */
export type DecisionRequest = { id: string; decision: Decision; attempt: number | null; reason: string };
/**
 * A generation after a decision. `state` is the state of its statechart. `isTaken` is true if the decision has been applied;
 * otherwise its node applies it within a minute, unless the generation has ended or changed before.
 */
export type Decided = {
  id: string;
  status: GenerationStatus;
  state: string;
  isTaken: boolean;
  costCredits: Credits | null;
  message: string | null;
};

/** Every method throws AdminError for a rejection. */
export type GenerationAdmin = { decideGeneration(request: DecisionRequest): Promise<Decided> };

export type GenerationAdminDeps = {
  reads: Pick<StoreReads, "findGeneration" | "generationBySeq" | "eventsOf" | "attemptsOf" | "planOf">;
  post: (mutation: AdminMutation) => Promise<AdminResult>;
  /** Sends a decision to the statechart of a generation; null if no service runs. */
  decide: Decide | null;
  /** Whether a decision reaches the generation now; absent: always. */
  isReachable?: ((seq: number) => Promise<boolean>) | undefined;
  /** The principal of the decision; null if unknown. */
  by: Principal | null;
  clock: Clock;
};

/** A service on the same machine acts at once; another node acts at its next scan. */
const TAKEN_WITHIN_MS = 10_000;
const POLL_MS = 25;
/** Attempt states after which the provider may still have delivered. */
export const MAY_HAVE_DELIVERED: ReadonlySet<AttemptState> = new Set(["accepted", "lost", "capped", "failed"]);

const refused = (message: string, fix?: string): AdminError =>
  new AdminError("refused", message, { code: "refused", ...(fix ? { fix } : {}) });

/**
 * States in which each decision is allowed: the generation waits for an operator, or for a provider that may never answer. While
 * a result is downloaded, the dispatcher retries automatically.
 */
const MAY_BE: Readonly<Record<Exclude<Decision, "fail">, readonly string[]>> = {
  retry: ["running.parked", "running.confirming.acceptance"],
  settle: ["running.parked", "running.confirming.acceptance", "running.confirming.result"],
};
const isKnown = ({ job, results }: Attempt): boolean => job !== null || (results ?? []).length > 0;

/** The attempt to settle: the named one, or the newest with a job or a result. @throws AdminError */
const deliveredOf = (id: string, attempts: readonly Attempt[], n: number | null): Attempt => {
  const trace = `genrouter trace ${id} prints its attempts`;
  const found = n === null ? attempts.findLast((one) => MAY_HAVE_DELIVERED.has(one.state) && isKnown(one)) : attempts[n - 1];
  if (!found)
    throw refused(
      n === null ? `no attempt of ${id} has a job or a result: it cannot be charged` : `${id} has no attempt ${n}`,
      trace,
    );
  if (!isKnown(found)) throw refused(`attempt ${found.n} of ${id} has neither a job nor a result: it cannot be charged`, trace);
  if (!MAY_HAVE_DELIVERED.has(found.state))
    throw refused(`attempt ${found.n} of ${id} is ${found.state}: it is not charged`, trace);
  return found;
};

export const createGenerationAdmin = ({ reads, post, decide, isReachable, by, clock }: GenerationAdminDeps): GenerationAdmin => {
  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const stateOf = async (seq: number, decision?: OperatorDecision): Promise<{ state: string; isTaken: boolean }> => {
    const events = await reads.eventsOf(seq);
    const isTaken = decision !== undefined && events.some(({ event }) => isCarriedOut(decision, event));
    return { state: events.at(-1)?.stateAfter ?? "queued", isTaken };
  };
  /** The decision as an event of the statechart. @throws AdminError if its state does not accept the event */
  const decisionOf = async (
    { id, decision, attempt, reason }: DecisionRequest,
    seq: number,
    state: string,
    decidedAtMs: number,
  ): Promise<OperatorDecision> => {
    const why = { by: by?.name ?? "operator", reason, decidedAtMs };
    if (decision === "fail") return { type: "failedByOperator", ...why };
    if (!MAY_BE[decision].includes(state))
      throw refused(
        `${id} is ${state}: it continues without an operator; the only possible decision is fail`,
        `genrouter trace ${id} prints its state`,
      );
    const attempts = await reads.attemptsOf(seq);
    if (decision === "retry") return { type: "retriedByOperator", ...why, hasJob: attempts.at(-1)?.job != null };
    const { n, route, job } = deliveredOf(id, attempts, attempt);
    const plan = (await reads.planOf(seq))?.plan ?? [];
    const at = plan.findIndex(({ routeId }) => routeId === route.routeId);
    return { type: "settledByOperator", n, route: at, ...(job ? { job } : {}), ...why };
  };

  return {
    decideGeneration: async (request) => {
      const { id, decision, attempt, reason } = request;
      const record = await reads.findGeneration(id);
      if (!record) throw new AdminError("notFound", `there is no generation ${id}`, { code: "not_found" });
      const { seq } = record;
      if (record.completedAtMs !== null) throw refused(`${id} has ended: it ${record.status}`);
      if (decide === null)
        throw new AdminError("tryAgain", "the decision requires a running service, and no service is running here", {
          fix: "start genrouter serve, then repeat the command",
          code: "not_running",
        });
      if (isReachable && !(await isReachable(seq)))
        throw new AdminError("tryAgain", `${id} is being restored after a restart`, {
          fix: "repeat the command in a minute",
          code: "restoring",
        });
      const atMs = clock.nowMs();
      const reported = await decisionOf(request, seq, (await stateOf(seq)).state, atMs);
      requireDone(
        await post({
          mutation: "decide-generation",
          seq,
          decision,
          attempt: "n" in reported ? reported.n : attempt,
          reason,
          atMs,
        }),
      );
      await decide(seq, reported);
      for (let waitedMs = 0; ; waitedMs += POLL_MS) {
        const ended = (await reads.generationBySeq(seq))?.completedAtMs ?? null;
        const { state, isTaken } = await stateOf(seq, reported);
        if (isTaken || ended !== null || waitedMs >= TAKEN_WITHIN_MS) {
          const { status, costCredits, error, message } = (await reads.generationBySeq(seq)) ?? record;
          return { id, status, state, isTaken, costCredits, message: error?.message ?? message };
        }
        await pause(POLL_MS);
      }
    },
  };
};
