// Which route comes next for a generation in line: the first that may be used; the ones before it are passed over.
import type { GenerationSnapshot } from "../generation/snapshot.ts";
import type { Passed } from "../generation/types.ts";
import type { Gate, Queued } from "./types.ts";

/** A generation that waits for a route, and where in its plan it stands. */
export type InLine = Queued & { nextRoute: number; tried: number };

/** `route` is an index into the plan, null when none may be used. */
export type Choice =
  | ({ route: number; routeId: string; passed: Passed[] } & Pick<Extract<Gate, { kind: "open" }>, "spec" | "watchMs">)
  | { route: null; passed: Passed[] };

export const choose = (line: InLine, gateOf: (routeId: string) => Gate): Choice => {
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

/** The place in line of a generation that has had no route yet. Only what is needed is kept: what it comes from may hold the whole input. */
export const newLine = ({ seq, id, accountSeq, plan, waitEndsAtMs, awaitsPins }: Queued): InLine => ({
  seq,
  id,
  accountSeq,
  plan,
  waitEndsAtMs,
  awaitsPins,
  nextRoute: 0,
  tried: 0,
});

/** A seat is taken on the route that was chosen: its next attempt begins. */
export const begunOn = (line: InLine, choice: Extract<Choice, { routeId: string }>, atMs: number) => {
  const n = line.tried + 1;
  const { route, spec, watchMs, passed } = choice;
  // The body of the id and the number: unique, and a person finds it again in a provider's list.
  return { type: "begun", n, route, spec, ref: `${line.id.slice("gen_".length)}-${n}`, watchMs, passed, atMs } as const;
};

/** The place in line of a generation that runs and waits for its next route. */
export const lineOf = (of: Pick<InLine, "seq" | "id" | "accountSeq">, { context }: GenerationSnapshot): InLine => {
  const { plan, waitEndsAtMs, nextRoute, tried } = context;
  return { seq: of.seq, id: of.id, accountSeq: of.accountSeq, plan, waitEndsAtMs, nextRoute, tried, awaitsPins: false };
};
