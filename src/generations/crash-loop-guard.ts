// Ends crash loops: it counts recoveries that crashed and parks the generation that caused them.
import { collectsOnRestore, storedLeaf } from "../../actors/generation/snapshot.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull, StoreUnknown } from "../domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../domain/mutations.ts";
import type { ApplyTransition, OpenGeneration } from "../domain/transition.ts";

/** Number of consecutive crashed recoveries after which generations are restored one by one, each recorded first. */
const CAREFUL_AFTER = 2;
/** A generation is parked after it was recorded in this many crashes without a successful restore between them. */
const PARK_AFTER = 5;
/** Maximum time in milliseconds for a result download to prove harmless after a restore, per generation and in total. */
const SETTLE_MS = 2000;
const SETTLE_ALL_MS = 30_000;
const POLL_MS = 20;

/**
 * Number of crashes after which a generation must be proved as the cause. It is first left out for as long as it would be
 * watched.
 */
const DOUBTED_AFTER = 2;

/**
 * Stored state: consecutive crashed recoveries, the generation that is being restored (`without`: the one that is left out now)
 * and the suspects of earlier crashes with their counts.
 */
type Mark = { deaths: number; seq: number | null; without: number | null; suspects: [seq: number, times: number][] };
const CLEAR: Mark = { deaths: 0, seq: null, without: null, suspects: [] };

export type CrashLoopGuardDeps = {
  clock: Clock;
  /** Overrides the number of crashes before parking, for simulated processes that crash at random. */
  parkAfter?: number;
  /** Returns the stored state; null if there is none. */
  noted: () => Promise<string | null>;
  commit: (mutations: readonly Mutation[]) => Promise<MutationResult[]>;
  /** Open generations after a row number. */
  unfinished: (afterSeq: number, limit: number) => Promise<OpenGeneration[]>;
  /** Called if a generation cannot be restored because of this process; it is left for the next start. */
  failed: (generation: OpenGeneration, fault: unknown) => void;
  snapshotOf: (seq: number) => Promise<{ version: number } | undefined>;
  /** Creates the transition that parks a generation without restoring it. */
  parkingOf: (found: OpenGeneration, reason: string, atMs: number) => ApplyTransition;
};

export type CrashLoop = {
  /** Counts this recovery as crashed until it has succeeded. */
  begin: () => Promise<void>;
  /** Restores a generation by `restore`: immediately, or after recovery and one by one during a crash loop. */
  takingUp: (found: OpenGeneration, restore: () => void) => void;
  /**
   * Restores the postponed generations after recovery, beside all other work. Each is recorded first and watched briefly.
   * Resolves when all have succeeded.
   */
  recovered: () => Promise<void>;
  /** A clean stop is not a crash. */
  stopped: () => Promise<void>;
};

/** Whether the first work after a restore reads bytes from outside. */
const isFetching = ({ snapshot }: OpenGeneration): boolean => collectsOnRestore(snapshot);

/**
 * Whether its request may have been sent. It receives an event immediately, which needs nothing from outside, and a clean stop
 * leaves none.
 */
const isSending = ({ snapshot }: OpenGeneration): boolean => storedLeaf(snapshot) === "running.submitting.sending";

