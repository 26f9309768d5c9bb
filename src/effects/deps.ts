// What the effects work with: the rooms they call and the one way their answers go back.

import type { RouteVerdict } from "../../actors/circuit-breaker/machine.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Clock } from "../domain/clock.ts";
import type { Attempt, Failure, PlannedRoute, RouteSpec } from "../domain/types.ts";
import { mayHavePins } from "../inputs/pinned-links.ts";
import type { Giving } from "../inputs/provider-inputs.ts";
import type { Log } from "../logging/events.ts";
import type { Media } from "../media/port.ts";
import type { Providers, Work } from "../providers/port.ts";
import type { StoreReads } from "../store/store.ts";
import type { PendingOutcomes } from "./pending-outcomes.ts";

/** While the disk is full, what is to be kept waits so long before it is tried again. */
export const STORAGE_PAUSE_MS = 5_000;

export type EffectsDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<
    StoreReads,
    "attempt" | "attemptsOf" | "inputOf" | "orderedOf" | "jobOwner" | "generationBySeq" | "pinsOf" | "planOf"
  >;
  providers: Providers;
  media: Media;
  /** How providers are given copies of pinned inputs, and the signed links of ours to them. */
  giving: Giving;
  signInput: (base: string, ref: string, n: number, untilMs: number) => string;
  /** Where answers go; the machine judges whether they still matter. */
  report: (seq: number, event: GenerationEvent) => void;
  /** Whether our own storage is known to take nothing now; asked while something waits for it. */
  isStorageAway: () => boolean;
  /** What an attempt says about its route's health; `isOfAccount`: the same holds of every route of that account. */
  judge: (routeId: string, verdict: RouteVerdict, why?: Failure, isOfAccount?: boolean) => void;
  /** Attempts of one generation that may deliver something else before it fails; absent or 0: as many as there are routes. */
  maxMismatched?: number | undefined;
  /** A delivery took this long, from sending to having its files. */
  delivered: (routeId: string, tookMs: number) => void;
  /**
   * The backup that this store is a copy of, if it is one: when it was taken, and the last generation in it; the routes that a generation
   * may go, and how each is asked for.
   */
  restored: {
    takenAtMs: number;
    upToSeq: number;
    planOf: (seq: number) => Promise<readonly PlannedRoute[]>;
    specOf: (routeId: string) => RouteSpec | undefined;
  } | null;
  /** Resolves when this node can be sure that what it is about to buy for is its own; absent: it always is. */
  sure?: () => Promise<void>;
  /** As `Routes.confirmMs`; absent: without bound. */
  confirmMs?: (routeId: string, isToldOnly: boolean) => number | undefined;
  /** Keeps answers to submissions until they are in the store; absent: the store is on the same disk. */
  inHand?: Pick<PendingOutcomes, "arrived" | "drop">;
  /** How many times faster than life providers are (the simulator's speed); 1 for real ones. */
  pace: number;
  /** A number in [0, 1). */
  chance: () => number;
};

/** Reads an attempt. @throws when it is not in the store: a defect. */
export const readAttempt = async (deps: EffectsDeps, seq: number, n: number): Promise<Attempt> => {
  const attempt = await deps.reads.attempt(seq, n);
  if (!attempt) throw new Error(`attempt ${n} of generation ${seq} is not in the store`);
  return attempt;
};

/** Reads an attempt with the input it runs on, which may be large. @throws when one is not in the store: a defect. */
export const readWork = async (deps: EffectsDeps, seq: number, n: number): Promise<Work> => {
  const [attempt, input] = await Promise.all([readAttempt(deps, seq, n), deps.reads.inputOf(seq)]);
  if (!input) throw new Error(`the input of generation ${seq} is not in the store`);
  if (!mayHavePins(input.raw)) return { attempt, input };
  const pins = await deps.reads.pinsOf(seq);
  return pins.length === 0 ? { attempt, input } : { attempt, input, pins };
};

/** How an attempt is named in the log. */
export const namesOf = ({ ref, n, requestId }: Attempt) => ({
  generation_id: `gen_${ref.slice(0, -`-${n}`.length)}`,
  request_id: requestId,
  attempt: n,
});

/** What a job is asked about by its id alone: thousands are held for as long as they run, so neither input nor request is. */
export const toPollable = (attempt: Attempt): Work => ({
  attempt: { ...attempt, request: null },
  input: { raw: {}, filled: {} },
});

/** A pause that grows with each turn, spread so that many that began together do not stay together. */
export const spreadMs = (deps: EffectsDeps, firstMs: number, longestMs: number, turn: number, atLeastMs = 0): number => {
  const pauseMs = Math.min(longestMs, firstMs * 1.5 ** turn);
  return Math.max(atLeastMs, (pauseMs * (0.85 + 0.3 * deps.chance())) / deps.pace);
};
