// Chooses the next route of a waiting generation (fallback): the first available route of its plan.
import type { GenerationSnapshot } from "../generation/snapshot.ts";
import type { Passed } from "../generation/types.ts";
import type { Gate, Queued } from "./types.ts";

/** A generation that waits for a route, with its position in the plan. */
export type QueuedCandidate = Queued & { nextRoute: number; tried: number };

/** `route` is an index into the plan, null if no route is available. */
export type Choice =
  | ({ route: number; routeId: string; passed: Passed[] } & Pick<Extract<Gate, { kind: "open" }>, "spec" | "watchMs">)
  | { route: null; passed: Passed[] };

export const choose = (line: QueuedCandidate, gateOf: (routeId: string) => Gate): Choice => {
  const passed: Passed[] = [];
  for (let route = line.nextRoute; route < line.plan.length; route += 1) {
    const routeId = line.plan[route]?.routeId;
    if (routeId === undefined) continue;
    const gate = gateOf(routeId);
    if (gate.kind === "open") return { route, routeId, spec: gate.spec, watchMs: gate.watchMs, passed };
    passed.push({ routeId, reason: gate.reason });
  }
  return { route: null, passed };
};

/**
 * The queue entry of a generation that has not run yet. It keeps only the needed fields, because the source may hold the whole
 * input.
 */
export const newLine = ({ seq, id, accountSeq, plan, waitEndsAtMs, awaitsPins }: Queued): QueuedCandidate => ({
  seq,
  id,
  accountSeq,
  plan,
  waitEndsAtMs,
  awaitsPins,
  nextRoute: 0,
  tried: 0,
});

/** The event that begins the next attempt on the chosen route, whose place is taken. */
export const begunOn = (line: QueuedCandidate, choice: Extract<Choice, { routeId: string }>, atMs: number) => {
  const n = line.tried + 1;
  const { route, spec, watchMs, passed } = choice;
  // The attempt reference consists of the generation id without its prefix and the attempt number, so that an operator finds it
  // in a provider's list.
  return { type: "begun", n, route, spec, ref: `${line.id.slice("gen_".length)}-${n}`, watchMs, passed, atMs } as const;
};

/** The queue entry of a running generation that waits for its next route. */
export const lineOf = (
  of: Pick<QueuedCandidate, "seq" | "id" | "accountSeq">,
  { context }: GenerationSnapshot,
): QueuedCandidate => {
  const { plan, waitEndsAtMs, nextRoute, tried } = context;
  return { seq: of.seq, id: of.id, accountSeq: of.accountSeq, plan, waitEndsAtMs, nextRoute, tried, awaitsPins: false };
};
