// Work of one node in a cluster: it continues reclaimed generations and applies decisions of other nodes.

import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import { type Decide, type GenerationDecision, isCarriedOut } from "../domain/operator-decision.ts";
import type { Attempt, Job, Json } from "../domain/types.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { Outcome } from "../files/outcome-spool.ts";
import type { createLateResults } from "../generations/late-results.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Hint, Node } from "../store/cluster-port.ts";
import type { Store, StoreReads } from "../store/store.ts";

/** An event for the owner of a generation, whichever node it is. It is stored without an attempt number. */
type ForOwner = GenerationDecision | Outcome;
const isForMachine = ({ n }: Hint): boolean => n <= 0;
/** Whether the attempt row already contains the information of a response. */
const isOnRow = (answer: Outcome, { job, results }: Attempt): boolean => (answer.type === "accepted" ? job : results) !== null;
/** The event of an entry; undefined if it is unreadable. */
const readForOwner = (body: string | null): ForOwner | undefined => {
  try {
    return (JSON.parse(body ?? "null") as ForOwner | null) ?? undefined;
  } catch {
    return undefined;
  }
};
const isDecision = (left: ForOwner): left is GenerationDecision => "decidedAtMs" in left;

/** Stores a decision for the node that owns the generation. */
export const forwardDecision =
  (node: Pick<Node, "leaveHint">): Decide =>
  (seq, decision) =>
    node.leaveHint({ seq, n: -decision.decidedAtMs, body: JSON.stringify(decision) });

export type Takeover = {
  decide: Decide;
  /**
   * Whether a decision reaches the statechart of an open generation. A single process stores no decision, and after crashed starts
   * it restores generations one by one; until then a decision would be lost.
   */
  isReachable: (seq: number) => Promise<boolean>;
  /** Events of other nodes for generations of this node, all or these, by generation; empty for a single node. */
  waiting: (seqs?: readonly number[]) => Promise<ReadonlyMap<number, readonly GenerationEvent[]>>;
  /** Restores generations that another node left. */
  takeUp: (seqs: readonly number[]) => Promise<void>;
  /** Handles a provider callback for the attempt with this reference. */
  hint: (ref: string, body: Json | undefined) => void | Promise<void>;
  /**
   * Handles callbacks and decisions that other nodes received for attempts of this node. @throws the first error after all were
   * tried.
   */
  takeHints: () => Promise<void>;
  /** Stores the response to a submission for the node that owns its generation. */
  passOn: (seq: number, outcome: Outcome) => Promise<void>;
  /** Applies circuit breaker states of other nodes. */
  adoptHealth: () => Promise<void>;
  /** Applies route switches of other nodes. */
  adoptSwitches: () => Promise<void>;
};

type TakeoverDeps = {
  store: Pick<Store, "node"> &
    Pick<
      StoreReads,
      "unfinished" | "attempt" | "attemptsOf" | "jobOwner" | "routeHealth" | "switchedOff" | "eventsOf" | "generationBySeq"
    >;
  supervisor: Pick<Supervisor, "recover" | "resume" | "routesChanged" | "has" | "report" | "idle">;
  late: ReturnType<typeof createLateResults>;
  clock: Pick<Clock, "nowMs">;
  effects: Pick<Effects, "perform" | "isAsking" | "hint" | "takenUp">;
  health: Pick<CircuitBreakers, "adopt" | "states" | "reset">;
  routes: Pick<Routes, "switchAll" | "touch">;
  /** Whether the service has stopped. */
  isOver: () => boolean;
};

