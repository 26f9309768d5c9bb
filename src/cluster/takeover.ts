// What an engine does as one of several nodes: it goes on with what another has left, and takes over what others judge and switch.

import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import { type Decide, isCarriedOut, type OperatorDecision } from "../domain/operator-decision.ts";
import type { Attempt, Json } from "../domain/types.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { Outcome } from "../files/outcome-spool.ts";
import type { createLateResults } from "../generations/late-results.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Hint, Node } from "../store/cluster-port.ts";
import type { Store, StoreReads } from "../store/store.ts";

/** What the machine of a generation is told by its owner, whichever node has it. It is left under the number of no attempt. */
type ForOwner = OperatorDecision | Outcome;
const isForMachine = ({ n }: Hint): boolean => n <= 0;
/** Whether an attempt's row says already what an answer tells. */
const isOnRow = (answer: Outcome, { job, results }: Attempt): boolean => (answer.type === "accepted" ? job : results) !== null;
const isDecision = (left: ForOwner): left is OperatorDecision => "decidedAtMs" in left;

/** Leaves a decision for whichever node owns the generation. */
export const leaveDecision =
  (node: Pick<Node, "leaveHint">): Decide =>
  (seq, decision) =>
    node.leaveHint({ seq, n: -decision.decidedAtMs, body: JSON.stringify(decision) });

export type Sharing = {
  decide: Decide;
  /** Goes on with generations that another node has left. */
  takeUp: (seqs: readonly number[]) => Promise<void>;
  /** A provider says that there is news of the attempt of this name. */
  hint: (ref: string, body: Json | undefined) => void | Promise<void>;
  /** Acts on what providers told other nodes of what this one asks about. @throws the first fault, when all have had their turn. */
  takeHints: () => Promise<void>;
  /** Leaves the answer to a submission of a generation that is not this node's for its owner. */
  passOn: (seq: number, outcome: Outcome) => Promise<void>;
  /** What other nodes have judged of routes counts here too. */
  adoptHealth: () => Promise<void>;
  /** What operators have switched at other nodes counts here too. */
  adoptSwitches: () => Promise<void>;
};

type SharingParts = {
  store: Pick<Store, "node"> &
    Pick<StoreReads, "unfinished" | "attempt" | "attemptsOf" | "routeHealth" | "switchedOff" | "journalOf" | "generationBySeq">;
  supervisor: Pick<Supervisor, "recover" | "resume" | "routesChanged" | "has" | "report" | "idle">;
  late: ReturnType<typeof createLateResults>;
  clock: Pick<Clock, "nowMs">;
  effects: Pick<Effects, "perform" | "isAsking" | "hint" | "takenUp">;
  health: Pick<CircuitBreakers, "adopt" | "states" | "reset">;
  routes: Pick<Routes, "switchAll" | "touch">;
  /** The service is stopped. */
  isOver: () => boolean;
};

