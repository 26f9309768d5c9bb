// Node of a simulated world: the service's engine through several lives.
//
// Its database is its own or shared; crashes and drains end its lives.
import { parkingOf } from "../../../actors/supervisor/park.ts";
import { createGenerationAdmin, type GenerationAdmin } from "../../admin/generations.ts";
import { type WithPrincipal, withPrincipal } from "../../admin/principal.ts";
import { createConnection } from "../../app/connection.ts";
import { createEngine } from "../../app/engine.ts";
import type { Engine } from "../../app/engine-types.ts";
import { createMembership, type Membership } from "../../cluster/membership.ts";
import { readSettings } from "../../config/load.ts";
import { type CrashLoop, createCrashLoopGuard } from "../../generations/crash-loop-guard.ts";
import { createStuck } from "../../generations/stuck.ts";
import { DEFECT_EVENTS, type Log } from "../../logging/events.ts";
import type { Store } from "../../store/store.ts";
import type { UploadService } from "../../uploads/upload-service.ts";
import { attemptOf, isOnRow } from "./audit-answers.ts";
import { createDisk, defective } from "./disk.ts";
import { createMedia, PIN_INPUTS } from "./media.ts";
import { createNetwork } from "./network.ts";
import type { Node, NodeEnvironment } from "./node-environment.ts";
import { beginLife, type Crossing, type NodeLife, stopTimesOf, timesOf } from "./node-life.ts";
import { createNodeStore, OUT_OF_REACH } from "./node-store.ts";
import { createNodeUploads, createUploadInputs } from "./node-uploads.ts";
import { createNodeWebhooks, type NodeWebhooks } from "./node-webhooks.ts";
import { createUnsavedOutcomes, type NodeDisk } from "./unsaved-outcomes.ts";
import { UNASKED_OF_NODES } from "./unused-reads.ts";
import type { UpstreamJob } from "./upstream.ts";

const settings = readSettings({
  GENROUTER_LIMITS__IN_PROGRESS: "4",
  GENROUTER_LIMITS__MAX_RUNNING: "6",
  GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "3",
  GENROUTER_LIMITS__MAX_LIVE_ACTORS: "4",
});
export const LIMITS = settings.limits;

/** The shortest and the longest downtime of a node. Some are long enough for deadlines to pass. */
const DOWN_MS = [50, 20_000] as const;
const LONG_DOWN_MS = 3_000_000;
/** The random characters of an id, which are deterministic here. */
const RANDOM_CHARS = 10;
/** An exact clock. */
const TRUE = { offsetMs: 0, rate: 1 };
const [BEAT_MS, DRAIN_MS] = [10_000, 5_000];

