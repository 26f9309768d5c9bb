// Twins: in a restored copy of a backup, jobs that a service whose books are gone may have bought for a generation that goes on here.

import type { Attempt, Job } from "../domain/types.ts";
import type { Work } from "../providers/port.ts";
import { type EffectsDeps, namesOf } from "./deps.ts";
import type { Finding, Found } from "./job-lookup.ts";
import type { Task } from "./task-runner.ts";

/**
 * What is known before an attempt is sent. `first`: every provider that could have been used has proved that it was not. `found`: its job is
 * there. `unsure`: unknown, or another route has a job; then it is not sent.
 */
type Verdict = { kind: "first" } | { kind: "found"; job: Job } | { kind: "unsure" };

export type DuplicateGuard = {
  /** Asks, before anything is taken or written for the attempt; at once for one that can have no twin. */
  judge(task: Task, work: Work): Promise<void>;
  /** The judgement of an attempt that is about to be sent. */
  verdictOf(seq: number, n: number): Verdict;
};

/** Ends of attempts that say what became of their job: what ended otherwise may have delivered to the service whose books are gone. */
const isSettled = ({ state, failure }: Attempt): boolean => {
  if (state === "rejected" || state === "absent" || state === "cancelled") return true;
  return state === "failed" && !["gone", "result_expired", "result_unreadable"].includes(failure?.class ?? "gone");
};

export const createDuplicateGuard = (deps: EffectsDeps, finding: Finding): DuplicateGuard => {
  const judged = new Map<string, Verdict>();

  /** The same attempt as it would have been on another route of the plan; undefined where nobody could ask about that one. */
  const onRoute = (work: Work, routeId: string): Work | undefined => {
    const route = deps.restored?.specOf(routeId);
    if (!route || !deps.providers.configured(route.provider)) return undefined;
    return { ...work, attempt: { ...work.attempt, route } };
  };

  const verdict = async (task: Task, work: Work): Promise<{ verdict: Verdict; told: string } | null> => {
    const { seq, n } = task;
    const own = await finding.lookUp(task, work);
    if (own === null) return null;
    if (own.kind === "found") return { verdict: own, told: "found" };
    const earlier = (await deps.reads.attemptsOf(seq)).filter((one) => one.n < n);
    if (own.kind === "exhausted") return { verdict: { kind: "unsure" }, told: "unknown" };
    if (!earlier.every(isSettled)) return { verdict: { kind: "unsure" }, told: "perhaps delivered by an earlier attempt" };
    const asked = new Set([work.attempt.route.routeId, ...earlier.map(({ route }) => route.routeId)]);
    const others = ((await deps.restored?.planOf(seq)) ?? []).filter(({ routeId }) => !asked.has(routeId));
    const seen = await Promise.all(
      others.map(async ({ routeId }): Promise<Found | null> => {
        const elsewhere = onRoute(work, routeId);
        return elsewhere ? finding.lookUp(task, elsewhere) : { kind: "exhausted" };
      }),
    );
    if (seen.includes(null)) return null;
    const isAlone = seen.every((one) => one?.kind === "absent");
    return { verdict: { kind: isAlone ? "first" : "unsure" }, told: isAlone ? "absent" : "perhaps on another route" };
  };

  return {
    judge: async (task, work) => {
      const { seq, n } = task;
      const name = `${seq}:${n}`;
      // Sent again after it was refused, it has been judged before.
      if (!finding.mayHaveTwin(seq) || judged.get(name)?.kind === "first") return;
      const found = await verdict(task, work);
      if (found === null) return;
      judged.set(name, found.verdict);
      deps.log("restored attempt confirmed", {
        ...namesOf(work.attempt),
        route_id: work.attempt.route.routeId,
        state: found.told,
      });
    },
    verdictOf: (seq, n) => (finding.mayHaveTwin(seq) ? (judged.get(`${seq}:${n}`) ?? { kind: "unsure" }) : { kind: "first" }),
  };
};
