// Joins the rooms: what each needs of the others, the life of the whole from recovery to drain.
import { setImmediate } from "node:timers";
import { openHealthDesk } from "../actors/health-desk.ts";
import { type Ledger, openLedger } from "../actors/ledger.ts";
import { Supervisor } from "../actors/supervisor.ts";
import type { Catalogue } from "../catalogue/load.ts";
import type { Clock } from "./clock.ts";
import { BadSetting, type Settings } from "./config.ts";
import type { Deed, DeedOutcome, OutcomeOf } from "./deeds.ts";
import { type Effects, openEffects } from "./effects/effects.ts";
import type { Log } from "./events.ts";
import { openLinks } from "./files/links.ts";
import type { Files } from "./files/port.ts";
import { sweepFiles } from "./files/retention.ts";
import { type Http, openHttp } from "./http/app.ts";
import { openLate } from "./late.ts";
import { readAllowed } from "./media/allow.ts";
import { type MediaOptions, openMedia } from "./media/media.ts";
import { type CallTimes, openProviders } from "./providers/providers.ts";
import { type Life, openReadiness } from "./readiness.ts";
import { openRecords } from "./records.ts";
import { DELIVERIES_KEPT, openRoutes } from "./routes.ts";
import type { Store } from "./store/store.ts";
import { type Door, openCorridor, type Submit } from "./submit.ts";

/** What the rooms are joined from. */
export type RoomsParts = {
  settings: Settings;
  clock: Clock;
  log: Log;
  store: Store;
  files: Files;
  catalogue: Catalogue;
  /** How many times faster than life the providers are (the simulator's speed). */
  pace: number;
  /** Told once, when a commit ended in doubt: the process has to end. */
  unknownOutcome: () => void;
  /** Deadlines of calls to providers, where they are to differ. */
  callTimes?: Partial<CallTimes>;
  /** Where tests let media be found, and the control of the guard's test. */
  media?: Pick<MediaOptions, "resolve" | "guard">;
};

export type Rooms = {
  http: Http;
  submit: Submit;
  ledger: Ledger;
  supervisor: Supervisor;
  effects: Effects;
  post: <D extends Deed>(deed: D) => Promise<OutcomeOf<D>>;
  readiness: () => { ready: boolean; faults: string[] };
  /** The address that file links are built from, unless the settings name one. */
  listensAt: (url: string) => void;
  /** Reads what had not ended and goes on; submissions are taken from then on. */
  recover: () => Promise<void>;
  replaceCatalogue: (next: Catalogue) => void;
  /** Deletes files past their retention. */
  sweep: () => Promise<void>;
  drain: (longestMs: number) => Promise<void>;
  stop: () => Promise<void>;
};

/** Deeds that change what a key opens: limits, pauses (a dispute pauses too), keys. */
const CHANGES_CALLERS: ReadonlySet<Deed["deed"]> = new Set(["set-account", "create-key", "revoke-key", "credit"]);
/** How often a drain looks whether everything under way has ended. */
const DRAIN_LOOK_MS = 20;
/** Answers under way have at least this long to leave when the service stops. */
const MIN_CLOSING_MS = 1000;
/** Attempts of ended generations read at a time at the start. */
const WATCH_PAGE = 500;

const hostOf = (url: string | undefined): string | null => (url === undefined ? null : new URL(url).host);

/** The providers, as the settings have them. @throws BadSetting for a credential that cannot be sent. */
const openDesks = ({ settings, store, callTimes }: RoomsParts) => {
  const isOwned = async (provider: string, jobId: string) => (await store.jobOwner(provider, jobId)) !== undefined;
  try {
    return openProviders({ settings: settings.providers, isOwned, ...(callTimes ? { timeouts: callTimes } : {}) });
  } catch (fault) {
    throw new BadSetting(fault instanceof Error ? fault.message : String(fault));
  }
};