export const createNode = (name: string, environment: NodeEnvironment): Node => {
  const { world, trace, faults, shared, situations, answers } = environment;
  const dice = environment.dice.fork(name);
  const spoolDice = dice.fork("spool");
  const hookDice = dice.fork("webhooks");
  const uploadDice = dice.fork("uploads");
  const uploaded = environment.uploads ?? undefined;
  let lives = 0;
  let life: NodeLife | undefined;
  let engine: Engine | undefined;
  let admin: WithPrincipal<GenerationAdmin> | undefined;
  let webhooks: NodeWebhooks | undefined;
  let uploads: UploadService | undefined;
  /** Its own disk, which outlives its lives, and the tampering of mutations. */
  const own: NodeDisk = new Map();
  const tamper = defective(dice.fork("defects"), faults, situations);
  /** Announces to the other nodes that this life drains. */
  let announceDrain: (() => Promise<void>) | undefined;
  /** Ends this life in order. */
  let leave: (() => Promise<void>) | undefined;
  /** Begins no new try of a delivery in this life. */
  let drainWebhooks: (() => Promise<void>) | undefined;
  let slotsInUse: (() => number) | undefined;
  let openSinceMs = 0;

  /** The component beside the engine: a single node has a crash loop guard, one of several has a lease keeper. */
  const openAlone = (mine: NodeLife, store: Store): CrashLoop =>
    createCrashLoopGuard({
      clock: mine.clock,
      parkAfter: Number.POSITIVE_INFINITY,
      noted: store.recoveryNote,
      commit: store.commit,
      unfinished: store.unfinished,
      snapshotOf: store.snapshotOf,
      failed: (seq, fault) => {
        if (mine.isAlive()) environment.fault(`${name}: ${seq} was not taken up: ${String(fault)}`);
      },
      parkingOf,
    });
  const openAdminOf = (mine: NodeLife, store: Store, { post, decide, isReachable }: Engine): WithPrincipal<GenerationAdmin> =>
    withPrincipal(
      (transfer, by) =>
        createGenerationAdmin({
          ...{ reads: store, post: transfer, by, clock: mine.clock },
          isReachable,
          decide: async (seq, decision) => {
            await mine.cross("decision: stored, not delivered");
            await decide(seq, decision);
          },
        }),
      post,
      mine.clock,
    );
  const log =
    (mine: NodeLife): Log =>
    (event, fields = {}) => {
      // Faults of an ended life do not count, because a commit with an unknown outcome ends it. Neither do faults of an
      // unreachable store.
      const isFault =
        DEFECT_EVENTS.has(event) &&
        event !== "commit outcome unknown" &&
        fields.event !== "spooling an outcome" &&
        mine.isAlive() &&
        !String(fields.reason).includes(OUT_OF_REACH);
      if (isFault) environment.fault(`${name}: ${fields.event ?? ""}: ${fields.reason ?? ""}`);
      if (event === "generations reclaimed") shared?.tookOver(Number(fields.count));
    };

  const begin = async (mine: NodeLife): Promise<void> => {
    const disk = {
      life: mine,
      dice,
      faults,
      trace,
      tamper,
      fault: environment.fault,
      isFull: environment.isDiskFull,
      committed: environment.committed,
    };
    const store = shared
      ? await createNodeStore({ ...disk, ...shared, situations, shared: shared.database })
      : await createDisk({ ...disk, database: environment.database });
    await mine.cross("boot: database opened");
    const crashLoop = shared ? null : openAlone(mine, store);
    const epoch = store.node?.epoch ?? 0;
    const engineConnection = createConnection<Engine>("engine");
    let served: NodeWebhooks | undefined;
    const membership: Membership = createMembership({
      ...{ node: store.node, clock: mine.clock, monoMs: mine.monoMs, log: log(mine) },
      engine: engineConnection.target,
      reads: { nodes: UNASKED_OF_NODES, newestGeneration: store.newestGeneration },
      changed: () => undefined,
      ended: () => kill("ended by another node"),
    });
    const { leaseKeeper } = membership;
    const knownJob = ({ provider, ref, jobId }: UpstreamJob) => {
      if (shared && shared.cutUntilMs() > world.nowMs()) situations.count("answersDuringOutage");
      const got = { provider, ref, jobId, atMs: world.nowMs(), life: mine };
      answers.set(ref, { ...got, hasDisk: shared !== null, wasKept: false, wasRefused: false });
    };
    const offered = environment.catalogue();
    const limits = { ...LIMITS, ...uploaded?.limits };
    const isUnavailable = () => environment.isBucketUnavailable() || (shared === null && environment.isDiskFull());
    const network = createNetwork({
      ...{ life: mine, dice, faults, trace, upstream: environment.upstream, refusedFor: environment.refusedFor },
      ...{ inHand: knownJob, fault: environment.fault, situations, worksFor: (ms) => shared?.answers(ms) },
      left: (provider, ref) => {
        environment.left(provider, ref);
        shared?.ownership.sent(epoch, ref);
        shared?.answers(0);
      },
      isOwned: async (provider, jobId) => (await store.jobOwner(provider, jobId)) !== undefined,
    });
    const joined = await createEngine({
      limits,
      clock: mine.clock,
      log: log(mine),
      store,
      files: { remove: async () => undefined },
      providers: network,
      media: createMedia({
        ...{ life: mine, dice, faults, upstream: environment.upstream, kept: environment.kept, clips: environment.clips },
        ...{ isShared: shared !== null, inHand: knownJob, situations },
        isUnavailable,
      }),
      inputs: {
        ...PIN_INPUTS,
        ...(uploaded && createUploadInputs({ life: mine, dice: uploadDice, store }, uploaded, limits.file_retention_s)),
      },
      allowsHost: () => false,
      catalogue: offered,
      ...{ pace: 1, chance: dice.roll, maxMismatched: environment.maxMismatched },
      soon: mine.soon,
      nameGeneration: (nowMs) => {
        if (!shared) return environment.nameGeneration(nowMs);
        const { seq, id } = membership.nameGeneration(nowMs);
        return { seq, id: `${id.slice(0, -RANDOM_CHARS)}${"0".repeat(RANDOM_CHARS)}` };
      },
      stuck: createStuck(log(mine)),
      takingUp: crashLoop?.takingUp,
      ...(leaseKeeper
        ? {
            nodes: membership.nodes,
            isAnotherThere: membership.isAnotherThere,
            sure: leaseKeeper.sure,
            isSure: leaseKeeper.isSure,
          }
        : {}),
      ...(shared && leaseKeeper
        ? {
            ...{ isUnavailable: leaseKeeper.isUnavailable, isDiskFull: shared.isSpoolFull },
            outcomes: createUnsavedOutcomes({
              ...{
                life: mine,
                dice: spoolDice,
                disk: own,
                answers,
                isFull: shared.isSpoolFull,
                situations,
                fault: environment.fault,
              },
              wasCalmSince: (ms) => Math.max(shared.cutUntilMs(), mine.frozenUntilMs(), environment.diskFullUntilMs()) <= ms,
              isKnown: async (answer) => isOnRow(answer, await attemptOf(environment.reads, answer)),
            }),
          }
        : {}),
      unknownOutcome: () => kill("commit in doubt"),
      callersChanged: () => undefined,
      usersChanged: () => undefined,
      webhooksChanged: (mutation, outcome) => served?.delivery.committed(mutation, outcome),
      balanceFell: () => undefined,
      spendReached: () => undefined,
    });
    engineConnection.connect(joined);
    if (environment.webhooks)
      served = createNodeWebhooks({
        ...{ life: mine, dice: hookDice, store, engine: joined, log: log(mine), webhooks: environment.webhooks },
      });
    await crashLoop?.begin();
    await joined.recover();
    served?.delivery.begin();
    await leaseKeeper?.begin();
    crashLoop?.recovered().catch(() => {
      if (mine.isAlive()) kill("commit in doubt");
    });
    await mine.cross("boot: recovered");
    // The recovery may have ended this life at the same moment.
    if (!mine.isAlive()) return;
    // The catalogue was replaced while this life started.
    if (environment.catalogue() !== offered) joined.replaceCatalogue(environment.catalogue());
    engine = joined;
    slotsInUse = network.slotsInUse;
    admin = openAdminOf(mine, store, joined);
    webhooks = served;
    uploads =
      uploaded &&
      createNodeUploads({
        ...{ life: mine, dice: uploadDice, faults, store, engine: joined, log: log(mine), uploads: uploaded, isUnavailable },
        isFirst: () => leaseKeeper?.isFirst() ?? true,
      });
    announceDrain = () => membership.leave(0);
    drainWebhooks = served?.delivery.drain;
    leave = async () => {
      served?.delivery.stop();
      await crashLoop?.stopped().catch(() => undefined);
      await Promise.all([joined.stop(), leaseKeeper?.stop()]);
      if (leaseKeeper) await store.close();
    };
    openSinceMs = world.nowMs();
    trace.report(mine.name, "open");
    const beat = () => {
      void joined.post({ mutation: "beat", atMs: mine.clock.nowMs() }).catch(() => undefined);
      mine.clock.after(BEAT_MS, beat);
    };
    mine.clock.after(BEAT_MS, beat);
  };

  const boot = async () => {
    lives += 1;
    const { offsetMs, rate } = shared?.skew() ?? TRUE;
    const bornMs = world.nowMs();
    const mine = beginLife({
      ...{ name: `${name}.${lives}`, world, rate },
      wallMs: () => environment.wallMs() + offsetMs + (world.nowMs() - bornMs) * (rate - 1),
      notBeforeMs: await environment.reads.lastSeenMs(),
      strikes: (crossing) => strikes(crossing),
      stops: (crossing) => {
        const times = stopTimesOf(crossing);
        const ms = shared && engine && times > 0 ? shared.stops(times) : 0;
        if (ms > 0) trace.report(`${name}.${lives}`, "stopped", "", `${(ms / 1000).toFixed(1)} s at ${crossing}`);
        return ms;
      },
    });
    life = mine;
    trace.report(mine.name, "boot");
    try {
      await begin(mine);
    } catch (fault) {
      // A full disk or an unknown outcome at the start ends this life like any other.
      if (mine.isAlive()) kill(fault instanceof Error ? fault.message : String(fault));
    }
  };
  const start = () => void boot();
  const strikes = (crossing: Crossing): boolean => {
    const probability = engine ? faults().crash : faults().bootCrash;
    if (!dice.chance(timesOf(crossing) * probability)) return false;
    environment.struck(crossing);
    kill(crossing);
    return true;
  };
  const end = (why: string): boolean => {
    if (!life?.isAlive()) return false;
    trace.report(life.name, "end", "", why);
    life.end();
    engine = undefined;
    admin = undefined;
    slotsInUse = undefined;
    webhooks = undefined;
    uploads = undefined;
    return true;
  };
  const kill = (why: string) => {
    if (!end(why)) return;
    const [shortest, longest] = DOWN_MS;
    world.after(dice.chance(0.05) ? dice.between(longest, LONG_DOWN_MS) : dice.between(shortest, longest) * dice.roll(), start);
  };

  return {
    name,
    engine: () => engine,
    admin: () => admin,
    life: () => life,
    openSinceMs: () => openSinceMs,
    slotsInUse: () => slotsInUse?.() ?? 0,
    boot: start,
    webhooks: () => webhooks?.service,
    uploads: () => uploads,
    kill,
    pause: (ms) => {
      if (end("paused")) world.after(ms, start);
    },
    retire: () => {
      const [leaving, mine] = [engine, life];
      if (!leaving || !mine) return;
      trace.report(mine.name, "drain");
      void (async () => {
        const tried = drainWebhooks && Promise.race([drainWebhooks(), mine.sleep(DRAIN_MS)]);
        const drained = Promise.all([leaving.drain(DRAIN_MS), announceDrain?.(), tried]);
        await mine.cross("drain: begun");
        await drained;
        await leave?.();
        kill("drained");
      })();
    },
    lives: () => lives,
  };
};
