// Running generations of the engine: supervisor, dispatcher, pending outcomes and late results.
import type { Ledger } from "../../actors/ledger.ts";
import { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { EffectsDeps } from "../effects/deps.ts";
import { createDispatcher, type Effects } from "../effects/dispatcher.ts";
import { createPendingOutcomes, type PendingOutcomes } from "../effects/pending-outcomes.ts";
import { retryMs } from "../effects/task-runner.ts";
import type { Attempts } from "../generations/attempt-cache.ts";
import { createLateReports, createLateResults } from "../generations/late-results.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import type { AttemptEvents } from "../telemetry/attempt-events.ts";
import { createConnection } from "./connection.ts";
import type { EngineRoutes } from "./engine-routes.ts";
import type { EngineDeps } from "./engine-types.ts";

/** What the generations use besides the dependencies of the engine. */
export type GenerationsDeps = EngineDeps &
  Pick<EngineRoutes, "routes" | "accountFaults"> & {
    ledger: Ledger;
    post: Ledger["post"];
    isDiskFull: () => boolean;
    attempts: Attempts;
    facts: AttemptEvents;
    restored: EffectsDeps["restored"];
    /** Last known time at which a process was alive before this one. */
    lastAliveMs: number;
  };

export type EngineGenerations = {
  supervisor: Supervisor;
  effects: Effects;
  late: ReturnType<typeof createLateResults>;
  pendingOutcomes: PendingOutcomes | undefined;
};

const pendingOutcomesOf = ({ outcomes, clock, log, providers, isUnavailable }: EngineDeps): PendingOutcomes | undefined =>
  outcomes &&
  createPendingOutcomes({
    spool: outcomes,
    clock,
    log,
    isUnavailable: isUnavailable ?? (() => false),
    looksUpByKey: (provider) => providers.traits(provider).recovery === "key",
  });

const createEffects = (
  deps: GenerationsDeps,
  pendingOutcomes: PendingOutcomes | undefined,
  report: EffectsDeps["report"],
): Effects => {
  const { store, attempts, files, inputs, routes } = deps;
  return createDispatcher({
    clock: deps.clock,
    log: deps.log,
    providers: deps.providers,
    media: deps.media,
    reads: {
      attempt: attempts.find,
      attemptsOf: store.attemptsOf,
      inputOf: attempts.inputOf,
      orderedOf: attempts.orderedOf,
      jobOwner: store.jobOwner,
      generationBySeq: store.generationBySeq,
      pinsOf: store.pinsOf,
      inputFilesOf: store.inputFilesOf,
      planOf: store.planOf,
    },
    giving: inputs.giving,
    signInput: inputs.signInput,
    hasFile: inputs.hasFile,
    openInput: inputs.openInput,
    isStorageUnavailable: () => (files.isUnavailable?.() ?? false) || deps.isDiskFull(),
    report,
    judge: deps.accountFaults.judge,
    delivered: routes.delivered,
    noticed: routes.noticed,
    usualEnd: routes.usualEnd,
    confirmMs: routes.confirmMs,
    ...(deps.sure ? { sure: deps.sure } : {}),
    ...(pendingOutcomes ? { inHand: pendingOutcomes } : {}),
    maxMismatched: deps.maxMismatched,
    pace: deps.pace,
    ...(deps.nodes ? { nodes: deps.nodes } : {}),
    chance: deps.chance,
    restored: deps.restored,
    newWork: attempts.begin,
  });
};

type SupervisorParts = Pick<EngineGenerations, "effects" | "pendingOutcomes"> & { lateReport: EffectsDeps["report"] };

const createSupervisor = (deps: GenerationsDeps, { effects, pendingOutcomes, lateReport }: SupervisorParts): Supervisor => {
  const { limits, clock, log, store, files, ledger, routes, stuck, soon } = deps;
  return new Supervisor({
    clock,
    lastAliveMs: deps.lastAliveMs,
    limits: {
      maxRunning: limits.max_running,
      maxRunningOf: routes.maxRunningOf,
      maxLiveActors: limits.max_live_actors,
      collectMs: limits.result_download_timeout_s * 1000,
      keepFilesMs: limits.file_retention_s * 1000,
    },
    post: deps.post,
    space: ledger.space,
    writesRejectedAtMs: () => {
      const [fullAtMs, unavailableAtMs] = [ledger.load().fullAtMs, deps.unavailableAtMs?.() ?? null];
      return fullAtMs === null ? unavailableAtMs : Math.max(fullAtMs, unavailableAtMs ?? fullAtMs);
    },
    unfinished: store.unfinished,
    unread: ({ id }, times, fault) => {
      // An unavailable database is reported once by the store itself.
      if (!(fault instanceof DatabaseUnavailable))
        log("generation restore failed", {
          generation_id: id,
          reason: fault instanceof Error ? fault.message : String(fault),
        });
      return new Promise((tryAgain) => clock.after(retryMs(times, fault), tryAgain));
    },
    gate: routes.gate,
    breathe: () => new Promise((turn) => soon(turn)),
    takingUp: deps.takingUp ?? ((_, restore) => restore()),
    perform: effects.perform,
    prepare: effects.prepare,
    freeSlot: effects.freeSlot,
    lateReport,
    stepped: (record, after) => {
      if (!after.matches({ running: "parked" })) stuck.remove(record.seq);
      if (record.completedAtMs !== null) {
        effects.ended(record.seq);
        for (const outcome of pendingOutcomes?.ended(record.seq) ?? []) lateReport(record.seq, outcome);
        // Files of a failed generation are not needed; if the disk rejects the deletion, an operator deletes them.
        if (record.status === "failed" && record.attempts > 0) void files.remove(record.id).catch(() => undefined);
        deps.facts.ended(record);
      } else if (after.matches({ running: "parked" })) {
        effects.parked(record.seq);
        stuck.parked(record);
      }
    },
    ...(pendingOutcomes ? { leftOutcome: pendingOutcomes.find, dealtWith: pendingOutcomes.dealtWith } : {}),
    foundParked: stuck.foundParked,
    stopped: stuck.stopped,
  });
};

export const createEngineGenerations = (deps: GenerationsDeps): EngineGenerations => {
  const { post, log, store } = deps;
  // The supervisor performs effects, and effects report their outcomes to the supervisor.
  const supervisorConnection = createConnection<Supervisor>("supervisor");
  const pendingOutcomes = pendingOutcomesOf(deps);
  const effects = createEffects(deps, pendingOutcomes, (seq, ...events) => supervisorConnection.target().report(seq, ...events));
  const abandon = (seq: number, n: number) => {
    effects.perform(seq, { type: "effect.cancel", n });
    effects.perform(seq, { type: "effect.watch", n });
  };
  const late = createLateResults({ post, abandon, log, recordOf: store.generationBySeq });
  const lateReport = createLateReports(late, pendingOutcomes?.dealtWith);
  const supervisor = createSupervisor(deps, { effects, pendingOutcomes, lateReport });
  supervisorConnection.connect(supervisor);
  return { supervisor, effects, late, pendingOutcomes };
};