export const createCrashLoopGuard = (deps: CrashLoopGuardDeps): CrashLoop => {
  const { clock } = deps;
  /** Crashes before this start and their suspects. */
  let deaths = 0;
  const suspects = new Map<number, number>();
  const putOff: { generation: OpenGeneration; restore: () => void }[] = [];
  let isFetchingAny = false;
  let isMarked = false;
  let isStopped = false;
  let takeBack: (() => void) | null = null;

  const note = async (mark: Mark): Promise<void> => {
    try {
      await deps.commit([{ mutation: "note-recovery", text: JSON.stringify(mark) }]);
      isMarked = mark.deaths > 0;
    } catch (fault) {
      // A full disk does not stop recovery; this recovery is then not counted.
      if (!(fault instanceof StoreFull)) throw fault;
    }
  };
  const noteTakingUp = (seq: number | null, without: number | null = null) =>
    note({ deaths: deaths + 1, seq, without, suspects: [...suspects] });
  const clear = async (): Promise<void> => {
    takeBack?.();
    takeBack = null;
    if (isMarked) await note(CLEAR);
  };
  const pause = (ms: number) => new Promise<void>((wake) => clock.after(ms, wake));

  /** Parks generations that repeatedly crashed recovery. */
  const parkCauses = async (): Promise<void> => {
    for (const [seq, times] of suspects) {
      if (times < (deps.parkAfter ?? PARK_AFTER)) continue;
      suspects.delete(seq);
      const [cause] = await deps.unfinished(seq - 1, 1);
      if (cause?.seq !== seq || cause.snapshot === null) continue;
      const step = deps.parkingOf(cause, `${deaths} consecutive starts ended during its recovery`, clock.nowMs());
      // A full disk does not stop a start; a later start parks the generation.
      await deps.commit([step]).catch((fault: unknown) => {
        if (!(fault instanceof StoreFull)) throw fault;
      });
    }
  };

  /** A repeated download proves harmless within seconds. */
  const settle = async ({ seq, version }: OpenGeneration, endMs: number): Promise<void> => {
    while (!isStopped && clock.nowMs() < endMs && (await deps.snapshotOf(seq))?.version === version) await pause(POLL_MS);
  };

  /**
   * Restores one generation and watches it briefly. A suspect is first left out for the same time, which clears it of crashes
   * from outside.
   */
  const resume = async ({ generation, restore }: (typeof putOff)[number], endMs: number): Promise<void> => {
    const { seq } = generation;
    if ((suspects.get(seq) ?? 0) >= DOUBTED_AFTER) {
      await noteTakingUp(null, seq);
      for (const untilMs = clock.nowMs() + SETTLE_MS; !isStopped && clock.nowMs() < untilMs; ) await pause(POLL_MS);
    }
    await noteTakingUp(seq);
    if (isStopped) return;
    restore();
    await pause(0);
    if (isFetching(generation)) await settle(generation, Math.min(endMs, clock.nowMs() + SETTLE_MS));
    suspects.delete(seq);
  };

  return {
    begin: async () => {
      const [first] = await deps.unfinished(0, 1);
      const text = await deps.noted();
      const found = text === null ? CLEAR : (JSON.parse(text) as Mark);
      isMarked = found.deaths > 0;
      if (first === undefined) return clear();
      deaths = found.deaths;
      for (const [seq, times] of found.suspects) suspects.set(seq, times);
      if (found.seq !== null) suspects.set(found.seq, (suspects.get(found.seq) ?? 0) + 1);
      // The process crashed without it, so it is not the cause.
      if (found.without !== null) suspects.delete(found.without);
      await parkCauses();
      await noteTakingUp(null);
    },
    takingUp: (generation, restore) => {
      isFetchingAny ||= isFetching(generation);
      if (deaths < CAREFUL_AFTER || generation.snapshot === null || isSending(generation)) restore();
      else putOff.push({ generation, restore });
    },
    recovered: async () => {
      if (deaths < CAREFUL_AFTER) {
        if (!isFetchingAny) return clear();
        takeBack = clock.after(SETTLE_MS, () => void clear().catch(() => undefined));
        return;
      }
      // Suspects come last: a crash before them has another cause, and an external kill hardly hits the same generation three
      // times.
      const suspicion = ({ generation }: { generation: OpenGeneration }) => suspects.get(generation.seq) ?? 0;
      putOff.sort((a, b) => suspicion(a) - suspicion(b));
      const endMs = clock.nowMs() + SETTLE_ALL_MS;
      for (const one of putOff) {
        if (isStopped) return;
        await resume(one, endMs).catch((fault: unknown) => {
          // An unknown commit outcome ends the process; any other error concerns only this generation.
          if (fault instanceof StoreUnknown) throw fault;
          if (!isStopped) deps.failed(one.generation, fault);
        });
      }
      if (!isStopped) await clear();
    },
    stopped: () => {
      isStopped = true;
      return clear();
    },
  };
};
