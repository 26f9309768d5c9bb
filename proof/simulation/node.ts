// A node of a simulated world: the service's engine through life after life over a database, its own or shared, with crashes and drains.
import { parkingOf } from "../../actors/parking.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import { type CrashLoop, openCrashLoop } from "../../src/crash-loop.ts";
import { joinEngine } from "../../src/engine.ts";
import type { Engine } from "../../src/engine-words.ts";
import type { Log } from "../../src/events.ts";
import { type Membership, openMembership } from "../../src/membership.ts";
import { readSettings } from "../../src/settings.ts";
import type { Store, StoreReads } from "../../src/store/store.ts";
import type { Dice } from "./dice.ts";
import { openDisk } from "./disk.ts";
import type { Faults } from "./faults.ts";
import { beginLife, type Crossing, type NodeLife } from "./node-life.ts";
import { OUT_OF_REACH, openNodeStore } from "./node-store.ts";
import type { OwnerBook } from "./owner-book.ts";
import type { SharedDatabase } from "./shared-database.ts";
import { openShelf, PIN_INPUTS, type Shelved } from "./shelf.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import { UNASKED_OF_NODES } from "./unasked.ts";
import type { Upstream } from "./upstream.ts";
import { openWire } from "./wire.ts";
import type { WorldDatabase } from "./world-database.ts";

/** What the nodes of a world share. */
export type Surroundings = Shelved & {
  world: Timeline;
  trace: Trace;
  dice: Dice;
  faults: () => Faults;
  database: WorldDatabase;
  /** What anybody may read of the database, without its nodes. */
  reads: StoreReads;
  upstream: Upstream;
  catalogue: () => Catalogue;
  wallMs: () => number;
  isDiskFull: () => boolean;
  /** A submission leaves; its sender was told that nothing was accepted. */
  left: (provider: string, ref: string) => void;
  refusedFor: (ref: string) => void;
  /** Attempts that may deliver something else; 0: all. */
  maxMismatched: number;
  /** Counts the places at which processes ended. */
  struck: (crossing: Crossing) => void;
  /** The row number and the random part of the next generation. */
  nameGeneration: (nowMs: number) => { seq: number; id: string };
  /** Something happened that the service must never do. */
  fault: (text: string) => void;
  /** What a node has with others; null: the database is its own. */
  shared: Sharing | null;
};

export type Sharing = {
  database: SharedDatabase;
  book: OwnerBook;
  leaseMs: number;
  /** Until when this node cannot reach the store, or cannot renew its lease; true time. */
  cutUntilMs: () => number;
  deafUntilMs: () => number;
  /** Generations that it goes on with for a node that was ended. */
  tookOver: (generations: number) => void;
  /** How long it is stopped at a place that it comes by, ms; 0: not at all. @param times how much likelier than elsewhere */
  stops: (times: number) => number;
  /** How far the clock of its machine is off from now on, and how fast it runs. */
  skew: () => { offsetMs: number; rate: number };
};

export type Node = {
  name: string;
  /** The engine of this life once it has recovered; undefined while it is down or starts. */
  engine(): Engine | undefined;
  life(): NodeLife | undefined;
  /** When this life took up its work, true time. */
  openSinceMs(): number;
  boot(): void;
  /** Ends this life at once. It begins again after a while. */
  kill(why: string): void;
  /** Ends it as an operator would: drain first, then the end. */
  retire(): void;
  lives(): number;
};

const settings = readSettings({
  GENROUTER_LIMITS__IN_PROGRESS: "4",
  GENROUTER_LIMITS__SEATS: "6",
  GENROUTER_LIMITS__SEATS_PER_ROUTE: "3",
  GENROUTER_LIMITS__LIVE_ACTORS: "4",
});
export const LIMITS = settings.limits;

/** The shortest and the longest time a node is down; some absences are long, and deadlines pass meanwhile. */
const DOWN_MS = [50, 20_000] as const;
const LONG_DOWN_MS = 3_000_000;
/**
 * How much likelier a process ends at a place that it comes by seldom, so that 800 seeds come to each at least ten times on average; renewing a
 * lease is what it does most.
 */
