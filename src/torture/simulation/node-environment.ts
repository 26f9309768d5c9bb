// What a node of a simulated world finds around it, and what the world may do with it.
import type { Catalogue } from "../../../catalogue/load.ts";
import type { GenerationAdmin } from "../../admin/generations.ts";
import type { By } from "../../admin/principal.ts";
import type { Core } from "../../app/core-types.ts";
import type { StoreReads } from "../../store/store.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import type { DurableFiles } from "./media.ts";
import type { Crossing, NodeLife } from "./node-life.ts";
import type { OwnershipOracle } from "./ownership-oracle.ts";
import type { Rng } from "./rng.ts";
import type { SharedDatabase } from "./shared-database.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Answers } from "./unsaved-outcomes.ts";
import type { Upstream } from "./upstream.ts";
import type { WorldDatabase } from "./world-database.ts";

/** What the nodes of a world share. */
export type Surroundings = DurableFiles & {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  faults: () => Faults;
  database: WorldDatabase;
  /** What anybody may read of the database, without its nodes. */
  reads: StoreReads;
  upstream: Upstream;
  catalogue: () => Catalogue;
  wallMs: () => number;
  isDiskFull: () => boolean;
  isBucketAway: () => boolean;
  answers: Answers;
  situations: CoverageCounters;
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
  book: OwnershipOracle;
  leaseMs: number;
  /** Until when this node cannot reach the store, or cannot renew its lease; true time. */
  cutUntilMs: () => number;
  deafUntilMs: () => number;
  /** A provider answers after so long. */
  answers: (ms: number) => void;
  /** Its own disk takes no answers. */
  isSpoolFull: () => boolean;
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
  engine(): Core | undefined;
  /** Where operators decide about generations; undefined as long as the engine is. */
  admin(): By<GenerationAdmin> | undefined;
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
