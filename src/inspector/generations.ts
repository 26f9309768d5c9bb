// Observes generations: reads the open ones when the first viewer connects, then follows commits.

import { storedLeaf, storedMemory } from "../../actors/generation/snapshot.ts";
import type { AdmitGeneration } from "../domain/mutations.ts";
import { type ApplyTransition, appliedEvents, firstVersionOf } from "../domain/transition.ts";
import type { GenerationRecord, PlannedRoute } from "../domain/types.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { StoreReads } from "../store/store.ts";
import type { ActorRegistry, Happened, Known } from "./actor-registry.ts";
import { definitionOf } from "./definitions.ts";
import type { ActorRow } from "./dto.ts";
import { readWriters } from "./generation-history.ts";
import { createRemoteActors, type RemoteActors, type RemoteActorsDeps } from "./remote-actors.ts";
import { snapshotView } from "./snapshot-view.ts";

export type GenerationDeps = {
  reads: Pick<StoreReads, "unfinished" | "openGenerations" | "findGeneration" | "account" | "eventsOf" | "nodes">;
  watch: CommitListener;
  /** True if the actor of a generation is in memory. */
  isLive: (seq: number) => boolean;
  /** The other nodes that share the store; null for a single process. */
  elsewhere: RemoteActorsDeps | null;
  /** True if prompts are shown. */
  prompts: boolean;
  /** Yields to the event loop. */
  breathe: () => Promise<void>;
};

/** Length of the request that is shown. It is bounded, because a few thousand requests are kept in memory. */
const REQUEST_CHARS = 4_000;
/** Copies the text, because a substring would keep the complete string in memory. */
const beginningOf = (text: string): string => Buffer.from(text.slice(0, REQUEST_CHARS)).toString();

/** Generations per read. A page takes a few milliseconds, and polls are served between two pages. */
const PAGE = 200;

const definition = () => definitionOf("generation");
const routeIn = (frozen: string | null, plan: readonly PlannedRoute[]): string | undefined => {
  const current = storedMemory(frozen)?.current;
  return current ? plan[current.route]?.routeId : undefined;
};

