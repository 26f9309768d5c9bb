// The media sandbox for tests, shared by all harnesses of a test file so that its child processes are warm.
import { createSandbox, type Sandbox } from "../src/media/sandbox/sandbox.ts";
import type { TestClock } from "./clock.ts";

/** The children end with the process. They have normal priority, because test clocks run faster than real time. */
export const testSandbox = createSandbox({ workers: 2, niceness: 0 });

/** The same sandbox for a harness whose clock stops while a child works. */
export const sandboxUnder = (clock: TestClock): Sandbox => ({
  ...testSandbox,
  run: (...asked) => clock.during(() => testSandbox.run(...asked)),
});
