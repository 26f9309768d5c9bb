// A terminal that captures its output, so that command lines run inside the test process.
import type { Exit } from "../../src/cli/exit-codes.ts";
import { run } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";

export type Ran = { exit: Exit; out: string; err: string };

/** Runs a command line without the environment of this process. With `isTty`, both output streams count as a terminal. */
export const runHere = async (words: readonly string[], env: Record<string, string> = {}, isTty = false): Promise<Ran> => {
  let out = "";
  let err = "";
  const write = (fd: 1 | 2, text: string) => {
    if (fd === 1) out += text;
    else err += text;
  };
  const terminal = createTerminal(env, write, { out: isTty, err: isTty });
  const exit = await run(words, terminal, env);
  return { exit, out, err };
};
