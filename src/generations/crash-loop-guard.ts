// Keeps one generation from taking the service down for ever: a recovery that did not survive is counted, and its cause parked.
import type { Clock } from "../domain/clock.ts";
import {
  type ApplyTransition,
  type Mutation,
  type MutationResult,
  type OpenGeneration,
  StoreFull,
  StoreUnknown,
} from "../store/mutations.ts";

/** After this many recoveries in a row that did not survive, generations are taken up one by one, each noted before. */
const CAREFUL_AFTER = 2;
/** A generation that was the one noted in this many deaths, and survived its turn in no start between them, is parked. */
const PARK_AFTER = 5;
/** How long a result that is fetched again at the start may take to show that it is harmless, ms; and all of them together. */
const SETTLE_MS = 2000;
const SETTLE_ALL_MS = 30_000;
const LOOK_MS = 20;

/** Noted in so many deaths, a generation has to be shown to be the cause: first it is left out for as long as it would be watched. */
const DOUBTED_AFTER = 2;

/**
 * What is on disk: recoveries in a row that did not survive, the generation that is being taken up (or `without`: that is left out at this
 * moment), and those that were in an earlier one of these deaths, each with how often.
 */
type Mark = { deaths: number; seq: number | null; without: number | null; suspects: [seq: number, times: number][] };
const CLEAR: Mark = { deaths: 0, seq: null, without: null, suspects: [] };

export type CrashLoopGuardDeps = {
  clock: Clock;
  /** Deaths of its own after which a generation is parked, where it is to differ: simulated processes die of nothing. */
  parkAfter?: number;
  /** What was noted last; null when nothing was. */
  noted: () => Promise<string | null>;
  commit: (mutations: readonly Mutation[]) => Promise<MutationResult[]>;
  /** Generations not ended, after a row number. */
  unfinished: (afterSeq: number, limit: number) => Promise<OpenGeneration[]>;
  /** A generation could not be taken up for a reason of this process: it is left for the next start. */
  failed: (generation: OpenGeneration, fault: unknown) => void;
  snapshotOf: (seq: number) => Promise<{ version: number } | undefined>;
  /** The step that parks a generation without waking it. */
  parkingOf: (found: OpenGeneration, reason: string, atMs: number) => ApplyTransition;
};

export type CrashLoop = {
  /** Before recovery: counts this one as not survived, until it has. */
  begin: () => Promise<void>;
  /** Takes a generation up by `goOn`: at once, or in a crash loop after recovery, when its turn has come. */
  takingUp: (found: OpenGeneration, goOn: () => void) => void;
  /**
   * After recovery, beside everything else: takes up what was put off, one by one, each noted on disk first and watched for a
   * moment. Resolves when all has survived.
   */
  recovered: () => Promise<void>;
  /** A clean stop is no death. */
  stopped: () => Promise<void>;
};

/** States in which the first thing that happens after a restart is that bytes of the outside are read again. */
const isFetching = ({ snapshot }: OpenGeneration): boolean =>
  snapshot !== null && /"(collecting|result)"|"arriving":true/.test(snapshot);

/** Its request may be out: it is told so at once, which asks nothing of the outside, and a stop leaves none of these behind. */
const isSending = ({ snapshot }: OpenGeneration): boolean => snapshot?.includes('{"submitting":"sending"}') ?? false;

export const createCrashLoopGuard = (deps: CrashLoopGuardDeps): CrashLoop => {
  const { clock } = deps;
  /** Deaths before this start, and who was noted in them. */
  let deaths = 0;
  const suspects = new Map<number, number>();
  const putOff: { generation: OpenGeneration; goOn: () => void }[] = [];
  let isFetchingAny = false;
  let isMarked = false;
  let isStopped = false;
  let takeBack: (() => void) | null = null;

  const note = async (mark: Mark): Promise<void> => {
    try {
      await deps.commit([{ mutation: "note-recovery", text: JSON.stringify(mark) }]);
      isMarked = mark.deaths > 0;
    } catch (fault) {
      // A full disk holds up no recovery: this one is not counted.
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

  /** Parks what recoveries died of again and again. */
  const parkCauses = async (): Promise<void> => {
    for (const [seq, times] of suspects) {
      if (times < (deps.parkAfter ?? PARK_AFTER)) continue;
      suspects.delete(seq);
      const [cause] = await deps.unfinished(seq - 1, 1);
      if (cause?.seq !== seq || cause.snapshot === null) continue;
      const step = deps.parkingOf(cause, `${deaths} starts in a row ended while it was taken up`, clock.nowMs());
      // A full disk holds up no start: it is parked by a later one.
      await deps.commit([step]).catch((fault: unknown) => {
        if (!(fault instanceof StoreFull)) throw fault;
      });
    }
  };

  /** A result that is read again shows within a moment whether it is harmless. */
  const settle = async ({ seq, version }: OpenGeneration, endMs: number): Promise<void> => {
    while (!isStopped && clock.nowMs() < endMs && (await deps.snapshotOf(seq))?.version === version) await pause(LOOK_MS);
  };

  /** Takes one generation up and watches it for a moment; a doubted one after a moment without it, which clears it of deaths from outside. */
  const takeUp = async ({ generation, goOn }: (typeof putOff)[number], endMs: number): Promise<void> => {
    const { seq } = generation;
    if ((suspects.get(seq) ?? 0) >= DOUBTED_AFTER) {
      await noteTakingUp(null, seq);
      for (const untilMs = clock.nowMs() + SETTLE_MS; !isStopped && clock.nowMs() < untilMs; ) await pause(LOOK_MS);
    }
    await noteTakingUp(seq);
    if (isStopped) return;
    goOn();
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
      // The process ended without it: it is not what processes end of.
      if (found.without !== null) suspects.delete(found.without);
      await parkCauses();
      await noteTakingUp(null);
    },
    takingUp: (generation, goOn) => {
      isFetchingAny ||= isFetching(generation);
      if (deaths < CAREFUL_AFTER || generation.snapshot === null || isSending(generation)) goOn();
      else putOff.push({ generation, goOn });
    },
    recovered: async () => {
      if (deaths < CAREFUL_AFTER) {
        if (!isFetchingAny) return clear();
        takeBack = clock.after(SETTLE_MS, () => void clear().catch(() => undefined));
        return;
      }
      // Suspects last: what dies before them is another cause, and a kill from outside hardly meets the same one three times.
      const suspicion = ({ generation }: { generation: OpenGeneration }) => suspects.get(generation.seq) ?? 0;
      putOff.sort((a, b) => suspicion(a) - suspicion(b));
      const endMs = clock.nowMs() + SETTLE_ALL_MS;
      for (const one of putOff) {
        if (isStopped) return;
        await takeUp(one, endMs).catch((fault: unknown) => {
          // A commit in doubt ends the process; anything else concerns this one generation.
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