const LIKELIER: Partial<Record<Crossing, number>> = {
  "boot: recovered": 8,
  "drain: begun": 16,
  "pin: kept": 3,
  "cancel: before": 16,
  "cancel: answered": 24,
  "drain: lease not given back": 48,
  "lease: renewed": 0.02,
};
const timesOf = (crossing: Crossing): number => LIKELIER[crossing] ?? 1;
/**
 * Places where a process may be stopped. Between its last look at its lease and the first byte of a submission there is none: that moment
 * no node can close, and what it could do is what a request that is late on its way does.
 */
const mayStop = (crossing: Crossing): boolean => crossing !== "submit: before the bytes leave" && !crossing.startsWith("boot");
/** Of all places the one that matters most: it is written down that a request may be out, and it is not out yet. */
const STOPS_MORE = 8;
/** Of an id, the characters that nobody can guess: here nothing is left to chance. */
const RANDOM_CHARS = 10;
/** A clock that is right. */
const TRUE = { offsetMs: 0, rate: 1 };
const [BEAT_MS, DRAIN_MS] = [10_000, 5_000];

export const openNode = (name: string, around: Surroundings): Node => {
  const { world, trace, faults, shared } = around;
  const dice = around.dice.fork(name);
  let lives = 0;
  let life: NodeLife | undefined;
  let engine: Engine | undefined;
  /** Tells the others that this life drains. */
  let tellLeaving: (() => Promise<void>) | undefined;
  /** Ends this life in order. */
  let leave: (() => Promise<void>) | undefined;
  let openSinceMs = 0;

  /** What a node is besides its engine: alone it counts what it died of, among others it keeps its lease. */
  const openAlone = (mine: NodeLife, store: Store): CrashLoop =>
    openCrashLoop({
      clock: mine.clock,
      parkAfter: Number.POSITIVE_INFINITY,
      noted: store.recoveryNote,
      commit: store.commit,
      unfinished: store.unfinished,
      snapshotOf: store.snapshotOf,
      failed: (seq, fault) => {
        if (mine.isAlive()) around.fault(`${name}: ${seq} was not taken up: ${String(fault)}`);
      },
      parkingOf,
    });
  const log =
    (mine: NodeLife): Log =>
    (event, fields = {}) => {
      // Of a life that is over nothing counts: a commit in doubt ends it. Nor does it when the store was not there to be asked.
      const isFault = event === "effect failed" && mine.isAlive() && !String(fields.reason).includes(OUT_OF_REACH);
      if (isFault) around.fault(`${name}: ${fields.event ?? ""}: ${fields.reason ?? ""}`);
      if (event === "generations taken over") shared?.tookOver(Number(fields.count));
    };

  const begin = async (mine: NodeLife): Promise<void> => {
    const disk = { life: mine, dice, faults, trace, isFull: around.isDiskFull };
    const store = shared
      ? await openNodeStore({ ...disk, ...shared, shared: shared.database })
      : await openDisk({ ...disk, database: around.database });
    await mine.cross("boot: database opened");
    const crashLoop = shared ? null : openAlone(mine, store);
    const epoch = store.node?.epoch ?? 0;
    const membership: Membership = openMembership({
      ...{ node: store.node, clock: mine.clock, monoMs: mine.monoMs, log: log(mine) },
      engine: () => joined,
      reads: { nodes: UNASKED_OF_NODES },
      changed: () => undefined,
      ended: () => kill("ended by another node"),
    });
    const { tenure } = membership;
    const offered = around.catalogue();
    const joined: Engine = await joinEngine({
      limits: LIMITS,
      clock: mine.clock,
      log: log(mine),
      store,
      files: { remove: async () => undefined },
      providers: openWire({
        ...{ life: mine, dice, faults, trace, upstream: around.upstream, refusedFor: around.refusedFor },
        left: (provider, ref) => {
          around.left(provider, ref);
          shared?.book.sent(epoch, ref);
        },
        isOwned: async (provider, jobId) => (await store.jobOwner(provider, jobId)) !== undefined,
      }),
      media: openShelf({
        ...{ life: mine, dice, faults, upstream: around.upstream, kept: around.kept, clips: around.clips },
        isShared: shared !== null,
      }),
      inputs: PIN_INPUTS,
      allowsHost: () => false,
      catalogue: offered,
      ...{ pace: 1, chance: dice.roll, maxMismatched: around.maxMismatched },
      soon: mine.soon,
      nameGeneration: (nowMs) => {
        if (!shared) return around.nameGeneration(nowMs);
        const { seq, id } = membership.nameGeneration(nowMs);
        return { seq, id: `${id.slice(0, -RANDOM_CHARS)}${"0".repeat(RANDOM_CHARS)}` };
      },
      ...(crashLoop ? { takingUp: crashLoop.takingUp } : {}),
      ...(tenure
        ? { nodes: membership.nodes, isAnotherThere: membership.isAnotherThere, sure: tenure.sure, isSure: tenure.isSure }
        : {}),
      unknownOutcome: () => kill("commit in doubt"),
      callersChanged: () => undefined,
      peopleChanged: () => undefined,
    });
    await crashLoop?.begin();
    await joined.recover();
    await tenure?.begin();
    crashLoop?.recovered().catch(() => {
      if (mine.isAlive()) kill("commit in doubt");
    });
    await mine.cross("boot: recovered");
    // What the recovery began may have ended this life in the same moment.
    if (!mine.isAlive()) return;
    // Replaced while this life began.
    if (around.catalogue() !== offered) joined.replaceCatalogue(around.catalogue());
    engine = joined;
    tellLeaving = () => membership.leave(0);
    leave = async () => {
      await crashLoop?.stopped().catch(() => undefined);
      await Promise.all([joined.stop(), tenure?.stop()]);
      if (tenure) await store.close();
    };
    openSinceMs = world.nowMs();
    trace.tell(mine.name, "open");
    const beat = () => {
      void joined.post({ deed: "beat", atMs: mine.clock.nowMs() }).catch(() => undefined);
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
      wallMs: () => around.wallMs() + offsetMs + (world.nowMs() - bornMs) * (rate - 1),
      notBeforeMs: await around.reads.lastSeenMs(),
      strikes: (crossing) => strikes(crossing),
      stops: (crossing) => {
        const times = crossing === "commit: sending" ? STOPS_MORE : timesOf(crossing);
        const ms = shared && engine && mayStop(crossing) ? shared.stops(times) : 0;
        if (ms > 0) trace.tell(`${name}.${lives}`, "stopped", "", `${(ms / 1000).toFixed(1)} s at ${crossing}`);
        return ms;
      },
    });
    life = mine;
    trace.tell(mine.name, "boot");
    try {
      await begin(mine);
    } catch (fault) {
      // A full disk or a doubt at the start ends this life like any other.
      if (mine.isAlive()) kill(fault instanceof Error ? fault.message : String(fault));
    }
  };
  const start = () => void boot();
  const strikes = (crossing: Crossing): boolean => {
    const probability = engine ? faults().crash : faults().bootCrash;
    if (!dice.chance(timesOf(crossing) * probability)) return false;
    around.struck(crossing);
    kill(crossing);
    return true;
  };
  const kill = (why: string) => {
    if (!life?.isAlive()) return;
    trace.tell(life.name, "end", "", why);
    life.end();
    engine = undefined;
    const [shortest, longest] = DOWN_MS;
    world.after(dice.chance(0.05) ? dice.between(longest, LONG_DOWN_MS) : dice.between(shortest, longest) * dice.roll(), start);
  };

  return {
    name,
    engine: () => engine,
    life: () => life,
    openSinceMs: () => openSinceMs,
    boot: start,
    kill,
    retire: () => {
      const [leaving, mine] = [engine, life];
      if (!leaving || !mine) return;
      trace.tell(mine.name, "drain");
      void (async () => {
        const drained = Promise.all([leaving.drain(DRAIN_MS), tellLeaving?.()]);
        await mine.cross("drain: begun");
        await drained;
        await leave?.();
        kill("drained");
      })();
    },
    lives: () => lives,
  };
};
