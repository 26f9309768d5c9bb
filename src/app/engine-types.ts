// Dependencies and interface of the engine.
import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Ledger } from "../../actors/ledger.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { TakingUp } from "../../actors/supervisor/types.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import type { Takeover } from "../cluster/takeover.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { NameGeneration } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { EffectsDeps } from "../effects/deps.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { OutcomeSpool } from "../files/outcome-spool.ts";
import type { Files } from "../files/port.ts";
import type { Cancel } from "../generations/cancel.ts";
import type { CommitListener, PostCommitDeps } from "../generations/post-commit.ts";
import type { Preview } from "../generations/preview.ts";
import type { Quote } from "../generations/quote.ts";
import type { RecordCache } from "../generations/record-cache.ts";
import type { Stuck } from "../generations/stuck.ts";
import type { Submit, SubmitDeps } from "../generations/submit.ts";
import type { Log } from "../logging/events.ts";
import type { Media } from "../media/port.ts";
import type { Providers } from "../providers/port.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Store } from "../store/store.ts";
import type { ServicePhase } from "./admission-gate.ts";

/** Dependencies of the engine; the simulation passes its own. */
export type EngineDeps = Pick<
  PostCommitDeps,
  "callersChanged" | "usersChanged" | "webhooksChanged" | "balanceFell" | "spendReached"
> & {
  limits: Settings["limits"];
  clock: Clock;
  log: Log;
  store: Store;
  files: Pick<Files, "remove" | "isUnavailable">;
  providers: Providers;
  media: Media;
  /**
   * How providers receive pinned inputs and stored files, and which stored files an input can name; `isTrusting`, `mostBytes`:
   * `media.unpinned` and `media.pin_bytes`.
   */
  inputs: Pick<EffectsDeps, "giving" | "signInput" | "hasFile" | "openInput"> & SubmitDeps["pins"] & Pick<SubmitDeps, "ownFiles">;
  allowsHost: (host: string) => boolean;
  catalogue: Catalogue;
  /** Maximum mismatched deliveries of one generation before it fails; absent or 0: try every route. */
  maxMismatched?: number;
  /** Speed factor of the providers (the simulator's speed). */
  pace: number;
  /** A random number in [0, 1), for jitter. */
  chance: () => number;
  /** Calls back at the end of this turn of the event loop. */
  soon: (then: () => void) => void;
  /** Creates the row number, which always rises, and the id of a new generation. */
  nameGeneration: NameGeneration;
  /** Parked and stopped generations. */
  stuck: Stuck;
  /** Wraps the restore of each generation at a start. */
  takingUp?: TakingUp | undefined;
  /** Resolves when the lease of this node is certain. */
  sure?: () => Promise<void>;
  /** Whether the lease is certain now, without a query; absent: it always is. */
  isSure?: () => boolean;
  /** Whether the shared database is unavailable. */
  isUnavailable?: () => boolean;
  /** Last time at which it was unavailable; null: never. */
  unavailableAtMs?: () => number | null;
  /** Whether this node's own disk, which does not hold the store, is full. */
  isDiskFull?: (() => boolean) | undefined;
  /** Whether the bucket is unavailable, without which no result completes. */
  isBucketDown?: (() => boolean) | undefined;
  /** Spool of provider responses while the store is unavailable; absent: the store is on the same disk. */
  outcomes?: OutcomeSpool | undefined;
  /** Number of nodes that share singleton resources, such as the running generations of a route. */
  nodes?: () => number;
  /** Whether another node continues what this one leaves. */
  isAnotherThere?: () => boolean;
  /** Called once after an unknown commit outcome: the process has to end. */
  unknownOutcome: () => void;
};

export type Engine = Takeover & {
  /** Whether new submissions and uploads are accepted now. */
  admission: SubmitDeps["admission"];
  submit: Submit;
  /** Cancels a generation for its client. */
  cancel: Cancel;
  quote: Quote;
  preview: Preview;
  ledger: Ledger;
  supervisor: Supervisor;
  effects: Effects;
  routes: Routes;
  records: RecordCache;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  readiness: () => { ready: boolean; faults: string[] };
  /** Whether the disk rejects writes. */
  isDiskFull: () => boolean;
  phase: () => ServicePhase;
  /** Circuit breakers of all routes with a verdict. */
  health: CircuitBreakers;
  watch: CommitListener;
  /** Parked and stopped generations. */
  stuck: Stuck;
  /** Restores open generations and then opens admission. */
  recover: () => Promise<void>;
  replaceCatalogue: (next: Catalogue) => void;
  /** Recomputes the available routes and probes closed ones after the credentials of these providers changed. */
  rekeyed: (whose: readonly string[]) => void;
  /** Stops new attempts. Resolves when no request is in transit or after `longestMs`. */
  drain: (longestMs: number) => Promise<void>;
  /** Rejects everything from now on. */
  close: () => void;
  /** Stops all work and waits for pending writes. */
  stop: () => Promise<void>;
};
