// The stall meter of a process of tests: it runs while a harness is open, prints the longest pause of the loop once, and fails above the bound.
import { expect } from "bun:test";
import { BOUND_MS, createStallMeter } from "./meter.ts";

/**
 * The service of a harness and the test that asks it share one loop. So what the test itself does for long, without giving way, would count as the
 * service's: it is wrapped in `stall.pause(() => …)`, as opening, verifying and closing a harness are.
 */
export const stall = createStallMeter();

type Watched = { verify(): Promise<void>; crash(): Promise<void>; close(): Promise<void> };
/** Opens a service whose loop the meter watches to its end; opening, verifying and closing are not what clients wait for. */
export const watchLoop = async <S extends Watched>(open: () => Promise<S>): Promise<S> => {
  const service = await stall.pause(open);
  const end = stall.begin();
  const closing = (close: () => Promise<void>) => () => {
    end();
    return stall.pause(close);
  };
  return {
    ...service,
    verify: () => stall.pause(service.verify),
    crash: closing(service.crash),
    close: closing(service.close),
  };
};

/** Prints the longest pause, where a harness was open. @throws above the bound */
export const judge = (): void => {
  const { longestMs, wallMs, ticks } = stall.longest();
  stall.stop();
  if (ticks === 0) return;
  process.stdout.write(`stall: ${Math.round(longestMs)} ms (${Math.round(wallMs)} ms by the clock)\n`);
  if (longestMs > BOUND_MS) expect(`the event loop stood still for ${Math.round(longestMs)} ms`).toBe(`at most ${BOUND_MS} ms`);
};
