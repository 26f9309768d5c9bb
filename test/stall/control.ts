// Starts the control loop of the stall meter, and reads for how long it was held up.

export const CONTROL_TICK_MS = 10;
/** Timers are a little late everywhere. */
export const SLACK_MS = 5;
/** Places of what the two threads share. */
export const HELD_UP_US = 0;
export const LATEST_MS = 1;

/** The same for all threads of the machine. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export type Control = { heldUpMs(): number; stop(): void };

export const startControl = (): Control => {
  const fromMs = nowMs();
  const buffer = new SharedArrayBuffer(8);
  const shared = new Int32Array(buffer);
  const worker = new Worker(new URL("./control.worker.ts", import.meta.url).href);
  worker.unref();
  worker.postMessage({ shared: buffer, fromMs });
  return {
    heldUpMs: () => {
      const latestMs = Atomics.load(shared, LATEST_MS);
      // Before its first look it vouches for nobody: of a pause in that time only what the loop computed itself is known to be its own.
      if (latestMs === 0) return nowMs() - fromMs;
      const lateNow = nowMs() - fromMs - latestMs - CONTROL_TICK_MS;
      return Atomics.load(shared, HELD_UP_US) / 1000 + (lateNow > SLACK_MS ? lateNow : 0);
    },
    stop: () => worker.terminate(),
  };
};
