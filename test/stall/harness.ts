// Stall meter of a test process: measures while a harness is open and fails above the bound.
import { expect } from "bun:test";
import { BOUND_MS, createStallMeter } from "./meter.ts";

/**
 * The service of a harness and its test share one event loop, so long synchronous work of the test would count as work of
 * the service. The test wraps such work in `stall.pause(() => …)`; opening, verifying and closing a harness are wrapped here.
 */
export const stall = createStallMeter();

type Watched = { verify(): Promise<void>; crash(): Promise<void>; close(): Promise<void> };
/** Opens a service whose event loop is measured until it closes, except while it opens, verifies and closes. */
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

/** Prints the longest pause if a harness was open. @throws above the bound */
export const judge = (): void => {
  const { longestMs, wallMs, ticks } = stall.longest();
  stall.stop();
  if (ticks === 0) return;
  process.stdout.write(`stall: ${Math.round(longestMs)} ms (${Math.round(wallMs)} ms by the clock)\n`);
  if (longestMs > BOUND_MS) expect(`the event loop stood still for ${Math.round(longestMs)} ms`).toBe(`at most ${BOUND_MS} ms`);
};
