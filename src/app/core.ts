// The core: ledger actor, supervisor, effects, routing and submission, without sockets or a clock of its own.

import { createAccountFaults } from "../../actors/circuit-breaker/account-faults.ts";
import { verdictOf } from "../../actors/circuit-breaker/machine.ts";
import { type CircuitBreakers, createCircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import { createLedger } from "../../actors/ledger.ts";
import { Supervisor } from "../../actors/supervisor/supervisor.ts";
import { createTakeover } from "../cluster/takeover.ts";
import type { Failure } from "../domain/types.ts";
import { createDispatcher, type Effects } from "../effects/dispatcher.ts";
import { createPendingOutcomes } from "../effects/pending-outcomes.ts";
import { retryMs } from "../effects/task-runner.ts";
import { createAttemptCache } from "../generations/attempt-cache.ts";
import { createLateResults } from "../generations/late-results.ts";
import { type CommitListener, createPostCommit } from "../generations/post-commit.ts";
import { createPreview } from "../generations/preview.ts";
import { createRecordCache } from "../generations/record-cache.ts";
import { createRestoredState } from "../generations/restored-state.ts";
import { createStuck } from "../generations/stuck.ts";
import { createSubmit } from "../generations/submit.ts";
import { createRouteTable, MAX_STORED_DELIVERIES } from "../routing/route-table.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { createAttemptEvents } from "../telemetry/attempt-events.ts";
import { createAdmissionGate } from "./admission-gate.ts";
import type { Core, CoreDeps } from "./core-types.ts";
import { createReadiness, type ServicePhase } from "./readiness.ts";
import { createRecovery } from "./recovery.ts";

/** Interval in milliseconds at which a drain checks whether running work has ended. */
const DRAIN_POLL_MS = 20;

const reasonOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

export const createCore = async (deps: CoreDeps): Promise<Core> => {
  const { limits, clock, log, store, files, providers, media, inputs, soon } = deps;
  let life: ServicePhase = "starting";

  const ledger = createLedger({
    commit: (mutations) => store.commit(mutations),
    clock,
    soon,
    committed: (mutation, outcome) => committed(mutation, outcome),
    defect: (fault) => log("post-commit failed", { reason: reasonOf(fault) }),
    full: () =>
      log("database disk full", {
        reason: "the disk is full: submissions are rejected, and all other writes wait",
        action: "free space on the disk of data.dir (genrouter doctor prints it); no restart is required",
      }),
    onSpace: () => log("disk space recovered"),
    unknown: (fault) => {
      log("commit outcome unknown", { reason: reasonOf(fault) });
      deps.unknownOutcome();
    },
  });
  const { post } = ledger;
  const isFull = () => ledger.load().isFull || (deps.isDiskFull?.() ?? false);
  const readiness = createReadiness(() => life, { isFull, isUnavailable: deps.isUnavailable, isBucketDown: deps.isBucketDown });
  const stuck = createStuck(log);
  const records = createRecordCache(store, store.node === null, deps.isSure);
  const attempts = createAttemptCache(store);
  const facts = createAttemptEvents({ log, attempts, reads: store, catalogue: () => routes.catalogue() });

  // Read before anything is opened that a timer wakes, because its callbacks use these values.
  const saved = {
    ...{ health: await store.routeHealth(), off: await store.switchedOff() },
    // Another node may have been seen since, and a node that ended without the store could do nothing from then on.
    lastAliveMs: Math.min(await store.lastSeenMs(), store.node?.formerUnavailableSinceMs ?? Number.POSITIVE_INFINITY),
    deliveries: await store.recentDeliveries(MAX_STORED_DELIVERIES),
    restored: await createRestoredState(store, { specOf: (routeId) => routes.specOf(routeId) }),
  };
  /** Routes that change together are one log line. */
  let isTogether = false;
  const notifyOperator = (routeId: string, { class: error_code, detail }: Failure) => {
    const provider = routes.specOf(routeId)?.provider ?? "PROVIDER";
    const action =
      error_code === "balance"
        ? `add credit with the provider, then genrouter routes test ${routeId}`
        : `genrouter providers set-key ${provider}, or correct the reason, then genrouter routes test ${routeId}`;
    log("route needs operator", { route_id: routeId, provider, error_code, reason: detail, action });
  };
  const health: CircuitBreakers = createCircuitBreakers(clock, saved.health, (routeId, state, snapshot, why) => {
    // Routes that change with a provider credential are one log line.
    if (!isTogether && !accountFaults.isFollowing())
      log("route state changed", { route_id: routeId, state, ...(why ? { error_code: why.class, reason: why.detail } : {}) });
    if (why && verdictOf(why.class) === "faulty" && !accountFaults.isFollowing()) notifyOperator(routeId, why);
    routes.touch();
    // Only a stopped ledger rejects it, and then the process ends.
    void post({ mutation: "save-route-health", routeId, snapshot, atMs: clock.nowMs() }).catch(() => undefined);
    supervisor.routesChanged([routeId]);
  });
  const routes = createRouteTable({
    catalogue: deps.catalogue,
    ...{ health, deliveries: saved.deliveries },
    isConfigured: (providerId) => providers.configured(providerId),
    sharingKey: providers.sharingKey,
    watchMs: (providerId) => providers.traits(providerId).watchMs,
    switchedOff: new Map(saved.off.map(({ routeId, reason }) => [routeId, reason])),
    ...{ maxRunningPerRoute: limits.max_running_per_route, nowMs: clock.nowMs },
    ends: (route_id, reason) => log("route retiring", { route_id, reason }),
    ...(deps.nodes ? { nodes: deps.nodes } : {}),
  });

  const accountFaults = createAccountFaults({
    ...{ health, sharingKey: routes.sharingKey },
    closedOthers: (routeId, count) =>
      log("route state changed", { state: "open", count, reason: `the other routes with the key of ${routeId}` }),
  });

  const abandon = (seq: number, n: number) => {
    effects.perform(seq, { type: "effect.cancel", n });
    effects.perform(seq, { type: "effect.watch", n });
  };
  const looksUpByKey = (provider: string) => providers.traits(provider).recovery === "key";
  const isUnavailable = deps.isUnavailable ?? (() => false);
  const pendingOutcomes =
    deps.outcomes && createPendingOutcomes({ spool: deps.outcomes, clock, log, isUnavailable, looksUpByKey });
  const late = createLateResults({ post, abandon, log, recordOf: store.generationBySeq });
  /** Responses that are being recorded, by generation, attempt and kind; one may also wait in the mailbox of its actor. */
  const noting = new Set<string>();
  const lateReport = (seq: number, event: GenerationEvent): void => {
    const key = `${seq} ${"n" in event ? event.n : ""} ${event.type}`;
    if (noting.has(key)) return;
    noting.add(key);
    void late(seq, event)
      .then((isNoted) => isNoted && pendingOutcomes?.dealtWith(seq, event))
      .catch(() => undefined)
      .finally(() => noting.delete(key));
  };
  const supervisor: Supervisor = new Supervisor({
    clock,
    lastAliveMs: saved.lastAliveMs,
    limits: {
      maxRunning: limits.max_running,
      maxRunningOf: routes.maxRunningOf,
      maxLiveActors: limits.max_live_actors,
      collectMs: limits.result_download_timeout_s * 1000,
      keepFilesMs: limits.file_retention_s * 1000,
    },
    post,
    space: ledger.space,
    writesRejectedAtMs: () => {
      const [fullAtMs, unavailableAtMs] = [ledger.load().fullAtMs, deps.unavailableAtMs?.() ?? null];
      return fullAtMs === null ? unavailableAtMs : Math.max(fullAtMs, unavailableAtMs ?? fullAtMs);
    },
    unfinished: (afterSeq, limit) => store.unfinished(afterSeq, limit),
    unread: ({ id }, times, fault) => {
      // An unavailable database is reported once by the store itself.
      if (!(fault instanceof DatabaseUnavailable))
        log("generation restore failed", { generation_id: id, reason: reasonOf(fault) });
      return new Promise((tryAgain) => clock.after(retryMs(times, fault), tryAgain));
    },
    gate: routes.gate,
    breathe: () => new Promise((turn) => soon(turn)),
    takingUp: deps.takingUp ?? ((_, restore) => restore()),
    perform: (seq, ask) => effects.perform(seq, ask),
    lateReport,
    stepped: (record, after) => {
      if (!after.matches({ running: "parked" })) stuck.remove(record.seq);
      if (record.completedAtMs !== null) {
        effects.ended(record.seq);
        for (const outcome of pendingOutcomes?.ended(record.seq) ?? []) lateReport(record.seq, outcome);
        // Files of a failed generation are not needed; if the disk rejects the deletion, an operator deletes them.
        if (record.status === "failed" && record.attempts > 0) void files.remove(record.id).catch(() => undefined);
        facts.ended(record);
      } else if (after.matches({ running: "parked" })) stuck.parked(record);
    },
    ...(pendingOutcomes ? { leftOutcome: pendingOutcomes.find, dealtWith: pendingOutcomes.dealtWith } : {}),
    foundParked: stuck.foundParked,
    stopped: stuck.stopped,
  });
  const effects: Effects = createDispatcher({
    ...{ clock, log, providers, media },
    reads: {
      ...{ attempt: attempts.find, attemptsOf: store.attemptsOf, inputOf: store.inputOf, orderedOf: attempts.orderedOf },
      ...{ jobOwner: store.jobOwner, generationBySeq: store.generationBySeq, pinsOf: store.pinsOf, planOf: store.planOf },
    },
    ...{ giving: inputs.giving, signInput: inputs.signInput },
    isStorageUnavailable: () => (files.isUnavailable?.() ?? false) || isFull(),
    report: (seq, event) => supervisor.report(seq, event),
    judge: accountFaults.judge,
    ...{ delivered: routes.delivered, confirmMs: routes.confirmMs },
    ...(deps.sure ? { sure: deps.sure } : {}),
    ...(pendingOutcomes ? { inHand: pendingOutcomes } : {}),
    maxMismatched: deps.maxMismatched,
    ...{ pace: deps.pace, chance: deps.chance, restored: saved.restored },
  });

  const watch: CommitListener = { committed: null };
  const committed = createPostCommit({
    ...{ records, attempts, routes, health, facts, watch },
    ...{ callersChanged: deps.callersChanged, usersChanged: deps.usersChanged },
    supervisor: () => supervisor,
  });

  const admission = createAdmissionGate({
    life: () => life,
    load: () => ({ ...ledger.load(), isFull: isFull() }),
    isAnotherThere: deps.isAnotherThere,
    limits,
  });
  const { catalogue, state: routeState, expectedMs } = routes;
  const canGive = (provider: string, bytes?: number) => inputs.isTrusting || inputs.giving.formFor(provider, bytes) !== null;
  const planning = { catalogue, routeState, expectedMs, canGive, allowsHost: deps.allowsHost };
  const submit = createSubmit({
    ...planning,
    reads: store,
    admit: post,
    admission,
    measure: (links, account) => media.measure(links, account),
    pins: inputs,
    limits: { inProgress: limits.in_progress, noWaitMs: limits.default_max_wait_s * 1000 },
    skipped: (model, { routeId, outcome }) => log("route skipped", { model, route_id: routeId, outcome }),
    nameGeneration: deps.nameGeneration,
    clock,
  });

  const takeover = createTakeover({ store, supervisor, late, effects, health, routes, clock, isOver: () => life === "stopped" });
  const recover = createRecovery({
    ...{ store, post, supervisor, inHand: pendingOutcomes, clock, log, soon, perform: effects.perform, passOn: takeover.passOn },
    share: async (results) => (await media.share?.(results)) ?? [...results],
    isOver: () => life === "stopped",
    opened: () => {
      if (life === "starting") life = "open";
    },
  });

  return {
    submit,
    quote: createPreview(planning),
    ...{ ledger, supervisor, effects, routes, records, post, readiness, isDiskFull: isFull },
    ...{ life: () => life, health, watch, stuck },
    ...takeover,
    recover,
    replaceCatalogue: (next) => {
      const before = routes.catalogue();
      routes.replaceCatalogue(next);
      supervisor.routesChanged(before.models.flatMap((model) => model.routes.map((route) => route.id)));
      log("catalogue loaded", { count: next.models.length });
    },
    rekeyed: (whose) => {
      const rekeyedRoutes = routes.rekeyed(whose);
      const waited = rekeyedRoutes.filter((id) => health.setUpFaults().has(id)).length;
      isTogether = waited > 1;
      for (const id of rekeyedRoutes) health.reset(id);
      isTogether = false;
      if (waited > 1)
        log("route state changed", { state: "halfOpen", count: waited, reason: `another key of ${whose.join(", ")}` });
      supervisor.routesChanged(rekeyedRoutes);
    },
    drain: async (longestMs) => {
      life = "draining";
      supervisor.drain();
      const endsAtMs = clock.nowMs() + longestMs;
      while (supervisor.sending() > 0 && clock.nowMs() < endsAtMs)
        await new Promise<void>((wake) => clock.after(DRAIN_POLL_MS, wake));
    },
    close: () => {
      life = "stopped";
    },
    stop: async () => {
      life = "stopped";
      supervisor.stop();
      await effects.stop();
      health.stop();
      await ledger.idle();
    },
  };
};
