// One simulated world: runs it with faults, quiesces it and audits it.
import { drainMicrotasks } from "bun:jsc";
import type { Catalogue } from "../../../catalogue/load.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import { readsOver } from "../../store/sqlite/reads.ts";
import { createAmbientFaults } from "./ambient-faults.ts";
import { judgeArrival } from "./arrivals.ts";
import { audit, type Evidence } from "./audit.ts";
import { auditAnswers } from "./audit-answers.ts";
import { auditCancels } from "./audit-cancels.ts";
import { auditDecisions } from "./audit-decisions.ts";
import { auditErasures } from "./audit-erasures.ts";
import { auditUploads } from "./audit-uploads.ts";
import { auditWatches } from "./audit-watches.ts";
import { auditWebhooks } from "./audit-webhooks.ts";
import { createRequests } from "./client-requests.ts";
import { type ClientLog, createClients } from "./clients.ts";
import { createClips, openedMs } from "./clips.ts";
import { createCluster, drawNodes } from "./cluster.ts";
import { createCoverageCounters } from "./coverage-counters.ts";
import { readEnds, verifyDisk, verifyOverdue } from "./database-checks.ts";
import { drawFaults, FAULT_NAMES, type FaultName, type Faults } from "./faults.ts";
import { passLongPauses } from "./long-pauses.ts";
import { drawCatalogue, PROVIDERS, redrawCatalogue } from "./market.ts";
import type { StoredFiles } from "./media.ts";
import type { NodeEnvironment } from "./node-environment.ts";
import type { Crossing } from "./node-life.ts";
import { openOperator } from "./operator.ts";
import { createRng } from "./rng.ts";
import { createNames, endow } from "./seed-database.ts";
import { createTimeline, type Timeline, WORLD_BEGINS_MS } from "./timeline.ts";
import { createTrace } from "./trace.ts";
import type { Answers } from "./unsaved-outcomes.ts";
import { createUploadClients, type UploadLog } from "./upload-clients.ts";
import { drawUploads, leftUploads } from "./upload-world.ts";
import { createUpstream } from "./upstream.ts";
import { createWebhookAccounts } from "./webhook-accounts.ts";
import { drawWebhooks, leftDeliveries } from "./webhook-world.ts";
import { drawWorkload } from "./workload.ts";
import { borrowDatabase } from "./world-database.ts";

export type WorldOptions = {
  /** Faults that are disabled regardless of the seed. */
  without?: readonly FaultName[];
  /** The largest number of planned requests. */
  wishes?: number;
  /** Nodes with one shared database; by default the seed decides. */
  nodes?: number;
  /** Keeps every line of the trace. */
  keepsTrace?: boolean;
  /** Receives the evidence and every generation after the audit; the audit's own tests tamper with it. */
  witness?: (evidence: Evidence, ends: ReadonlyMap<string, GenerationRecord>) => Promise<void>;
};
export type WorldEnd = {
  seed: number;
  nodes: number;
  /** The findings; empty if all checks passed. */
  faults: string[];
  trace: string[];
  /** Equal for two runs of the same seed and options. */
  fingerprint: string;
  figures: Record<string, number>;
  /** The crossings at which processes ended, with counts. */
  struck: ReadonlyMap<Crossing, number>;
  drawn: Faults;
};

const MINUTE_MS = 60_000;
const NO_FAULTS = Object.fromEntries(FAULT_NAMES.map((name) => [name, 0])) as Record<FaultName, number>;
/** Share of the worlds whose disk is verified while faults still occur; all are verified at the end. */
const LOOKED_AT_HALFWAY = 0.25;
/** The first credits exist before the first request. */
const FIRST_REQUEST_MS = 5_000;
/** Faults continue for this long after the last request, unless every client is done before. */
const TROUBLE_MS = 10 * MINUTE_MS;
/** After this long without faults every generation must have ended. */
const MAX_PEACE_MS = 24 * 60 * MINUTE_MS;
/** After the last end the world continues for this time, in which ended generations must not change. */
const AFTERMATH_MS = 5 * MINUTE_MS;
/** Shorter, because nodes with leases make simulated time expensive. */
const SHARED_AFTERMATH_MS = MINUTE_MS;
/** Some worlds continue until every abandoned attempt has been polled to its end. */
const LONG_AFTERMATH_MS = 25 * MINUTE_MS;
const WATCHED_LONG = 0.25;
/** A world with more events than this is in an endless loop. */
const MAX_HAPPENINGS = 300_000;
/** A node that has been open for this long has no overdue deadline. */
const HEALTHY_AFTER_MS = 2 * MINUTE_MS;
/** A takeover from a dead node happens within this many leases and the duration of a transaction. */
const LEASES_UNTIL_TAKEN_OVER = 2;
const SLOW_MS = 30_000;

