// Measures when this machine had no idle processor, because a process that waits for one cannot keep a time limit.
import { cpus } from "node:os";

const EVERY_MS = 50;
/** `idleMs`: idle time of all processors since the start of the machine. */
type Sample = { atMs: number; idleMs: number };

const sampled = (): Sample => ({ atMs: Date.now(), idleMs: cpus().reduce((sum, { times }) => sum + times.idle, 0) });

/**
 * The moment at which a processor has been idle for `idleMs` since `fromMs`, in ms; Infinity if that moment is not in the samples.
 * @param samples in the order of time
 */
export const idleUntilMs = (samples: readonly Sample[], fromMs: number, idleMs: number): number => {
  let leftMs = idleMs;
  for (const [at, sample] of samples.entries()) {
    const before = samples[at - 1];
    if (!before || sample.atMs <= fromMs) continue;
    const spanMs = sample.atMs - before.atMs;
    const idleShare = Math.min(1, (sample.idleMs - before.idleMs) / spanMs);
    const beginMs = Math.max(before.atMs, fromMs);
    const foundMs = idleShare * (sample.atMs - beginMs);
    if (foundMs >= leftMs) return beginMs + leftMs / idleShare;
    leftMs -= foundMs;
  }
  return Infinity;
};

/** Samples until `stop`. */
export const openMachineLoad = () => {
  const samples: Sample[] = [sampled()];
  const timer = setInterval(() => samples.push(sampled()), EVERY_MS);
  return {
    idleUntilMs: (fromMs: number, idleMs: number): number => idleUntilMs(samples, fromMs, idleMs),
    stop: (): void => clearInterval(timer),
  };
};
