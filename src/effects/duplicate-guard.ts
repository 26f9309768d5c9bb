// Prevents duplicate jobs in a restored backup, which may not know that a job was bought.

import type { Attempt, Job } from "../domain/types.ts";
import type { Work } from "../providers/port.ts";
import { type EffectsDeps, namesOf } from "./deps.ts";
import type { Finding, Found } from "./job-lookup.ts";
import type { Task } from "./task-runner.ts";

/**
 * Verdict before an attempt is sent. `first`: every provider that could have been used proved that it has no job. `found`: the
 * job exists. `unsure`: unknown, or another route has a job; then the attempt is not sent.
 */
type Verdict = { kind: "first" } | { kind: "found"; job: Job } | { kind: "unsure" };

export type DuplicateGuard = {
  /** Queries the providers before the attempt takes a slot; returns immediately if a duplicate is impossible. */
  judge(task: Task, work: Work): Promise<void>;
  /** The verdict on an attempt that is about to be sent. */
  verdictOf(seq: number, n: number): Verdict;
};

/**
 * Whether the end of an attempt reveals the fate of its job. Otherwise the service after the backup may have received a delivery.
 */
const isSettled = ({ state, failure }: Attempt): boolean => {
  if (state === "rejected" || state === "absent" || state === "cancelled") return true;
  return state === "failed" && !["gone", "result_expired", "result_unreadable"].includes(failure?.class ?? "gone");
};

export const createDuplicateGuard = (deps: EffectsDeps, finding: Finding): DuplicateGuard => {
  const judged = new Map<string, Verdict>();

  /** The same attempt on another route of the plan; undefined if that provider cannot be queried. */
  const onRoute = (work: Work, routeId: string): Work | undefined => {
    const route = deps.restored?.specOf(routeId);
    if (!route || !deps.providers.configured(route.provider)) return undefined;
    return { ...work, attempt: { ...work.attempt, route } };
  };

  const verdict = async (task: Task, work: Work): Promise<{ verdict: Verdict; state: string } | null> => {
    const { seq, n } = task;
    const own = await finding.lookUp(task, work);
    if (own === null) return null;
    if (own.kind === "found") return { verdict: own, state: "found" };
    const earlier = (await deps.reads.attemptsOf(seq)).filter((one) => one.n < n);
    if (own.kind === "exhausted") return { verdict: { kind: "unsure" }, state: "unknown" };
    if (!earlier.every(isSettled)) return { verdict: { kind: "unsure" }, state: "perhaps delivered by an earlier attempt" };
    const requested = new Set([work.attempt.route.routeId, ...earlier.map(({ route }) => route.routeId)]);
    const others = ((await deps.restored?.planOf(seq)) ?? []).filter(({ routeId }) => !requested.has(routeId));
    const seen = await Promise.all(
      others.map(async ({ routeId }): Promise<Found | null> => {
        const elsewhere = onRoute(work, routeId);
        return elsewhere ? finding.lookUp(task, elsewhere) : { kind: "exhausted" };
      }),
    );
    if (seen.includes(null)) return null;
    const isAlone = seen.every((one) => one?.kind === "absent");
    return { verdict: { kind: isAlone ? "first" : "unsure" }, state: isAlone ? "absent" : "perhaps on another route" };
  };

  return {
    judge: async (task, work) => {
      const { seq, n } = task;
      const name = `${seq}:${n}`;
      // A re-send after a rejection was checked before.
      if (!finding.mayHaveDuplicate(seq) || judged.get(name)?.kind === "first") return;
      const found = await verdict(task, work);
      if (found === null) return;
      judged.set(name, found.verdict);
      deps.log("restored attempt confirmed", {
        ...namesOf(work.attempt),
        route_id: work.attempt.route.routeId,
        state: found.state,
      });
    },
    verdictOf: (seq, n) =>
      finding.mayHaveDuplicate(seq) ? (judged.get(`${seq}:${n}`) ?? { kind: "unsure" }) : { kind: "first" },
  };
};
