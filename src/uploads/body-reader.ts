// Reads the body of an upload, and ends one that arrives too slowly or takes too long.
//
// A request holds one of a bounded number of places until its body has arrived. Only the time counts in which the service waits
// for bytes, so that a slow disk or bucket ends no upload.
import type { Clock } from "../domain/clock.ts";
import { UPLOAD_MS, within } from "./time-limits.ts";

/** Least average rate of a body over each window of waiting. */
export const LEAST_BYTES_PER_S = 4096;
export const RATE_WINDOW_MS = 60_000;
const LEAST_BYTES = (LEAST_BYTES_PER_S * RATE_WINDOW_MS) / 1000;

/** Why a body ended before its last byte: its connection, its rate, its duration. */
export type Interruption = "broken" | "slow" | "late";
/** `pause`: nothing arrived in the time that the reader was asked to wait. */
export type BodyRead = Uint8Array | "whole" | "pause" | Interruption;

export type BodyReader = {
  /** Waits for the next chunk, at most `pauseMs`. */
  next: (pauseMs?: number) => Promise<BodyRead>;
  /** Discards what follows. Not awaited, so that a response does not wait for a client that is still sending. */
  cancel: () => void;
};

type Settled = Uint8Array | "whole" | "broken";

/** @param signal ends the body like a broken connection */
export const createBodyReader = (stream: ReadableStream<Uint8Array>, clock: Clock, signal: AbortSignal): BodyReader => {
  const reader = stream.getReader();
  const startedMs = clock.nowMs();
  let pending: Promise<Settled> | undefined;
  let [bytes, waitedMs] = [0, 0];
  const cancel = () => {
    signal.removeEventListener("abort", cancel);
    reader.cancel().catch(() => undefined);
  };
  signal.addEventListener("abort", cancel);

  // A cancelled body ends like a whole one.
  const settle = ({ done, value }: { done: boolean; value?: Uint8Array | undefined }): Settled =>
    signal.aborted ? "broken" : done || value === undefined ? "whole" : value;
  const read = (): Promise<Settled> => reader.read().then(settle, () => "broken");
  const isTooSlow = (): boolean => {
    if (waitedMs < RATE_WINDOW_MS) return false;
    const isSlow = bytes < LEAST_BYTES;
    [bytes, waitedMs] = [0, 0];
    return isSlow;
  };

  const next = async (pauseMs = Number.POSITIVE_INFINITY): Promise<BodyRead> => {
    for (let restMs = pauseMs; ; ) {
      if (signal.aborted) return "broken";
      const leftMs = startedMs + UPLOAD_MS - clock.nowMs();
      if (leftMs <= 0) return "late";
      if (isTooSlow()) return "slow";
      if (restMs <= 0) return "pause";
      pending ??= read();
      const begunMs = clock.nowMs();
      const settled = await within(clock, pending, Math.min(leftMs, restMs, RATE_WINDOW_MS - waitedMs));
      const tookMs = clock.nowMs() - begunMs;
      waitedMs += tookMs;
      restMs -= tookMs;
      if (settled === undefined) continue;
      pending = undefined;
      if (typeof settled === "object") bytes += settled.length;
      return settled;
    }
  };
  return { next, cancel };
};
