// Time limits of uploads, over the clock of the service.
import type { Clock } from "../domain/clock.ts";

/** Maximum duration of an upload. */
export const UPLOAD_MS = 1_800_000;

/** The value of a promise that never rejects; undefined if it does not settle in time. */
export const within = <T>(clock: Pick<Clock, "after">, promise: Promise<T>, ms: number): Promise<T | undefined> =>
  new Promise((resolve) => {
    const takeBack = clock.after(ms, () => resolve(undefined));
    void promise.then((value) => {
      takeBack();
      resolve(value);
    });
  });

/** A signal that is aborted after the maximum duration of an upload, or by another one. `end` releases its timer. */
export const withinUploadTime = (clock: Pick<Clock, "after">, signal?: AbortSignal): { signal: AbortSignal; end: () => void } => {
  const late = new AbortController();
  const end = clock.after(UPLOAD_MS, () => late.abort());
  return { signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal, end };
};
