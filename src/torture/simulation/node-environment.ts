// Environment of a simulated node, and the interface through which the world controls it.
import type { Catalogue } from "../../../catalogue/load.ts";
import type { GenerationAdmin } from "../../admin/generations.ts";
import type { WithPrincipal } from "../../admin/principal.ts";
import type { Engine } from "../../app/engine-types.ts";
import type { NameGeneration } from "../../domain/ids.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import type { StoreReads } from "../../store/store.ts";
import type { UploadService } from "../../uploads/upload-service.ts";
import type { WebhookService } from "../../webhooks/service.ts";
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
import type { UploadWorld } from "./upload-world.ts";
import type { Upstream } from "./upstream.ts";
import type { WebhookWorld } from "./webhook-world.ts";
import type { WorldDatabase } from "./world-database.ts";

/** The environment that all nodes of a world share. */
export type NodeEnvironment = DurableFiles & {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  faults: () => Faults;
  database: WorldDatabase;
  /** Reads of the database that involve no node. */
  reads: StoreReads;
  upstream: Upstream;
  catalogue: () => Catalogue;
  wallMs: () => number;
  isDiskFull: () => boolean;
  /** The end of the last time in which the disk was full. */
  diskFullUntilMs: () => number;
  isBucketUnavailable: () => boolean;
  answers: Answers;
  situations: CoverageCounters;
  /** A submission is sent; its sender learns that the provider accepted nothing. */
  left: (provider: string, ref: string) => void;
  refusedFor: (ref: string) => void;
  /** Number of attempts that may deliver a mismatch; 0: all. */
  maxMismatched: number;
  /** Counts the crossings at which processes ended. */
  struck: (crossing: Crossing) => void;
  /** The row number and the random part of the next generation. */
  nameGeneration: NameGeneration;
  /** Mutations are durable now, whether or not their node learns of it. */
  committed: (mutations: readonly Mutation[], outcomes: readonly MutationResult[]) => void;
  /** The receivers of webhooks; null: no account uses webhooks. */
  webhooks: WebhookWorld | null;
  /** The stored bytes of uploads; null: no account uploads files. */
  uploads: UploadWorld | null;
  /** Reports behaviour that the service must never show. */
  fault: (text: string) => void;
  /** The parts that nodes share; null: the node has its own database. */
  shared: Sharing | null;
};

export type Sharing = {
  database: SharedDatabase;
  ownership: OwnershipOracle;
  leaseMs: number;
  /** Until when this node cannot reach the store, or cannot renew its lease; true time. */
  cutUntilMs: () => number;
  deafUntilMs: () => number;
  /** A provider responds after this time. */
  answers: (ms: number) => void;
  /** The node's own disk accepts no responses. */
  isSpoolFull: () => boolean;
  /** The number of generations that the node took over from a fenced node. */
  tookOver: (generations: number) => void;
  /** How long the process is stopped at a crossing, ms; 0: not at all. @param times relative probability of this crossing */
  stops: (times: number) => number;
  /** The offset and rate of its machine's clock from now on. */
  skew: () => { offsetMs: number; rate: number };
};

export type Node = {
  name: string;
  /** The engine of this life after its recovery; undefined while it is down or starting. */
  engine(): Engine | undefined;
  /** The admin service for decisions about generations; undefined whenever the engine is. */
  admin(): WithPrincipal<GenerationAdmin> | undefined;
  /** The webhooks of its accounts; undefined whenever the engine is, and in a world without webhooks. */
  webhooks(): WebhookService | undefined;
  /** As `webhooks`, in a world with uploads. */
  uploads(): UploadService | undefined;
  life(): NodeLife | undefined;
  /** The true time at which this life finished its start. */
  openSinceMs(): number;
  /** Submission slots that its current life has taken. */
  slotsInUse(): number;
  boot(): void;
  /** Ends this life immediately. The node restarts after a while. */
  kill(why: string): void;
  /** Ends this life immediately. The node restarts after this time. */
  pause(ms: number): void;
  /** Ends this life as an operator would: drain, then exit. */
  retire(): void;
  lives(): number;
};
