// Errands: what is being done for an attempt at this moment, so that nothing is done twice and everything can be let go.
import type { Clock } from "../clock.ts";

/** What an errand is about. One of each kind per attempt at a time. */
export type ErrandKind = "submit" | "send" | "confirm" | "poll" | "wake" | "collect" | "storage" | "watch" | "cancel" | "blame";

export type Errand = {
  readonly seq: number;
  readonly n: number;
  readonly signal: AbortSignal;
  /** Waits in the service's clock; rejects with the signal's reason when the errand is let go. */
  pause(ms: number): Promise<void>;
};

/** Never run twice: the request may be out, or nothing depends on it. */
const ONCE: ReadonlySet<ErrandKind> = new Set(["send", "cancel"]);
/** An errand that broke on a fault of ours (a read that failed, for example) is run again, so that no generation is stranded. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** How long to wait after the `times`th failure in a row. */
export const retryMs = (times: number): number => Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (times - 1));

/** Thrown inside an errand that was let go; never seen outside. */
class LetGo extends Error {}

export type Errands = {
  /** Runs an errand unless the same one is running already. */
  run(seq: number, n: number, kind: ErrandKind, work: (errand: Errand) => Promise<void>): void;
  /** Stops every errand of an attempt except those of the kinds given. */
  letGo(seq: number, n: number, except?: readonly ErrandKind[]): void;
  stopAll(): Promise<void>;
  size(): number;
};

export const openErrands = (
  clock: Clock,
  failed: (seq: number, n: number, kind: ErrandKind, fault: unknown) => void,
): Errands => {
  type Running = { abort: AbortController; done: Promise<void> };
  const running = new Map<string, Map<ErrandKind, Running>>();

  const begin = (key: string, seq: number, n: number, kind: ErrandKind, work: (errand: Errand) => Promise<void>) => {
    const abort = new AbortController();
    const { signal } = abort;
    const pause = (ms: number) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) {
          reject(new LetGo());
          return;
        }
        const stop = () => {
          takeBack();
          reject(new LetGo());
        };
        const takeBack = clock.after(ms, () => {
          signal.removeEventListener("abort", stop);
          resolve();
        });
        signal.addEventListener("abort", stop, { once: true });
      });
    const untilDone = async () => {
      for (let turn = 0; ; turn += 1) {
        try {
          await work({ seq, n, signal, pause });
          return;
        } catch (fault) {
          if (fault instanceof LetGo || signal.aborted) return;
          failed(seq, n, kind, fault);
          if (ONCE.has(kind)) return;
          await pause(retryMs(turn + 1));
        }
      }
    };
    const done = untilDone()
      // Let go while it waited for its next try.
      .catch(() => undefined)
      .finally(() => {
        const kinds = running.get(key);
        if (kinds?.get(kind)?.abort === abort) kinds.delete(kind);
        if (kinds?.size === 0) running.delete(key);
      });
    return { abort, done };
  };

  return {
    run: (seq, n, kind, work) => {
      const key = `${seq}:${n}`;
      const kinds = running.get(key) ?? new Map<ErrandKind, Running>();
      if (kinds.has(kind)) return;
      running.set(key, kinds);
      kinds.set(kind, begin(key, seq, n, kind, work));
    },
    letGo: (seq, n, except = []) => {
      const kinds = running.get(`${seq}:${n}`);
      for (const [kind, errand] of kinds ?? [])
        if (!except.includes(kind)) {
          // Forgotten at once, so that the same kind may begin anew; the old one ends by itself.
          kinds?.delete(kind);
          errand.abort.abort();
        }
    },
    stopAll: async () => {
      const all = [...running.values()].flatMap((kinds) => [...kinds.values()]);
      for (const errand of all) errand.abort.abort();
      await Promise.all(all.map((errand) => errand.done));
    },
    size: () => running.size,
  };
};
