// Control loop of the stall meter: starts it and reads its total delay.

export const CONTROL_TICK_MS = 10;
/** Normal lateness of timers. */
export const SLACK_MS = 5;
/** Indexes in the memory that the two threads share. */
export const DELAY_US = 0;
export const LATEST_MS = 1;

/** A monotonic clock that is the same for all threads of the machine. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export type Control = { delayMs(): number; stop(): void };

export const startControl = (): Control => {
  const fromMs = nowMs();
  const buffer = new SharedArrayBuffer(8);
  const shared = new Int32Array(buffer);
  const worker = new Worker(new URL("./control.worker.ts", import.meta.url).href);
  worker.unref();
  worker.postMessage({ shared: buffer, fromMs });
  return {
    delayMs: () => {
      const latestMs = Atomics.load(shared, LATEST_MS);
      // Before the first sample of the control loop, only the CPU time of the measured loop counts as its own delay.
      if (latestMs === 0) return nowMs() - fromMs;
      const lateNow = nowMs() - fromMs - latestMs - CONTROL_TICK_MS;
      return Atomics.load(shared, DELAY_US) / 1000 + (lateNow > SLACK_MS ? lateNow : 0);
    },
    stop: () => worker.terminate(),
  };
};