export const createTakeover = (deps: SharingParts): Sharing => {
  const { store, supervisor, late, effects, health, routes, clock, isOver } = deps;

  const takeUp: Sharing["takeUp"] = async (seqs) => {
    for (const seq of seqs) effects.takenUp(seq);
    const pages = await Promise.all(seqs.map((seq) => store.unfinished(seq - 1, 1)));
    const found = pages.flatMap((page, at) => page.filter(({ seq }) => seq === seqs[at])).sort((a, b) => a.seq - b.seq);
    await supervisor.recover((afterSeq, limit) => Promise.resolve(found.filter(({ seq }) => seq > afterSeq).slice(0, limit)));
    supervisor.resume();
    // Those that have ended are only asked about.
    const open = new Set(found.map(({ seq }) => seq));
    for (const seq of seqs.filter((one) => !open.has(one)))
      for (const { n, watchUntilMs } of await store.attemptsOf(seq))
        if (watchUntilMs !== null) effects.perform(seq, { type: "ask.watch", n });
  };

  const hasEnded = async (seq: number) => ((await store.generationBySeq(seq))?.completedAtMs ?? null) !== null;
  /** This node owns the generation. */
  const tellHere = async (seq: number, told: ForOwner): Promise<void> => {
    // It had stopped here.
    if (!supervisor.has(seq)) await takeUp([seq]);
    supervisor.report(seq, { ...told, atMs: clock.nowMs() });
  };
  const isNoted = async (seq: number, answer: Outcome): Promise<boolean> => {
    const attempt = await store.attempt(seq, answer.n);
    return attempt === undefined || isOnRow(answer, attempt);
  };
  /** @returns whether it is on disk what became of it. */
  const isDealtWith = async (seq: number, told: ForOwner): Promise<boolean> => {
    // A refusal is of one sending, and would stand for the next one.
    if (told.type === "rejected") return true;
    if (isDecision(told) && (await store.journalOf(seq)).some(({ event }) => isCarriedOut(told, event))) return true;
    if (await hasEnded(seq))
      return isDecision(told) || (await isNoted(seq, told)) || (await late(seq, { ...told, atMs: clock.nowMs() }));
    await tellHere(seq, told);
    await supervisor.idle(seq);
    // Where it has ended meanwhile, or has no use for an answer before its end, the next look notes it.
    return supervisor.has(seq) && (isDecision(told) || (await isNoted(seq, told)));
  };

  /** By generation and number: what the machine is being told of. */
  const acting = new Set<string>();
  /** Until it is dropped, the next owner would be told. */
  const actOn = async (node: Node, hint: Hint): Promise<void> => {
    const { seq, n, body } = hint;
    const key = `${seq} ${n}`;
    if (acting.has(key)) return;
    acting.add(key);
    try {
      if (await isDealtWith(seq, JSON.parse(body ?? "null") as ForOwner)) await node.dropHint(hint);
    } finally {
      acting.delete(key);
    }
  };

  const takeHints: Sharing["takeHints"] = async () => {
    const { node } = store;
    const faults: unknown[] = [];
    const failed = (fault: unknown) => faults.push(fault);
    const acts: Promise<unknown>[] = [];
    for (const hint of (await node?.hints()) ?? []) {
      const { seq, n, body } = hint;
      // One that cannot be acted on holds up none of the others.
      if (node && isForMachine(hint)) acts.push(actOn(node, hint).catch(failed));
      // What was only just taken over is asked about in a moment.
      else if (effects.isAsking(seq, n)) {
        // It is dropped, whatever comes of it: the provider is asked all the same.
        try {
          effects.hint(seq, n, body === null ? undefined : (JSON.parse(body) as Json));
        } catch (fault) {
          failed(fault);
        }
        await node?.dropHint(hint).catch(failed);
      }
    }
    await Promise.all(acts);
    if (faults.length > 0) throw faults[0];
  };

  return {
    takeUp,
    takeHints,
    decide: async (seq, decision) => {
      if (store.node === null) return await tellHere(seq, decision);
      // Left where it outlives this process, and whoever owns the generation finds it.
      await leaveDecision(store.node)(seq, decision);
      if (supervisor.has(seq)) await takeHints();
    },
    passOn: async (seq, outcome) => store.node?.leaveHint({ seq, n: -outcome.n, body: JSON.stringify(outcome) }),
    hint: (ref, body) => {
      const [, name = "", digits = ""] = /^([0-9a-z]+)-([1-9][0-9]{0,3})$/.exec(ref) ?? [];
      const [seq, n] = [seqOfGenerationId(`gen_${name}`), Number(digits)];
      if (seq === undefined || isOver()) return undefined;
      // Whichever node a provider comes to, the one that asks about the attempt hears of it.
      if (store.node === null || effects.isAsking(seq, n)) return effects.hint(seq, n, body);
      return store.node.leaveHint({ seq, n, body: body === undefined ? null : JSON.stringify(body) });
    },
    adoptHealth: async () => {
      const saved = await store.routeHealth();
      const changed = [...saved].filter(([routeId, snapshot]) => health.adopt(routeId, snapshot)).map(([routeId]) => routeId);
      if (changed.length === 0) return;
      routes.touch();
      supervisor.routesChanged(changed);
    },
    adoptSwitches: async () => {
      const [saved, off] = await Promise.all([store.routeHealth(), store.switchedOff()]);
      const changed = routes.switchAll(new Map(off.map(({ routeId, reason }) => [routeId, reason])));
      // Who switches a route on takes away why it was down.
      for (const [routeId, state] of health.states()) if (state !== "closed" && !saved.has(routeId)) health.reset(routeId);
      supervisor.routesChanged(changed);
    },
  };
};