export const createGenerations = (deps: GenerationDeps, registry: ActorRegistry) => {
  const { reads, watch, isLive } = deps;
  /** Accounts by row number; each is read once. */
  const accounts = new Map<number, ActorRow["account"] | Promise<void>>();
  /** Plans of generations that were observed before they were read. */
  let plans = new WeakMap<Known, readonly PlannedRoute[]>();
  let turn = 0;
  let isReading = false;
  /** Generations that ended during the initial read, so that a page read earlier does not add them again. */
  const endedMeanwhile = new Set<string>();

  const actorOf = (seq: number, state: string, node: string | undefined): ActorRow["actor"] =>
    isLive(seq) || (node !== elsewhere?.own && state !== "queued") ? "live" : "none";

  const nameAccount = (one: Known, accountSeq: number): void => {
    const found = accounts.get(accountSeq);
    if (found instanceof Promise) void found.then(() => nameAccount(one, accountSeq));
    else if (found !== undefined) {
      one.row.account = found;
      registry.touch(one);
    } else if (!accounts.has(accountSeq)) {
      const requested = (async () => {
        const made = await reads.findGeneration(one.row.id);
        const account = made ? await reads.account(made.accountId) : undefined;
        accounts.set(accountSeq, account ? { id: account.id, name: account.name } : undefined);
      })().catch(() => void accounts.set(accountSeq, undefined));
      accounts.set(accountSeq, requested);
      void requested.then(() => nameAccount(one, accountSeq));
    }
  };

  const enter = (
    of: Pick<GenerationRecord, "seq" | "id" | "accountSeq" | "model" | "createdAtMs" | "attempts">,
    state: string,
    frozen: string | null,
    plan: readonly PlannedRoute[],
    version: number,
    node: string | undefined = elsewhere?.nodeOf(of.seq),
  ): Known => {
    const known = accounts.get(of.accountSeq);
    const route = routeIn(frozen, plan);
    const row: ActorRow = {
      id: of.id,
      kind: "generation",
      name: of.id,
      state,
      actor: actorOf(of.seq, state, node),
      bornAtMs: of.createdAtMs,
      sinceMs: state === "queued" ? of.createdAtMs : null,
      model: of.model,
      attempts: of.attempts,
    };
    if (known && !(known instanceof Promise)) row.account = known;
    if (route !== undefined) row.route = route;
    if (node !== undefined) row.node = node;
    const one: Known = { row, seq: of.seq, version, view: snapshotView(state, frozen, plan), definition };
    plans.set(one, plan);
    if (registry.enter(one) && row.account === undefined) nameAccount(one, of.accountSeq);
    return one;
  };

  const admitted = (mutation: AdmitGeneration): void => {
    if (!registry.find(mutation.id)) enter({ ...mutation, attempts: 0 }, "queued", null, mutation.plan, 0);
  };

  const stepped = (mutation: ApplyTransition, record: GenerationRecord): void => {
    if (elsewhere?.holdsBack(registry.find(record.id), mutation, record)) return;
    const first = firstVersionOf(mutation);
    const one = registry.find(record.id) ?? enter(record, first === 1 ? "queued" : "", mutation.snapshot, [], first - 1);
    for (const applied of appliedEvents(mutation)) showEvent(one, applied, { mutation, record });
    if (record.completedAtMs !== null) left(one);
  };
  type Written = { mutation: ApplyTransition; record: GenerationRecord };
  const showEvent = (one: Known, applied: ReturnType<typeof appliedEvents>[number], { mutation, record }: Written): void => {
    const { event, stateAfter, version, snapshot } = applied;
    // The initial read may already include this event.
    const isNews = version > one.version;
    const from = isNews && one.row.state !== "" ? one.row.state : null;
    const made = mutation.attemptChanges.find((change) => change.request !== undefined)?.request;
    const request = made === undefined || event.type !== "slotTaken" ? {} : { request: deps.prompts ? beginningOf(made) : "" };
    const happened = {
      type: event.type,
      from,
      to: stateAfter,
      atMs: mutation.atMs,
      event,
      version,
      ...request,
      ...elsewhere?.here,
    };
    if (!isNews) {
      registry.step(one, { ...happened, to: one.row.state });
      return;
    }
    one.version = version;
    one.view = snapshotView(stateAfter, snapshot(), plans.get(one) ?? []);
    const { row } = one;
    row.actor = "live";
    if (elsewhere) row.node = elsewhere.own;
    row.attempts = record.attempts;
    if (event.type === "begun") row.route = (event as unknown as { spec: { routeId: string } }).spec.routeId;
    else if (stateAfter === "running.awaitingSlot") delete row.route;
    registry.step(one, happened);
  };
  const left = (one: Known): void => {
    if (isReading) endedMeanwhile.add(one.row.id);
    registry.leave(one);
  };
  const elsewhere: RemoteActors | null =
    deps.elsewhere === null
      ? null
      : createRemoteActors({
          ...deps.elsewhere,
          registry,
          enter,
          left,
          stepped,
          requestShown: deps.prompts ? beginningOf : null,
        });
  const unfinished = deps.elsewhere?.remoteChanges.unfinished ?? reads.unfinished;

  const read = async (mine: number): Promise<void> => {
    for (let afterSeq = 0; mine === turn; ) {
      const [page, open] = [await unfinished(afterSeq, PAGE), await reads.openGenerations(afterSeq, PAGE)];
      if (mine !== turn) return;
      const models = new Map(open.map(({ seq, model }) => [seq, model]));
      for (const found of page) {
        const { id, plan, snapshot, version } = found;
        const known = registry.find(id);
        const state = storedLeaf(snapshot) ?? "unreadable";
        const attempts = storedMemory(snapshot)?.tried ?? 0;
        if (known) {
          plans.set(known, plan);
          if (known.version === version) known.view = snapshotView(state, snapshot, plan);
        } else if (!endedMeanwhile.has(id)) {
          const one = enter({ ...found, model: models.get(found.seq) ?? "", attempts }, state, snapshot, plan, version);
          elsewhere?.read(one, snapshot, plan);
        }
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      afterSeq = last.seq;
      await deps.breathe();
    }
  };

  return {
    /** Starts following commits; resolves when all open generations are registered. */
    begin: (): Promise<void> => {
      turn += 1;
      watch.committed = (mutation, outcome) => {
        if (mutation.mutation === "step" && outcome.kind === "stepped") stepped(mutation, outcome.record);
        else if (mutation.mutation === "admit" && outcome.kind === "admitted") admitted(mutation);
      };
      isReading = true;
      const mine = turn;
      const reading = elsewhere === null ? read(mine) : elsewhere.begin().then(() => read(mine));
      return reading.finally(() => {
        isReading = false;
        endedMeanwhile.clear();
      });
    },
    end: (): void => {
      turn += 1;
      watch.committed = null;
      elsewhere?.end();
      accounts.clear();
      plans = new WeakMap();
      registry.forget(["generation"]);
    },
    /** All stored events of a generation; empty for other actors. */
    historyOf: async ({ seq }: Known): Promise<Happened[]> => {
      let from = "queued";
      if (seq === 0) return [];
      const [events, writerOf] = await Promise.all([reads.eventsOf(seq), readWriters(reads, seq)]);
      return events.map(({ event, stateAfter, atMs, version }) => {
        const happened = { type: event.type, from, to: stateAfter, atMs, event, version, ...writerOf(version) };
        from = stateAfter;
        return happened;
      });
    },
    /** Counts of all nodes in a cluster. */
    everywhere: (own: { queued: number; running: number }) => {
      const remoteCounts = deps.elsewhere?.remoteChanges.counts() ?? { queued: 0, running: 0 };
      const nodes = deps.elsewhere ? { nodes: deps.elsewhere.remoteChanges.nodes() } : {};
      return { queued: own.queued + remoteCounts.queued, running: own.running + remoteCounts.running, nodes };
    },
    /** Updates which actors are in memory, because passivation and restoration emit no event. Called periodically. */
    view: (): void => {
      for (const one of registry.all()) {
        if (one.row.kind !== "generation" || one.row.node !== elsewhere?.own) continue;
        const actor = isLive(one.seq) ? "live" : "none";
        if (one.row.actor === actor) continue;
        one.row.actor = actor;
        registry.touch(one);
      }
    },
  };
};