export const joinRooms = async (parts: RoomsParts): Promise<Rooms> => {
  const { settings, clock, log, store, files } = parts;
  const { limits } = settings;
  let life: Life = "starting";
  let baseUrl = settings.server.public_url;

  const ledger = openLedger({
    commit: (deeds) => store.commit(deeds),
    clock,
    soon: setImmediate,
    committed: (deed, outcome) => committed(deed, outcome),
    defect: (fault) =>
      log("effect failed", { event: "committed", reason: fault instanceof Error ? fault.message : String(fault) }),
    full: () => log("store full", { reason: "the disk is full: submissions are turned away, everything else waits" }),
    unknown: (fault) => {
      log("store outcome unknown", { reason: fault instanceof Error ? fault.message : String(fault) });
      parts.unknownOutcome();
    },
  });
  const { post } = ledger;
  const readiness = openReadiness(
    () => life,
    () => ledger.load().isFull,
  );

  const providers = openDesks(parts);
  const named = readAllowed(settings.media.allow);
  const allows: typeof named = parts.media?.guard === "off" ? () => true : named;
  const media = openMedia({
    files,
    allows,
    allowsResult: (provider, host) => hostOf(settings.providers[provider]?.base_url) === host,
    resultBytes: limits.result_bytes,
    ...parts.media,
  });
  const records = openRecords(store);

  const health = openHealthDesk(clock, await store.routeHealth(), (routeId, state, snapshot) => {
    log("route state changed", { route_id: routeId, state });
    routes.touch();
    // Only a ledger that has stopped says no, and then the process ends.
    void post({ deed: "save-route-health", routeId, snapshot, atMs: clock.nowMs() }).catch(() => undefined);
    supervisor.routesChanged([routeId]);
  });
  const routes = openRoutes({
    catalogue: parts.catalogue,
    health,
    isConfigured: (providerId) => providers.configured(providerId),
    watchMs: (providerId) => providers.traits(providerId).watchMs,
    seatsPerRoute: limits.seats_per_route,
    deliveries: await store.recentDeliveries(DELIVERIES_KEPT),
  });

  const abandon = (seq: number, n: number) => {
    effects.perform(seq, { type: "ask.cancel", n });
    effects.perform(seq, { type: "ask.watch", n });
  };
  const late = openLate({ post, abandon, log });
  const supervisor: Supervisor = new Supervisor({
    clock,
    lastAliveMs: await store.lastSeenMs(),
    limits: {
      seats: limits.seats,
      seatsOf: routes.seatsOf,
      liveActors: limits.live_actors,
      collectMs: limits.collect_s * 1000,
      keepFilesMs: limits.keep_files_s * 1000,
    },
    post,
    unfinished: (afterSeq, limit) => store.unfinished(afterSeq, limit),
    gate: routes.gate,
    breathe: () => new Promise((turn) => setImmediate(turn)),
    perform: (seq, ask) => effects.perform(seq, ask),
    lateReport: (seq, event) => void late(seq, event).catch(() => undefined),
    stepped: (record, after) => {
      if (record.completedAtMs !== null) {
        effects.ended(record.seq);
        // Files of a generation that failed belong to nobody; a disk that refuses now is swept by hand.
        if (record.status === "failed" && record.attempts > 0) void files.remove(record.id).catch(() => undefined);
        log("generation ended", {
          generation_id: record.id,
          state: record.status,
          ...(record.error ? { error_code: record.error.code } : {}),
        });
      } else if (after.matches({ running: "parked" })) {
        readiness.parked(record.seq, record.id);
        log("generation parked", { generation_id: record.id });
      }
    },
    foundParked: readiness.parked,
    lost: (seq, reason) => {
      readiness.parked(seq, `generation ${seq}`);
      log("effect failed", { event: "generation lost", count: seq, reason });
    },
  });
  const effects: Effects = openEffects({
    clock,
    log,
    reads: store,
    providers,
    media,
    report: (seq, event) => supervisor.report(seq, event),
    judge: health.judge,
    delivered: routes.delivered,
    pace: parts.pace,
  });

  /** What follows from a deed on disk: the hook is the only way the supervisor learns of a new generation. */
  const committed = (deed: Deed, outcome: DeedOutcome): void => {
    if (outcome.kind === "admitted" || outcome.kind === "stepped") records.keep(outcome.record);
    if (deed.deed === "admit" && outcome.kind === "admitted") supervisor.admitted(deed);
    else if (deed.deed === "expire-files") records.drop(deed.seq);
    else if (CHANGES_CALLERS.has(deed.deed)) http.callersChanged();
  };

  const door = (): Door => {
    if (life !== "open") return "restarting";
    const load = ledger.load();
    const isBusy = load.isFull || load.waiting > limits.waiting_submissions || load.committingForMs > limits.slow_commit_ms;
    return isBusy ? "busy" : "open";
  };
  const submit = openCorridor({
    reads: store,
    admit: post,
    door,
    catalogue: routes.catalogue,
    routeState: routes.state,
    expectedMs: routes.expectedMs,
    allowsHost: allows,
    measure: (links) => media.measure(links),
    limits: { inProgress: limits.in_progress, noWaitMs: limits.no_wait_s * 1000 },
    clock,
  });
  const links = openLinks({
    secretHex: await store.secret("links"),
    baseUrl: () => baseUrl,
    validS: limits.link_s,
    clock,
  });
  const http: Http = openHttp({
    settings,
    clock,
    log,
    reads: {
      callerByKeyHash: (hash) => store.callerByKeyHash(hash),
      generationById: records.find,
      generationBySeq: (seq) => store.generationBySeq(seq),
    },
    submit,
    models: routes.models,
    files,
    links,
    readiness: readiness.answer,
    storeOpen: () => life !== "stopped",
  });

  /** A drain's answers and its attempts share one end. */
  let drainEndsAtMs = 0;
  const stop = async () => {
    life = "stopped";
    await http.stop(Math.max(MIN_CLOSING_MS, drainEndsAtMs - clock.nowMs()));
    supervisor.stop();
    await effects.stop();
    health.stop();
    await ledger.idle();
  };
  return {
    http,
    submit,
    ledger,
    supervisor,
    effects,
    post,
    readiness: readiness.answer,
    listensAt: (url) => {
      if (baseUrl === "") baseUrl = url;
    },
    recover: async () => {
      const startedAtMs = clock.nowMs();
      // The next process has to know that this one lived; a full disk must not hold up recovery.
      void post({ deed: "beat", atMs: startedAtMs }).catch(() => undefined);
      const found = await supervisor.recover();
      for (let afterSeq = 0; ; ) {
        const page = await store.watchedAttempts(afterSeq, WATCH_PAGE);
        for (const attempt of page) effects.perform(attempt.seq, { type: "ask.watch", n: attempt.n });
        const last = page.at(-1);
        if (!last || page.length < WATCH_PAGE) break;
        afterSeq = last.seq;
      }
      if (life === "starting") life = "open";
      log("recovery finished", { count: found, dur_ms: clock.nowMs() - startedAtMs });
    },
    replaceCatalogue: (next) => {
      const before = routes.catalogue();
      routes.replaceCatalogue(next);
      supervisor.routesChanged(before.models.flatMap((model) => model.routes.map((route) => route.id)));
      log("catalogue loaded", { count: next.models.length });
    },
    sweep: async () => {
      const count = await sweepFiles({
        expired: (limit) => store.expiredFiles(clock.nowMs(), limit),
        remove: (id) => files.remove(id),
        mark: async (seq) => (await post({ deed: "expire-files", seq, atMs: clock.nowMs() })).kind === "done",
      });
      if (count > 0) log("files swept", { count });
    },
    drain: async (longestMs) => {
      life = "draining";
      supervisor.drain();
      drainEndsAtMs = clock.nowMs() + longestMs;
      while (supervisor.sending() > 0 && clock.nowMs() < drainEndsAtMs)
        await new Promise<void>((wake) => clock.after(DRAIN_LOOK_MS, wake));
    },
    stop,
  };
};