/** Runs a world until `isOver`, or until a finding. */
const live = (world: Timeline, found: readonly string[], isOver: () => boolean): void => {
  while (found.length === 0 && !isOver()) {
    if (!world.step()) throw new Error("nothing is left to happen");
    if (world.happened() > MAX_HAPPENINGS) throw new Error(`more than ${MAX_HAPPENINGS} events: the run does not terminate`);
  }
};

export const runWorld = async (seed: number, options: WorldOptions = {}): Promise<WorldEnd> => {
  const dice = createRng(seed);
  const world = createTimeline();
  const trace = createTrace(world.nowMs, options.keepsTrace ?? false);
  const drawn = drawFaults(dice.fork("faults"), new Set(options.without));
  let faults = drawn;
  let wallOffsetMs = 0;
  let diskFullUntilMs = 0;
  let bucketUnavailableUntilMs = 0;
  let isPeace = false;
  const situations = createCoverageCounters();
  const answers: Answers = new Map();
  const found: string[] = [];
  const fault = (text: string) => {
    trace.report("auditor", "FINDING", "", text);
    found.push(text);
  };

  const catalogues: { fromMs: number; catalogue: Catalogue }[] = [];
  const replace = (catalogue: Catalogue) => void catalogues.push({ fromMs: world.nowMs(), catalogue });
  const first = drawCatalogue(dice.fork("market"), drawn.instantResult / 2);
  replace(first);
  const catalogue = () => catalogues.at(-1)?.catalogue ?? first;
  const { credits, tasks, spanMs } = drawWorkload(dice.fork("wishes"), first, drawn, options.wishes);

  const webhooks = drawWebhooks(dice.fork("webhooks"), tasks, {
    ...{ nowMs: world.nowMs, faults: () => faults, isPeace: () => isPeace, situations, trace, fault },
  });

  const kept: StoredFiles = new Map();
  const uploads = drawUploads(dice.fork("uploads"), tasks, { nowMs: world.nowMs, kept, situations, fault });

  const { database, giveBack } = borrowDatabase();
  const accountNames = credits.map((_, at) => `acc_${at}`);
  const accountSeqs = await endow(database, world.nowMs(), accountNames);
  const reads = readsOver(database);
  const clips = createClips();
  const struck = new Map<Crossing, number>();
  const unanswered = new Set<string>();
  const upstream = createUpstream({
    ...{ nowMs: world.nowMs, dice: dice.fork("upstream"), faults: () => faults },
    openedMs: (link) => openedMs(clips, link) ?? uploads?.openedMs(link),
    arrived: (arrival) => {
      trace.report(arrival.provider, arrival.verdict, arrival.ref, arrival.job?.jobId ?? "");
      void judgeArrival(reads, arrival).then((all) => all.forEach(fault));
    },
  });
  const environment: Omit<NodeEnvironment, "shared"> = {
    ...{ world, trace, dice, database, reads, upstream, kept, clips, catalogue, fault, nameGeneration: createNames() },
    ...{ faults: () => faults, maxMismatched: dice.fork("routing").pick([0, 0, 1, 2]) },
    wallMs: () => world.nowMs() + wallOffsetMs,
    isDiskFull: () => world.nowMs() < diskFullUntilMs,
    diskFullUntilMs: () => diskFullUntilMs,
    isBucketUnavailable: () => world.nowMs() < bucketUnavailableUntilMs,
    ...{ answers, situations, webhooks, uploads },
    committed: (mutations, outcomes) =>
      mutations.forEach((mutation, at) => {
        const outcome = outcomes[at];
        if (!outcome) return;
        webhooks?.oracle.committed(mutation, outcome);
        uploads?.oracle.committed(mutation, outcome);
      }),
    left: (provider, ref) => {
      upstream.sent(ref);
      if (unanswered.has(ref) && PROVIDERS[provider]?.recovery !== "key")
        fault(`${ref}: sent again while its first answer was unknown`);
      unanswered.add(ref);
    },
    refusedFor: (ref) => void unanswered.delete(ref),
    struck: (crossing) => void struck.set(crossing, (struck.get(crossing) ?? 0) + 1),
  };
  const fleetDice = dice.fork("fleet");
  const count = drawNodes(fleetDice, options.nodes);
  const fleet = createCluster({ count, dice: fleetDice, environment, reads, faults: () => faults });
  const { nodes } = fleet;
  const notebook: ClientLog = { sent: new Map(), heard: [], seen: new Map(), cancels: [], erasures: [], given: [] };
  const isPeaceNow = () => isPeace;
  const hookDice = dice.fork("webhook accounts");
  const webhookAccounts =
    webhooks &&
    createWebhookAccounts({
      ...{ world, trace, dice: hookDice, faults: () => faults, accountSeqs, receivers: webhooks.receivers, situations },
      ...{ send: createRequests({ world, dice: hookDice, nodes }), isPeace: isPeaceNow },
    });
  const uploadLog: UploadLog = { uploads: [], removals: [] };
  const uploadDice = dice.fork("upload clients");
  const uploadClients =
    uploads &&
    createUploadClients({
      ...{ world, trace, dice: uploadDice, faults: () => faults, accountSeqs, uploads, notebook, log: uploadLog, situations },
      send: createRequests({ world, dice: uploadDice, nodes }),
    });
  const clients = createClients({
    ...{ world, trace, dice: dice.fork("clients"), nodes, accountSeqs, catalogues, notebook, faults: () => faults },
    prepare: (planned) => {
      const { account, webhookUrl, stored } = planned;
      if (stored !== undefined) uploadClients?.choose(planned);
      return webhookUrl === undefined ? undefined : webhookAccounts?.name(account, webhookUrl);
    },
    accepted: (planned) => uploadClients?.accepted(planned),
  });
  const ambientFaults = dice.fork("weather");
  const brown = ambientFaults.fork("brown-outs");
  createAmbientFaults({
    ...{ world, dice: ambientFaults, faults: () => faults },
    fillDisk: (ms) => {
      diskFullUntilMs = world.nowMs() + ms;
      trace.report("disk", "full", "", `${Math.round(ms / 1000)} s`);
    },
    turnClock: (ms) => {
      wallOffsetMs = ambientFaults.chance(0.4) ? 0 : ms;
      trace.report("wall", "clock turned", "", `${Math.round(wallOffsetMs / 1000)} s off`);
    },
    reload: () => {
      replace(redrawCatalogue(ambientFaults, catalogue()));
      trace.report("operator", "catalogue replaced");
      for (const node of nodes) node.engine()?.replaceCatalogue(catalogue());
    },
    retire: () => ambientFaults.pick(nodes).retire(),
    goOut: (ms) => {
      const provider = ambientFaults.pick(Object.keys(PROVIDERS));
      upstream.goOut(provider, ms);
      trace.report(provider, "outage", "", `${Math.round(ms / 1000)} s`);
    },
    brownOut: (ms) => {
      const provider = brown.pick(Object.keys(PROVIDERS));
      upstream.brownOut(provider, ms);
      situations.count("brownOut");
      trace.report(provider, "brown-out", "", `${Math.round(ms / 1000)} s`);
    },
    interruptBucket: (ms) => {
      bucketUnavailableUntilMs = Math.max(bucketUnavailableUntilMs, world.nowMs() + ms);
      situations.count("bucketOutage");
      trace.report("files", "unavailable", "", `${Math.round(ms / 1000)} s`);
    },
  });

  const operator = openOperator({
    ...{ world, trace, dice: dice.fork("operator"), nodes, reads, situations, faults: () => faults },
    isPeace: () => isPeace,
  });
  operator.begin();
  webhookAccounts?.begin();
  uploadClients?.begin(spanMs);
  fleet.boot();
  drainMicrotasks();
  let tasksLeft = tasks.reduce((sum, { senders }) => sum + senders, credits.length);
  const isDone = () => {
    tasksLeft -= 1;
  };
  credits.forEach((amount, account) => void clients.giveCredits(account, amount, `start-${account}`).then(isDone));
  // Sometimes two nodes receive a request in the same millisecond.
  const apartMs = fleet.shared ? 3 : 30;
  for (const { planned, atMs, senders } of tasks)
    for (let sender = 0; sender < senders; sender += 1)
      world.after(
        FIRST_REQUEST_MS + atMs + sender * ambientFaults.between(0, apartMs),
        () => void clients.fulfil(planned).then(isDone),
      );

  /** The time of the slowest clock. */
  const slowestMs = (): number | null => {
    const clocks = nodes.flatMap((node) => node.life()?.clock.nowMs() ?? []);
    return clocks.length > 0 ? Math.min(...clocks) : null;
  };
  const verify = (nowMs: number | null) => verifyDisk({ reads, nowMs, isShared: fleet.shared !== null, isPeace, fault });
  try {
    const beganMs = world.nowMs();
    const middleMs = beganMs + spanMs * ambientFaults.between(0.3, 1.2);
    if (ambientFaults.chance(LOOKED_AT_HALFWAY)) {
      live(world, found, () => world.nowMs() >= middleMs);
      await verify(null);
    }
    live(world, found, () => tasksLeft === 0 || world.nowMs() >= beganMs + spanMs + TROUBLE_MS);

    [faults, isPeace] = [NO_FAULTS, true];
    [wallOffsetMs, diskFullUntilMs, bucketUnavailableUntilMs] = [0, 0, 0];
    trace.report("world", "peace");
    const peaceMs = world.nowMs();
    let unfinished = 1;
    // A stopped process may later handle requests from long ago.
    const isWell = () => world.nowMs() > fleet.wellSinceMs();
    while ((unfinished > 0 || tasksLeft > 0 || !isWell()) && found.length === 0 && world.nowMs() < peaceMs + MAX_PEACE_MS) {
      const untilMs = world.nowMs() + MINUTE_MS;
      live(world, found, () => world.nowMs() >= untilMs);
      unfinished = (await reads.unfinished(0, 1)).length;
      if (world.nowMs() <= fleet.wellSinceMs() + HEALTHY_AFTER_MS) continue;
      await verifyOverdue(reads, slowestMs() ?? 0, fault);
      for (const seq of fleet.shared?.leftFor(LEASES_UNTIL_TAKEN_OVER * fleet.leaseMs + SLOW_MS) ?? [])
        fault(`${seq}: its node was fenced long ago, and no node resumes it`);
    }
    const isLong = ambientFaults.chance(fleet.shared ? WATCHED_LONG / 2 : WATCHED_LONG);
    const shortMs = fleet.shared ? SHARED_AFTERMATH_MS : AFTERMATH_MS;
    const endMs = world.nowMs() + (isLong ? LONG_AFTERMATH_MS : shortMs);
    live(world, found, () => world.nowMs() >= endMs);
    if (found.length === 0) {
      await verify(slowestMs());
      const evidence = { notebook, upstream, reads, accountSeqs, kept, clips };
      const isClockRight = drawn.clockJump === 0 && (!fleet.shared || drawn.clockSkew === 0);
      if (isLong && fleet.wellSinceMs() <= world.nowMs())
        (await auditWatches(evidence, world.nowMs(), fleet.wellSinceMs(), isClockRight, count > 1)).forEach(fault);
      const ends = await readEnds(reads);
      (await audit(evidence, ends)).forEach(fault);
      (await auditDecisions({ ...evidence, orders: operator.orders, situations }, ends)).forEach(fault);
      (await auditAnswers({ answers, reads })).forEach(fault);
      (await auditCancels({ ...evidence, isShared: fleet.shared !== null, situations }, ends)).forEach(fault);
      (await auditErasures({ ...evidence, situations }, ends)).forEach(fault);
      for (const node of nodes)
        if (node.slotsInUse() > 0)
          fault(`${node.name}: ${node.slotsInUse()} submission slots are in use, and nothing is submitted`);
      await options.witness?.(evidence, ends);
      if (found.length === 0 && (webhooks || uploads)) {
        let isEnabled = webhookAccounts === null;
        void webhookAccounts?.enableAll().then(() => {
          isEnabled = true;
        });
        live(world, found, () => isEnabled);
        const pauses = await passLongPauses({
          ...{ world, nodes, isFailed: () => found.length > 0 },
          live: (untilMs) => live(world, found, () => world.nowMs() >= untilMs),
          left: [
            ...(webhooks ? [leftDeliveries(webhooks, reads, accountSeqs, world.nowMs)] : []),
            ...(uploads ? [leftUploads(uploads, world.nowMs)] : []),
          ],
        });
        if (pauses === null) fault("deliveries or deletions are due, and no node performs them");
        const isClockRight = drawn.clockJump === 0 && count === 1;
        if (webhooks) {
          if (pauses !== null && pauses > 0) situations.count("deliveriesAfterHours");
          (await auditWebhooks({ webhooks, reads, accountSeqs, isClockRight, situations })).forEach(fault);
        }
        if (uploads) (await auditUploads({ ...evidence, uploads, log: uploadLog })).forEach(fault);
      }
    }
  } catch (thrown) {
    fault(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
  }
  const generations = [...(await readEnds(reads)).values()];
  giveBack();
  const sum = (of: Iterable<number>) => [...of].reduce((all, one) => all + one, 0);
  return {
    ...{ seed, nodes: nodes.length, faults: found, drawn, struck, trace: trace.lines(), fingerprint: trace.fingerprint() },
    figures: {
      happenings: world.happened(),
      simulatedMinutes: Math.round((world.nowMs() - WORLD_BEGINS_MS) / MINUTE_MS),
      lives: sum(nodes.map((node) => node.lives())),
      crashes: sum(struck.values()),
      generations: generations.length,
      succeeded: generations.filter(({ status }) => status === "succeeded").length,
      fallbacks: generations.filter(({ attempts }) => attempts > 1).length,
      answers: notebook.heard.length,
      arrivals: upstream.arrivals.length,
      jobs: upstream.jobs.length,
      pinned: upstream.jobs.filter(({ givenMs }) => givenMs !== null).length,
      mismatches: upstream.jobs.filter(({ wrong, announcedAtMs }) => wrong !== null && announcedAtMs > 0).length,
      ...fleet.figures(),
      decisions: operator.orders.length,
      ...situations.figures(),
    },
  };
};
