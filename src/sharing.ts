// What an engine does as one of several nodes: it goes on with what another has left, and takes over what others judge and switch.

import type { HealthDesk } from "../actors/health-desk.ts";
import type { Supervisor } from "../actors/supervisor.ts";
import type { Clock } from "./clock.ts";
import type { Decide, OperatorDecision } from "./decision.ts";
import type { Effects } from "./effects/effects.ts";
import { seqOfGenerationId } from "./ids.ts";
import type { Routes } from "./routes.ts";
import type { Node } from "./store/node.ts";
import type { Store, StoreReads } from "./store/store.ts";
import type { Json } from "./terms.ts";

/** The number of no attempt: what is left for the owner under it is an operator's decision. */
const DECISION = 0;

/** Leaves a decision for whichever node owns the generation. */
export const leaveDecision =
  (node: Pick<Node, "leaveHint">): Decide =>
  (seq, decision) =>
    node.leaveHint({ seq, n: DECISION, body: JSON.stringify(decision) });

export type Sharing = {
  decide: Decide;
  /** Goes on with generations that another node has left. */
  takeUp: (seqs: readonly number[]) => Promise<void>;
  /** A provider says that there is news of the attempt of this name. */
  hint: (ref: string, body: Json | undefined) => void | Promise<void>;
  /** Acts on what providers told other nodes of what this one asks about. @throws the first fault, when all have had their turn. */
  takeHints: () => Promise<void>;
  /** What other nodes have judged of routes counts here too. */
  adoptHealth: () => Promise<void>;
  /** What operators have switched at other nodes counts here too. */
  adoptSwitches: () => Promise<void>;
};

type SharingParts = {
  store: Pick<Store, "node"> & Pick<StoreReads, "unfinished" | "attemptsOf" | "routeHealth" | "switchedOff">;
  supervisor: Pick<Supervisor, "recover" | "resume" | "routesChanged" | "has" | "report">;
  clock: Pick<Clock, "nowMs">;
  effects: Pick<Effects, "perform" | "isAsking" | "hint" | "takenUp">;
  health: Pick<HealthDesk, "adopt" | "states" | "mended">;
  routes: Pick<Routes, "switchAll" | "touch">;
  /** The service is stopped. */
  isOver: () => boolean;
};

export const openSharing = (parts: SharingParts): Sharing => {
  const { store, supervisor, effects, health, routes, clock, isOver } = parts;

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

  /** This node owns the generation. */
  const decideHere = async (seq: number, decision: OperatorDecision): Promise<void> => {
    // It had stopped here.
    if (!supervisor.has(seq)) await takeUp([seq]);
    supervisor.report(seq, { ...decision, atMs: clock.nowMs() });
  };

  return {
    takeUp,
    decide: async (seq, decision) => {
      // One that is not here may be another node's: its row says whose it is.
      if (store.node === null || supervisor.has(seq)) await decideHere(seq, decision);
      else await leaveDecision(store.node)(seq, decision);
    },
    hint: (ref, body) => {
      const [, name = "", digits = ""] = /^([0-9a-z]+)-([1-9][0-9]{0,3})$/.exec(ref) ?? [];
      const [seq, n] = [seqOfGenerationId(`gen_${name}`), Number(digits)];
      if (seq === undefined || isOver()) return undefined;
      // Whichever node a provider comes to, the one that asks about the attempt hears of it.
      if (store.node === null || effects.isAsking(seq, n)) return effects.hint(seq, n, body);
      return store.node.leaveHint({ seq, n, body: body === undefined ? null : JSON.stringify(body) });
    },
    takeHints: async () => {
      const faults: unknown[] = [];
      for (const hint of (await store.node?.hints()) ?? []) {
        const { seq, n, body } = hint;
        // What was only just taken over is asked about in a moment.
        if (n !== DECISION && !effects.isAsking(seq, n)) continue;
        // One that cannot be acted on is dropped like the others and holds up none of them: the provider is asked all the same.
        try {
          if (n === DECISION) await decideHere(seq, JSON.parse(body ?? "null") as OperatorDecision);
          else effects.hint(seq, n, body === null ? undefined : (JSON.parse(body) as Json));
        } catch (fault) {
          faults.push(fault);
        }
        await store.node?.dropHint(hint).catch((fault: unknown) => faults.push(fault));
      }
      if (faults.length > 0) throw faults[0];
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
      for (const [routeId, state] of health.states()) if (state !== "closed" && !saved.has(routeId)) health.mended(routeId);
      supervisor.routesChanged(changed);
    },
  };
};
