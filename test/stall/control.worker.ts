// Control loop: an otherwise idle thread that measures the delay that the machine causes.
import { CONTROL_TICK_MS, DELAY_US, LATEST_MS, nowMs, SLACK_MS } from "./control.ts";

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<{ shared: SharedArrayBuffer; fromMs: number }>) => {
  const shared = new Int32Array(data.shared);
  let last = data.fromMs;
  const look = (expectedMs: number) => {
    const now = nowMs();
    const late = now - last - expectedMs;
    last = now;
    if (late > SLACK_MS) Atomics.add(shared, DELAY_US, Math.round(late * 1000));
    Atomics.store(shared, LATEST_MS, Math.max(1, Math.round(now - data.fromMs)));
  };
  look(0);
  setInterval(() => look(CONTROL_TICK_MS), CONTROL_TICK_MS);
};
