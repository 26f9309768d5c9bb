// Dependencies that all effects share, and how their outcomes return to the statechart.

import type { RouteVerdict } from "../../actors/circuit-breaker/machine.ts";
import type { GenerationEvent } from "../../actors/generation/types.ts";
import type { Clock } from "../domain/clock.ts";
import type { AttemptChange } from "../domain/transition.ts";
import type { Attempt, Failure, InputFile, PlannedRoute, RouteSpec } from "../domain/types.ts";
import { mayHaveFiles, mayHavePins } from "../inputs/pinned-links.ts";
import type { Giving } from "../inputs/provider-inputs.ts";
import type { Log } from "../logging/events.ts";
import type { Media } from "../media/port.ts";
import type { Providers, Work } from "../providers/port.ts";
import type { OpenInput } from "../providers/prepared-request.ts";
import type { StoreReads } from "../store/store.ts";
import type { PendingOutcomes } from "./pending-outcomes.ts";
import type { UsualEnd } from "./poll-schedule.ts";

/** Pause in milliseconds before a file is stored again while the disk is full. */
export const STORAGE_PAUSE_MS = 5_000;

export type EffectsDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<
    StoreReads,
    "attempt" | "attemptsOf" | "inputOf" | "orderedOf" | "jobOwner" | "generationBySeq" | "pinsOf" | "inputFilesOf" | "planOf"
  >;
  providers: Providers;
  media: Media;
  /** How providers receive pinned inputs and stored files, and the signed links to them. */
  giving: Giving;
  signInput: (base: string, ref: string, n: number, untilMs: number, mime?: string) => string;
  /** Opens a file of an input; undefined if it is deleted. @throws StorageRefused */
  openInput: OpenInput;
  /** Reports whether a stored file that an input names exists. @throws StorageUnavailable */
  hasFile: (file: InputFile) => Promise<boolean>;
  /** Receives outcomes as events, several to commit together; the statechart decides whether they still matter. */
  report: (seq: number, ...events: readonly GenerationEvent[]) => void;
  /** Whether our own storage is known to be unavailable; checked while a file waits for it. */
  isStorageUnavailable: () => boolean;
  /** Applies the verdict of an attempt to its route; `isOfAccount`: it holds for every route of the account. */
  judge: (routeId: string, verdict: RouteVerdict, why?: Failure, isOfAccount?: boolean) => void;
  /** Maximum mismatched deliveries of one generation before it fails; absent or 0: try every route. */
  maxMismatched?: number | undefined;
  /** Records the time from sending to stored files of a delivery. */
  delivered: (routeId: string, tookMs: number) => void;
  /** Records the age, ms, at which a poll showed that a job has a result. */
  noticed: (routeId: string, ageMs: number) => void;
  /** When jobs of a route usually end; undefined with too few of them. */
  usualEnd: (routeId: string) => UsualEnd | undefined;
  /**
   * The restored backup of this store, if any: its time and last generation, the routes that a generation may have used, and how
   * each is queried.
   */
  restored: {
    takenAtMs: number;
    upToSeq: number;
    planOf: (seq: number) => Promise<readonly PlannedRoute[]>;
    specOf: (routeId: string) => RouteSpec | undefined;
  } | null;
  /** Resolves when the lease of this node is certain, so that it may buy; absent: it always is. */
  sure?: () => Promise<void>;
  /** As `Routes.confirmMs`; absent: unbounded. */
  confirmMs?: (routeId: string, isCallbackOnly: boolean) => number | undefined;
  /** Holds responses to submissions until they are committed; absent: the store is on the same disk. */
  inHand?: Pick<PendingOutcomes, "arrived" | "drop">;
  /** The work of an attempt that begins now, if this process admitted its generation lately; undefined otherwise. */
  newWork: (seq: number, n: number, begin: NonNullable<AttemptChange["begin"]>) => Work | undefined;
  /** The nodes that poll the same providers; absent: one. */
  nodes?: () => number;
  /** Speed factor of the providers (the simulator's speed); 1 for real ones. */
  pace: number;
  /** A random number in [0, 1). */
  chance: () => number;
};

/** Reads an attempt. @throws if it is not in the store, which is a defect. */
export const readAttempt = async (deps: EffectsDeps, seq: number, n: number): Promise<Attempt> => {
  const attempt = await deps.reads.attempt(seq, n);
  if (!attempt) throw new Error(`attempt ${n} of generation ${seq} is not in the store`);
  return attempt;
};

/** Reads an attempt with its input, which may be large. @throws if one is not in the store, which is a defect. */
export const readWork = async (deps: EffectsDeps, seq: number, n: number): Promise<Work> => {
  const [attempt, input] = await Promise.all([readAttempt(deps, seq, n), deps.reads.inputOf(seq)]);
  if (!input) throw new Error(`the input of generation ${seq} is not in the store`);
  if (!mayHaveFiles(input.raw)) return { attempt, input };
  const [pins, files] = await Promise.all([mayHavePins(input.raw) ? deps.reads.pinsOf(seq) : [], deps.reads.inputFilesOf(seq)]);
  return { attempt, input, ...(pins.length === 0 ? {} : { pins }), ...(files.length === 0 ? {} : { files }) };
};

/** Log fields that identify an attempt. */
export const namesOf = ({ ref, n, requestId }: Attempt) => ({
  generation_id: `gen_${ref.slice(0, -`-${n}`.length)}`,
  request_id: requestId,
  attempt: n,
});

/** The part of an attempt that polling by job id needs. Thousands are held while jobs run, so input and request are left out. */
export const toPollable = (attempt: Attempt): Work => ({
  attempt: { ...attempt, request: null },
  input: { raw: {}, filled: {} },
});

/** A pause with jitter, so that tasks that began together spread. */
export const jitteredMs = ({ chance }: Pick<EffectsDeps, "chance">, pauseMs: number): number => pauseMs * (0.85 + 0.3 * chance());

/** A pause that grows with each turn, with jitter. */
export const spreadMs = (deps: EffectsDeps, firstMs: number, longestMs: number, turn: number, atLeastMs = 0): number => {
  const pauseMs = Math.min(longestMs, firstMs * 1.5 ** turn);
  return Math.max(atLeastMs, jitteredMs(deps, pauseMs) / deps.pace);
};
