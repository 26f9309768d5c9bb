// Keeps one generation from taking the service down for ever: a recovery that did not survive is counted, and its cause parked.
import type { Clock } from "./clock.ts";
import { type Deed, type DeedOutcome, type StepDeed, StoreFull, type Unfinished } from "./deeds.ts";

/** After this many recoveries in a row that did not survive, generations are taken up one by one, each noted before. */
const CAREFUL_AFTER = 2;
/** A generation that was the one noted in this many deaths in a row is parked: five with the two before. */
const PARK_AFTER = 3;
/** How long a result that is fetched again at the start may take to show that it is harmless, ms. */
const SETTLE_MS = 2000;
const LOOK_MS = 20;

/** What is on disk: recoveries in a row that did not survive, the generation taken up last, and in how many of them it was. */
type Mark = { deaths: number; seq: number | null; times: number };
const CLEAR: Mark = { deaths: 0, seq: null, times: 0 };

export type CrashLoopParts = {
  clock: Clock;
  /** What was noted last; null when nothing was. */
  noted: () => Promise<string | null>;
  commit: (deeds: readonly Deed[]) => Promise<DeedOutcome[]>;
  /** Generations not ended, after a row number. */
  unfinished: (afterSeq: number, limit: number) => Promise<Unfinished[]>;
  snapshotOf: (seq: number) => Promise<{ version: number } | undefined>;
  /** The step that parks a generation without waking it. */
  parkingOf: (found: Unfinished, reason: string, atMs: number) => StepDeed;
};

export type CrashLoop = {
  /** Before recovery: counts this one as not survived, until it has. */
  begin: () => Promise<void>;
  /** Takes a generation up by `goOn`; in a crash loop it is noted on disk first, and watched for a moment. */
  takingUp: (found: Unfinished, goOn: () => void) => Promise<void>;
  /** After recovery: it has survived, once what was fetched again at the start has had its moment. */
  recovered: () => Promise<void>;
  /** A clean stop is no death. */
  stopped: () => Promise<void>;
};

/** States in which the first thing that happens after a restart is that bytes of the outside are read again. */
const isFetching = ({ snapshot }: Unfinished): boolean =>
  snapshot !== null && /"(collecting|result)"|"arriving":true/.test(snapshot);

export const openCrashLoop = (parts: CrashLoopParts): CrashLoop => {
  const { clock } = parts;
  let mark = CLEAR;
  /** The mark this process found. */
  let found = CLEAR;
  let isFetchingAny = false;
  let isMarked = false;
  let takeBack: (() => void) | null = null;

  const note = async (next: Mark): Promise<void> => {
    mark = next;
    try {
      await parts.commit([{ deed: "note-recovery", text: JSON.stringify(next) }]);
      isMarked = next.deaths > 0;
    } catch (fault) {
      // A full disk holds up no recovery: this one is not counted.
      if (!(fault instanceof StoreFull)) throw fault;
    }
  };
  const clear = async (): Promise<void> => {
    takeBack?.();
    takeBack = null;
    if (isMarked) await note(CLEAR);
  };
  const pause = (ms: number) => new Promise<void>((wake) => clock.after(ms, wake));

  /** Parks the generation that every one of the last recoveries died of. */
  const parkCause = async ({ seq, times, deaths }: Mark): Promise<boolean> => {
    if (seq === null || times < PARK_AFTER) return false;
    const [cause] = await parts.unfinished(seq - 1, 1);
    if (cause?.seq !== seq || cause.snapshot === null) return false;
    await parts.commit([parts.parkingOf(cause, `${deaths} starts in a row ended while it was taken up`, clock.nowMs())]);
    return true;
  };

  return {
    begin: async () => {
      const [first] = await parts.unfinished(0, 1);
      const text = await parts.noted();
      found = text === null ? CLEAR : (JSON.parse(text) as Mark);
      isMarked = found.deaths > 0;
      if (first === undefined) return clear();
      // Its loop ends here; the next one begins to count anew, carefully from its first generation on.
      if (await parkCause(found)) found = { ...CLEAR, deaths: CAREFUL_AFTER };
      await note({ ...found, deaths: found.deaths + 1 });
    },
    takingUp: async (generation, goOn) => {
      isFetchingAny ||= isFetching(generation);
      if (found.deaths < CAREFUL_AFTER || generation.snapshot === null) return goOn();
      const { seq, version } = generation;
      await note({ deaths: found.deaths + 1, seq, times: found.seq === seq ? found.times + 1 : 1 });
      goOn();
      const endMs = clock.nowMs() + SETTLE_MS;
      await pause(0);
      if (!isFetching(generation)) return;
      while (clock.nowMs() < endMs && (await parts.snapshotOf(seq))?.version === version) await pause(LOOK_MS);
    },
    recovered: async () => {
      // Nobody is noted any more: a death from here on counts, but accuses nobody.
      if (mark.seq !== null) await note({ deaths: mark.deaths, seq: null, times: 0 });
      if (!isFetchingAny || found.deaths >= CAREFUL_AFTER) return clear();
      takeBack = clock.after(SETTLE_MS, () => void clear().catch(() => undefined));
    },
    stopped: clear,
  };
};