export const createTakeover = (deps: TakeoverDeps): Takeover => {
  const { store, supervisor, late, effects, health, routes, clock, isOver } = deps;

  /** A job belongs to one attempt. Meanwhile a look-up may have found it for a generation with the same input. */
  const isOfAnother = async (seq: number, { n, job }: Extract<Outcome, { job?: Job }>): Promise<boolean> => {
    const attempt = job && (await store.attempt(seq, n));
    const owner = attempt && (await store.jobOwner(attempt.route.provider, job.jobId));
    return owner !== undefined && !(owner.seq === seq && owner.n === n);
  };
  /** Whether an event has no effect any more. A rejection belongs to one sending and would otherwise be applied to the next one. */
  const isOutdated = async (seq: number, forwarded: ForOwner): Promise<boolean> => {
    if (forwarded.type === "rejected") return true;
    if (!isDecision(forwarded)) return await isOfAnother(seq, forwarded);
    return (await store.eventsOf(seq)).some(({ event }) => isCarriedOut(forwarded, event));
  };

  /**
   * Events of other nodes that wait for an owner, by generation and in their order. A generation takes them before it does anything
   * else: a cancelled one may be due to be sent, and the job of another may be in such a response. They stay in the inbox until a
   * later read finds them dealt with.
   */
  const waiting: Takeover["waiting"] = async (seqs) => {
    const left = ((await store.node?.events(seqs)) ?? []).map(({ seq, body }) => ({ seq, event: readForOwner(body) }));
    const outdated = await Promise.all(left.map(async ({ seq, event }) => !event || (await isOutdated(seq, event))));
    const found = new Map<number, GenerationEvent[]>();
    for (const [at, { seq, event }] of left.entries())
      if (event && !outdated[at]) found.set(seq, [...(found.get(seq) ?? []), { ...event, atMs: clock.nowMs() }]);
    return found;
  };

  const resume: Takeover["takeUp"] = async (seqs) => {
    for (const seq of seqs) effects.takenUp(seq);
    const pages = await Promise.all(seqs.map((seq) => store.unfinished(seq - 1, 1)));
    const found = pages.flatMap((page, at) => page.filter(({ seq }) => seq === seqs[at])).sort((a, b) => a.seq - b.seq);
    const page = (afterSeq: number, limit: number) => Promise.resolve(found.filter(({ seq }) => seq > afterSeq).slice(0, limit));
    await supervisor.recover(page, await waiting(seqs));
    supervisor.resume();
    // Ended generations are only watched.
    const open = new Set(found.map(({ seq }) => seq));
    for (const seq of seqs.filter((one) => !open.has(one)))
      for (const { n, watchUntilMs } of await store.attemptsOf(seq))
        if (watchUntilMs !== null) effects.perform(seq, { type: "effect.watch", n });
  };

  const isReachable: Takeover["isReachable"] = async (seq) => {
    if (store.node !== null || supervisor.has(seq)) return true;
    // The generation had stopped in this process.
    await resume([seq]);
    return supervisor.has(seq);
  };
  const hasEnded = async (seq: number) => ((await store.generationBySeq(seq))?.completedAtMs ?? null) !== null;
  const isNoted = async (seq: number, answer: Outcome): Promise<boolean> => {
    const attempt = await store.attempt(seq, answer.n);
    return attempt === undefined || isOnRow(answer, attempt);
  };
  /** @returns whether the outcome is committed. */
  const isDealtWith = async (seq: number, forwarded: ForOwner): Promise<boolean> => {
    // It may have been applied at the takeover, and not be committed yet.
    await supervisor.idle(seq);
    if (await isOutdated(seq, forwarded)) return true;
    if (await hasEnded(seq))
      return isDecision(forwarded) || (await isNoted(seq, forwarded)) || (await late(seq, { ...forwarded, atMs: clock.nowMs() }));
    if (!supervisor.has(seq)) {
      // The generation had stopped on this node, and is restored with the entry unless another restore comes first. The next read
      // finds what became of it.
      await resume([seq]);
      return false;
    }
    supervisor.report(seq, { ...forwarded, atMs: clock.nowMs() });
    await supervisor.idle(seq);
    // If the generation ended meanwhile or cannot use the response before its end, the next read handles it.
    return supervisor.has(seq) && (isDecision(forwarded) || (await isNoted(seq, forwarded)));
  };

  /** Keys (generation and number) of inbox entries that are being applied. */
  const acting = new Set<string>();
  /** Until the entry is deleted, the next owner would receive it again. */
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

  const takeHints: Takeover["takeHints"] = async () => {
    const { node } = store;
    const faults: unknown[] = [];
    const failed = (fault: unknown) => faults.push(fault);
    const acts: Promise<unknown>[] = [];
    for (const hint of (await node?.hints()) ?? []) {
      const { seq, n, body } = hint;
      // An entry that fails does not block the others.
      if (node && isForMachine(hint)) acts.push(actOn(node, hint).catch(failed));
      // An attempt that was reclaimed just now is polled soon anyway.
      else if (effects.isAsking(seq, n)) {
        // The entry is deleted in any case, because the provider is polled as well.
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
    waiting,
    takeUp: resume,
    takeHints,
    isReachable,
    decide: async (seq, decision) => {
      if (store.node === null) {
        // The generation had stopped in this process.
        if (!supervisor.has(seq)) await resume([seq]);
        return supervisor.report(seq, { ...decision, atMs: clock.nowMs() });
      }
      // Stored so that it survives this process; the owner of the generation finds it.
      await forwardDecision(store.node)(seq, decision);
      if (supervisor.has(seq)) await takeHints();
    },
    passOn: async (seq, outcome) => store.node?.leaveHint({ seq, n: -outcome.n, body: JSON.stringify(outcome) }),
    hint: (ref, body) => {
      const [, name = "", digits = ""] = /^([0-9a-z]+)-([1-9][0-9]{0,3})$/.exec(ref) ?? [];
      const [seq, n] = [seqOfGenerationId(`gen_${name}`), Number(digits)];
      if (seq === undefined || isOver()) return undefined;
      // The node that polls the attempt receives the callback, whichever node the provider called.
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
      // Enabling a route removes the reason why it was down.
      for (const [routeId, state] of health.states()) if (state !== "closed" && !saved.has(routeId)) health.reset(routeId);
      supervisor.routesChanged(changed);
    },
  };
};
