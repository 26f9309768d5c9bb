// The children that look at media in tests: the service's own, shared by all harnesses of a test file, so that they are warm.
import { createSandbox, type Sandbox } from "../src/media/sandbox/sandbox.ts";
import type { TestClock } from "./clock.ts";

/** They end with the process. At the priority of everybody: clocks of tests run faster than life. */
export const testSandbox = createSandbox({ workers: 2, niceness: 0 });

/** The same for a harness with a clock of its own, which stands still while a child is at work. */
export const sandboxUnder = (clock: TestClock): Sandbox => ({
  ...testSandbox,
  run: (...asked) => clock.during(() => testSandbox.run(...asked)),
});
