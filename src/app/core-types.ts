// What the engine is joined from, and what it answers to.

import type { CircuitBreakers } from "../../actors/circuit-breaker/registry.ts";
import type { Ledger } from "../../actors/ledger.ts";
import type { Supervisor } from "../../actors/supervisor/supervisor.ts";
import type { TakingUp } from "../../actors/supervisor/types.ts";
import type { Catalogue } from "../../catalogue/load.ts";
import type { Sharing } from "../cluster/takeover.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { EffectsDeps } from "../effects/deps.ts";
import type { Effects } from "../effects/dispatcher.ts";
import type { OutcomeSpool } from "../files/outcome-spool.ts";
import type { Files } from "../files/port.ts";
import type { CommitListener, PostCommitDeps } from "../generations/post-commit.ts";
import type { Quote } from "../generations/preview.ts";
import type { Records } from "../generations/record-cache.ts";
import type { Stuck } from "../generations/stuck.ts";
import type { Submit, SubmitDeps } from "../generations/submit.ts";
import type { Log } from "../logging/events.ts";
import type { Media } from "../media/port.ts";
import type { Providers } from "../providers/port.ts";
import type { Routes } from "../routing/route-table.ts";
import type { Mutation, ResultOf } from "../store/mutations.ts";
import type { Store } from "../store/store.ts";
import type { Life } from "./readiness.ts";

/** What the engine is joined from: the service gives it the world, the simulation a world of its own. */
export type CoreDeps = Pick<PostCommitDeps, "callersChanged" | "peopleChanged"> & {
  limits: Settings["limits"];
  clock: Clock;
  log: Log;
  store: Store;
  files: Pick<Files, "remove" | "isAway">;
  providers: Providers;
  media: Media;
  /** How providers are given copies of pinned inputs; `isTrusting`, `mostBytes`: `media.unpinned` and `media.pin_bytes`. */
  inputs: Pick<EffectsDeps, "giving" | "signInput"> & SubmitDeps["pins"];
  allowsHost: (host: string) => boolean;
  catalogue: Catalogue;
  /** Attempts of one generation that may deliver something else before it fails; absent or 0: as many as there are routes. */
  maxMismatched?: number;
  /** How many times faster than life the providers are (the simulator's speed). */
  pace: number;
  /** A number in [0, 1), to spread what began together. */
  chance: () => number;
  /** Calls back at the end of this turn of the event loop. */
  soon: (then: () => void) => void;
  /** Names a new generation: its row number, which always rises, and its id. */
  nameGeneration: SubmitDeps["nameGeneration"];
  /** Put around the taking up of each generation at a start. */
  takingUp?: TakingUp;
  /** Resolves when this node can be sure that nobody has taken over what it owns. */
  sure?: () => Promise<void>;
  /** Whether it can be sure of that at this moment, without asking; absent: it always is. */
  isSure?: () => boolean;
  /** Whether the store that several nodes share does not answer. */
  isAway?: () => boolean;
  /** When it was last known not to answer; null: never. */
  awayAtMs?: () => number | null;
  /** Whether this node's own disk, which the store is not on, is full. */
  isDiskFull?: (() => boolean) | undefined;
  /** Whether the bucket, without which no result is finished here, takes nothing. */
  isBucketDown?: (() => boolean) | undefined;
  /** Where answers of providers are kept while the store is away; absent: the store is on the same disk. */
  outcomes?: OutcomeSpool | undefined;
  /** How many nodes share what there is only once, such as the seats on a route. */
  nodes?: () => number;
  /** Whether another node goes on with what this one leaves. */
  isAnotherThere?: () => boolean;
  /** Told once, when a commit ended in doubt: the process has to end. */
  unknownOutcome: () => void;
};

export type Core = Sharing & {
  submit: Submit;
  quote: Quote;
  ledger: Ledger;
  supervisor: Supervisor;
  effects: Effects;
  routes: Routes;
  records: Records;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  readiness: () => { ready: boolean; faults: string[] };
  /** Whether the disk takes no more writes. */
  isDiskFull: () => boolean;
  life: () => Life;
  /** The health of each route that was ever judged. */
  health: CircuitBreakers;
  watch: CommitListener;
  /** Generations that do not go on by themselves. */
  stuck: Stuck;
  /** Reads what had not ended and goes on; submissions are taken from then on. */
  recover: () => Promise<void>;
  replaceCatalogue: (next: Catalogue) => void;
  /** These providers have another credential, or none: what can run is worked out anew, and what was down is tried. */
  rekeyed: (whose: readonly string[]) => void;
  /** Begins nothing more, and resolves when nothing is being sent or `longestMs` are over. */
  drain: (longestMs: number) => Promise<void>;
  /** Nothing is taken from now on. */
  close: () => void;
  /** Lets everything go and waits for what is being written. */
  stop: () => Promise<void>;
};
