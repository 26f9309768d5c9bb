// Disk of a node: the real store in memory, behind faulty commits.
//
// It outlives the node. Commits can be slow, refused, or have an unknown outcome.

import { StoreFull, StoreUnknown } from "../../domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import { appliedEvents } from "../../domain/transition.ts";
import { openSqliteOver } from "../../store/sqlite/in-process.ts";
import type { Store, StoreReads } from "../../store/store.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import type { Crossing, NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import type { Trace } from "./trace.ts";
import type { WorldDatabase } from "./world-database.ts";

/** A defective capture that differs from the price of its attempt. The store refuses it, and its generation is parked. */
export const defective =
  (dice: Rng, faults: () => Faults, situations: CoverageCounters) =>
  (mutation: Mutation): Mutation => {
    if (mutation.mutation !== "step" || mutation.settlement?.kind !== "capture" || !dice.chance(faults().refusedCapture))
      return mutation;
    situations.count("parked");
    return { ...mutation, settlement: { ...mutation.settlement, credits: mutation.settlement.credits + 1 } };
  };

/**
 * Reports a transition or an admission that the store refuses although it was not tampered with; the service must never send one. @param sent the
 * mutations as the store received them
 */
export const checkTransitions = (
  mutations: readonly Mutation[],
  sent: readonly Mutation[],
  outcomes: readonly MutationResult[],
  fault: (text: string) => void,
): void => {
  mutations.forEach((mutation, at) => {
    const outcome = outcomes[at];
    if (outcome?.kind !== "refused" || sent[at] !== mutation) return;
    if (mutation.mutation === "step") fault(`${mutation.seq}: the store refused its ${mutation.event.type}: ${outcome.reason}`);
    if (mutation.mutation === "admit") fault(`${mutation.id}: the store refused its admission: ${outcome.reason}`);
  });
};

export type DiskDeps = {
  database: WorldDatabase;
  life: NodeLife;
  dice: Rng;
  faults: () => Faults;
  isFull: () => boolean;
  trace: Trace;
  /** Changes a mutation before it reaches the store. */
  tamper: (mutation: Mutation) => Mutation;
  /** Mutations are durable now. */
  committed: (mutations: readonly Mutation[], outcomes: readonly MutationResult[]) => void;
  /** Reports behaviour that the service must never show. */
  fault: (text: string) => void;
};

/** The crossing of a commit, from its most important mutation. */
export const crossingOf = (mutations: readonly Mutation[]): Crossing => {
  const isStepTo = (state: string) => mutations.some((mutation) => mutation.mutation === "step" && mutation.stateAfter === state);
  if (mutations.some((mutation) => mutation.mutation === "step" && mutation.settlement)) return "commit: settled";
  if (isStepTo("running.submitting.sending")) return "commit: sending";
  if (isStepTo("running.polling")) return "commit: accepted";
  if (isStepTo("running.submitting.intent")) return "commit: attempt begun";
  return mutations.some((mutation) => mutation.mutation === "admit") ? "commit: admitted, not answered" : "commit: other";
};

/** One line for the trace: the mutation's subject and its outcome. */
export const describeMutation = (trace: Trace, who: string, mutation: Mutation, outcome: MutationResult): void => {
  if (mutation.mutation === "step") {
    for (const { event, stateAfter, version } of appliedEvents(mutation)) {
      const n = "n" in event ? String(event.n) : "";
      trace.report(who, event.type, `${mutation.seq} ${n}`, `${stateAfter} v${version} ${outcome.kind}`);
    }
  } else if (mutation.mutation === "admit")
    trace.report(who, "admit", mutation.id, `${mutation.idempotencyKey ?? "no key"} ${outcome.kind}`);
  else if (mutation.mutation === "mark-attempt")
    trace.report(who, "mark-attempt", `${mutation.seq} ${mutation.change.n}`, `${mutation.change.state ?? ""} ${outcome.kind}`);
  else if (mutation.mutation !== "beat") trace.report(who, mutation.mutation, "", outcome.kind);
};

type Read = Exclude<keyof StoreReads, "close">;
/** The reads that the engine awaits during its work. */
export const ASKED: readonly Read[] = [
  "generationByKey",
  "inputOf",
  "attempt",
  "unfinished",
  "watchedAttempts",
  "jobOwner",
  "generationById",
  "webhookLanes",
  "nextWebhooks",
  "webhookEndpoint",
];

/** Wraps reads that occasionally respond late. @param reach awaited before each read; the read throws its error. */
export const lateReads = <R extends StoreReads>(
  { life, dice, faults }: Pick<DiskDeps, "life" | "dice" | "faults">,
  inner: R,
  names: readonly Read[] = ASKED,
  reach: () => Promise<void> = () => Promise.resolve(),
): R => {
  const slowed = <K extends Read>(name: K): StoreReads[K] => {
    const read = inner[name] as (...words: unknown[]) => Promise<unknown>;
    const late = async (...words: unknown[]): Promise<unknown> => {
      if (dice.chance(faults().slowRead)) await life.sleep(dice.between(0, 50));
      await life.cross("read");
      await reach();
      const answer = await read(...words);
      if (dice.chance(faults().slowRead)) await life.sleep(dice.between(0, 50));
      return answer;
    };
    return late as unknown as StoreReads[K];
  };
  return { ...inner, ...Object.fromEntries(names.map((name) => [name, slowed(name)])) };
};

export const createDisk = async (deps: DiskDeps): Promise<Store> => {
  const { life, dice, trace } = deps;
  const inner = await openSqliteOver(deps.database, { mode: "test", nowMs: life.clock.nowMs() });

  const commit = async (mutations: readonly Mutation[]): Promise<MutationResult[]> => {
    const faults = deps.faults();
    await life.cross("commit: before");
    await life.sleep(dice.chance(faults.slowCommit) ? dice.between(100, 4_000) : dice.between(0, 4));
    await life.cross("commit: before");
    if (deps.isFull()) throw new StoreFull("the disk is full");
    const isUnknown = dice.chance(faults.unknownCommit);
    if (isUnknown && dice.chance(0.5)) throw new StoreUnknown("a sync failed, and nothing was written");
    const sent = mutations.map(deps.tamper);
    const outcomes = await inner.commit(sent);
    deps.committed(sent, outcomes);
    checkTransitions(mutations, sent, outcomes, deps.fault);
    mutations.forEach((mutation, at) => {
      const outcome = outcomes[at];
      if (outcome) describeMutation(trace, life.name, mutation, outcome);
    });
    if (isUnknown) throw new StoreUnknown("a sync failed, and all was written");
    await life.cross(crossingOf(mutations));
    return outcomes;
  };

  return { ...lateReads(deps, inner), commit };
};
