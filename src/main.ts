// The entry of the binary and of `bun src/main.ts`: one command line, one exit code.

import { CHILD_ARGUMENT, programArguments } from "./media/sandbox/command.ts";
import { beginChild, CONFINED } from "./media/sandbox/entry.ts";
import { raiseRequestLimit } from "./providers/request-limit.ts";

// The service talks to many providers at a time; the runtime's bound on requests can only be set before anything else. The
// start also drops the variable that prints credentials; a live start says so instead, and refuses (src/cli/commands/serve.ts).
const isLiveAndPrinting = !process.argv.includes("--simulate") && Boolean(process.env.BUN_CONFIG_VERBOSE_FETCH);
if (process.argv[2] === "serve" && !isLiveAndPrinting) raiseRequestLimit();

/** A child that reads strangers' files is no command: it holds itself to its work, and ends when there is none to wait for. */
const isChild = process.argv[2] === CHILD_ARGUMENT;
const isConfined = process.argv[3] === CONFINED;
if (isChild && !isConfined) beginChild(process.argv.slice(3), [...programArguments(), CHILD_ARGUMENT]);

// A command waits for threads and sockets that do not hold the process by themselves; without this a wait would end it, as a success.
if (!isChild) setInterval(() => undefined, 3_600_000);

// Loaded only now: what was started over would have loaded everything twice.
const start = async (): Promise<number> => {
  if (isChild) {
    const { runChild } = await import("./media/sandbox/child.ts");
    return runChild(isConfined ? process.argv.slice(4) : []);
  }
  const [{ run }, { createTerminal }] = await Promise.all([import("./cli/program.ts"), import("./cli/terminal.ts")]);
  return run(process.argv.slice(2), createTerminal(process.env), process.env);
};

// Every line has been written when `run` resolves, so that ending here loses nothing; sockets that are still open to
// keep alive do not hold the process.
start().then(
  (exit) => process.exit(exit),
  (fault: unknown) => {
    process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`);
    process.exit(1);
  },
);
