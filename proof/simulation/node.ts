// A node of a simulated world: the service's engine through life after life over one database, with crashes, drains and reloads.
import { parkingOf } from "../../actors/parking.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import { type CrashLoop, openCrashLoop } from "../../src/crash-loop.ts";
import { type Engine, joinEngine } from "../../src/engine.ts";
import { readSettings } from "../../src/settings.ts";
import type { StoreReads } from "../../src/store/store.ts";
import type { Dice } from "./dice.ts";
import { openDisk } from "./disk.ts";
import type { Faults } from "./faults.ts";
import { beginLife, type Crossing, type NodeLife } from "./node-life.ts";
import { type Kept, openShelf } from "./shelf.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Upstream } from "./upstream.ts";
import { openWire } from "./wire.ts";
import type { WorldDatabase } from "./world-database.ts";

/** What the nodes of a world share. */
export type Surroundings = {
  world: Timeline;
  trace: Trace;
  dice: Dice;
  faults: () => Faults;
  database: WorldDatabase;
  /** What anybody may read of the database, without its nodes. */
  reads: StoreReads;
  upstream: Upstream;
  kept: Kept;
  catalogue: () => Catalogue;
  wallMs: () => number;
  isDiskFull: () => boolean;
  /** A submission leaves; its sender was told that nothing was accepted. */
  left: (provider: string, ref: string) => void;
  refusedFor: (ref: string) => void;
  /** Counts the places at which processes ended. */
  struck: (crossing: Crossing) => void;
  /** The row number and the random part of the next generation. */
  nameGeneration: (nowMs: number) => { seq: number; id: string };
  /** Something happened that the service must never do. */
  fault: (text: string) => void;
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

/** The shortest and the longest time a node is down. */
const DOWN_MS = [50, 20_000] as const;
/** Some absences are long: deadlines pass meanwhile. */
const LONG_DOWN_MS = 3_000_000;
/** Places that a process comes by seldom, and how much likelier it ends there. */
const RARE: ReadonlySet<Crossing> = new Set(["drain: begun", "cancel: before", "cancel: answered", "boot: recovered"]);
const RARELY_MORE = 8;
const BEAT_MS = 10_000;
const DRAIN_MS = 5_000;

export const openNode = (name: string, around: Surroundings): Node => {
  const { world, trace, faults } = around;
  const dice = around.dice.fork(name);
  let lives = 0;
  let life: NodeLife | undefined;
  let engine: Engine | undefined;
  let crashLoop: CrashLoop | undefined;
  let openSinceMs = 0;

  const begin = async (mine: NodeLife): Promise<void> => {
    const store = await openDisk({
      ...{ database: around.database, life: mine, dice, faults, trace },
      isFull: around.isDiskFull,
    });
    await mine.cross("boot: database opened");
    crashLoop = openCrashLoop({
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
    const joined = await joinEngine({
      limits: LIMITS,
      clock: mine.clock,
      log: (event, fields = {}) => {
        // Of a life that is over nothing counts: a commit in doubt ends it.
        if (event === "effect failed" && mine.isAlive()) around.fault(`${name}: ${fields.event ?? ""}: ${fields.reason ?? ""}`);
      },
      store,
      files: { remove: async () => undefined },
      providers: openWire({
        ...{ life: mine, dice, faults, trace, upstream: around.upstream },
        ...{ left: around.left, refusedFor: around.refusedFor },
        isOwned: async (provider, jobId) => (await store.jobOwner(provider, jobId)) !== undefined,
      }),
      media: openShelf({ life: mine, dice, faults, upstream: around.upstream, kept: around.kept }),
      allowsHost: () => false,
      catalogue: around.catalogue(),
      pace: 1,
      chance: dice.roll,
      soon: mine.soon,
      nameGeneration: around.nameGeneration,
      takingUp: crashLoop.takingUp,
      unknownOutcome: () => kill("commit in doubt"),
      callersChanged: () => undefined,
      peopleChanged: () => undefined,
    });
    await crashLoop.begin();
    await joined.recover();
    crashLoop.recovered().catch(() => {
      if (mine.isAlive()) kill("commit in doubt");
    });
    await mine.cross("boot: recovered");
    // What the recovery began may have ended this life in the same moment.
    if (!mine.isAlive()) return;
    engine = joined;
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
    const mine = beginLife({
      name: `${name}.${lives}`,
      world,
      wallMs: around.wallMs,
      notBeforeMs: await around.reads.lastSeenMs(),
      strikes: (crossing) => strikes(crossing),
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
    if (!dice.chance(RARE.has(crossing) ? RARELY_MORE * probability : probability)) return false;
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
        const drained = leaving.drain(DRAIN_MS);
        await mine.cross("drain: begun");
        await drained;
        await crashLoop?.stopped().catch(() => undefined);
        await leaving.stop();
        kill("drained");
      })();
    },
    lives: () => lives,
  };
};
