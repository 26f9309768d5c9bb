// The engine: ledger actor, supervisor, effects, routing and submission, without sockets or a clock of its own.
//
// The service runs it with its store and providers, and the simulation runs it in virtual time.
import type { Ledger } from "../../actors/ledger.ts";
import { createTakeover, type Takeover } from "../cluster/takeover.ts";
import { createAttemptCache } from "../generations/attempt-cache.ts";
import { createCancel } from "../generations/cancel.ts";
import { type CommitListener, createPostCommit, type PostCommit } from "../generations/post-commit.ts";
import { createPreview } from "../generations/preview.ts";
import { createQuote } from "../generations/quote.ts";
import { createRecordCache } from "../generations/record-cache.ts";
import { createRestoredState } from "../generations/restored-state.ts";
import { createSubmit } from "../generations/submit.ts";
import { createCannotGive } from "../inputs/cannot-give.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Store } from "../store/store.ts";
import { createAttemptEvents } from "../telemetry/attempt-events.ts";
import { createAdmissionGate, createServicePhases, type ServicePhases } from "./admission-gate.ts";
import { createConnection } from "./connection.ts";
import { createEngineGenerations, type EngineGenerations } from "./engine-generations.ts";
import { createEngineLedger } from "./engine-ledger.ts";
import { createEngineRoutes, createRouteChanges, readDeliveries } from "./engine-routes.ts";
import type { Engine, EngineDeps } from "./engine-types.ts";
import { createReadiness } from "./readiness.ts";
import { createRecovery } from "./recovery.ts";

/** Interval in milliseconds at which a drain checks whether running work has ended. */
const DRAIN_POLL_MS = 20;

const readSaved = async (store: Store) => ({
  health: await store.routeHealth(),
  off: await store.switchedOff(),
  // Another node may have been seen since, and a node that ended without the store could do nothing from then on.
  lastAliveMs: Math.min(await store.lastSeenMs(), store.node?.formerUnavailableSinceMs ?? Number.POSITIVE_INFINITY),
  deliveries: await readDeliveries(store),
  restored: await store.restored(),
});

type AdmissionParts = { phases: ServicePhases; ledger: Ledger; post: Ledger["post"]; isDiskFull: () => boolean; routes: Routes };

/** The submission, its quote and its preview, which share the catalogue and the state of its routes. */
const createAdmission = (deps: EngineDeps, parts: AdmissionParts): Pick<Engine, "admission" | "submit" | "quote" | "preview"> => {
  const { limits, log, inputs, media } = deps;
  const { catalogue, state: routeState, expectedMs } = parts.routes;
  const cannotGive = createCannotGive(inputs.giving, inputs.isTrusting);
  const { ownFiles } = inputs;
  const planning = { catalogue, routeState, expectedMs, cannotGive, allowsHost: deps.allowsHost, ownFiles };
  const admission = createAdmissionGate({
    phase: parts.phases.current,
    load: parts.ledger.load,
    isDiskFull: parts.isDiskFull,
    isAnotherThere: deps.isAnotherThere,
    limits,
  });
  const checking = { ...planning, reads: deps.store, admission, measure: media.measure, pins: inputs };
  const submit = createSubmit({
    ...checking,
    admit: parts.post,
    limits: { inProgress: limits.in_progress, noWaitMs: limits.default_max_wait_s * 1000 },
    skipped: (model, { routeId, outcome }) => log("route skipped", { model, route_id: routeId, outcome }),
    nameGeneration: deps.nameGeneration,
    clock: deps.clock,
  });
  return { admission, submit, quote: createQuote(checking), preview: createPreview(planning) };
};

type LifecycleParts = EngineGenerations &
  Pick<Engine, "ledger" | "health" | "post"> & { takeover: Pick<Takeover, "passOn" | "waiting">; phases: ServicePhases };

/** The functions that recover, drain and stop the engine. */
const createLifecycle = (deps: EngineDeps, parts: LifecycleParts): Pick<Engine, "recover" | "drain" | "close" | "stop"> => {
  const { store, clock, log, soon, media } = deps;
  const { phases, supervisor, effects, post } = parts;
  return {
    recover: createRecovery({
      store,
      post,
      supervisor,
      inHand: parts.pendingOutcomes,
      clock,
      log,
      soon,
      perform: effects.perform,
      passOn: parts.takeover.passOn,
      waiting: parts.takeover.waiting,
      share: async (results) => (await media.share?.(results)) ?? [...results],
      isOver: phases.isStopped,
      opened: phases.open,
    }),
    drain: async (longestMs) => {
      phases.drain();
      supervisor.drain();
      const endsAtMs = clock.nowMs() + longestMs;
      while (supervisor.sending() > 0 && clock.nowMs() < endsAtMs)
        await new Promise<void>((wake) => clock.after(DRAIN_POLL_MS, wake));
    },
    close: phases.stop,
    stop: async () => {
      phases.stop();
      supervisor.stop();
      await effects.stop();
      parts.health.stop();
      await parts.ledger.idle();
    },
  };
};

export const createEngine = async (deps: EngineDeps): Promise<Engine> => {
  const { clock, log, store, stuck, callersChanged, usersChanged, webhooksChanged, balanceFell, spendReached } = deps;
  const phases = createServicePhases();
  // The ledger is constructed first, and everything that its commits are reported to needs it.
  const postCommit = createConnection<PostCommit>("post-commit");
  const ledger = createEngineLedger(deps, (mutation, outcome) => postCommit.target()(mutation, outcome));
  const { post } = ledger;
  const isDiskFull = () => ledger.load().isFull || (deps.isDiskFull?.() ?? false);
  const records = createRecordCache(store, store.node === null, deps.isSure);
  const attempts = createAttemptCache(store);
  // Read before anything is constructed that sets a timer, because its callback uses what is constructed after it.
  const saved = await readSaved(store);

  const { health, routes, accountFaults, stateChanged } = createEngineRoutes(deps, saved);
  const facts = createAttemptEvents({ log, attempts, reads: store, catalogue: routes.catalogue });
  const generations = createEngineGenerations({
    ...deps,
    ledger,
    post,
    isDiskFull,
    attempts,
    facts,
    routes,
    accountFaults,
    restored: createRestoredState(saved.restored, store, routes),
    lastAliveMs: saved.lastAliveMs,
  });
  const { supervisor, effects, late } = generations;
  const changes = createRouteChanges({ clock, log, health, routes, accountFaults, post, supervisor });
  stateChanged.connect(changes.stateChanged);
  const watch: CommitListener = { committed: null };
  postCommit.connect(
    createPostCommit({
      ...{ records, attempts, routes, health, facts, watch, supervisor },
      ...{ callersChanged, usersChanged, webhooksChanged, balanceFell, spendReached },
    }),
  );
  const takeover = createTakeover({ store, supervisor, late, effects, health, routes, clock, isOver: phases.isStopped });
  return {
    ...createAdmission(deps, { phases, ledger, post, isDiskFull, routes }),
    ...createLifecycle(deps, { ...generations, takeover, ledger, health, post, phases }),
    ...takeover,
    cancel: createCancel({ reads: store, decide: takeover.decide, supervisor, isShared: store.node !== null, clock }),
    ledger,
    supervisor,
    effects,
    routes,
    records,
    post,
    readiness: createReadiness(phases.current, {
      isFull: isDiskFull,
      isUnavailable: deps.isUnavailable,
      isBucketDown: deps.isBucketDown,
    }),
    isDiskFull,
    phase: phases.current,
    health,
    watch,
    stuck,
    replaceCatalogue: changes.replaceCatalogue,
    rekeyed: changes.rekeyed,
  };
};
