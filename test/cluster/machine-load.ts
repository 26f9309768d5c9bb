// Measures when this machine had no idle processor, because a process that waits for one cannot keep a time limit.
import { cpus } from "node:os";

const EVERY_MS = 50;
/** `idleMs`: idle time of all processors since the start of the machine. */
type Sample = { atMs: number; idleMs: number };

const sampled = (): Sample => ({ atMs: Date.now(), idleMs: cpus().reduce((sum, { times }) => sum + times.idle, 0) });

/** The part of a span in which no processor was idle, ms. @param samples in the order of time */
export const busyMsOf = (samples: readonly Sample[], fromMs: number, toMs: number): number => {
  let busyMs = 0;
  for (const [at, { atMs, idleMs }] of samples.entries()) {
    const before = samples[at - 1];
    if (!before || atMs <= fromMs || before.atMs >= toMs) continue;
    const spanMs = atMs - before.atMs;
    const share = Math.max(0, spanMs - (idleMs - before.idleMs)) / spanMs;
    busyMs += share * (Math.min(atMs, toMs) - Math.max(before.atMs, fromMs));
  }
  return busyMs;
};

/** Samples until `stop`. */
export const openMachineLoad = () => {
  const samples: Sample[] = [sampled()];
  const timer = setInterval(() => samples.push(sampled()), EVERY_MS);
  return {
    busyMs: (fromMs: number, toMs: number): number => busyMsOf(samples, fromMs, toMs),
    stop: (): void => clearInterval(timer),
  };
};
