// A parent process that a test kills: it starts two children and prints their process ids.
import { createSandbox, inMemory } from "../../../src/media/sandbox/sandbox.ts";

const sandbox = createSandbox({ workers: 2 });
const signal = new AbortController().signal;
const look = () =>
  sandbox
    .run(
      "inspect",
      { depth: "whole" },
      { source: inMemory([new Uint8Array(100)]), who: { share: "input", account: "1" }, signal },
    )
    .catch(() => undefined);
await Promise.all([look(), look()]);
process.stdout.write(JSON.stringify(sandbox.pids()));
setInterval(() => undefined, 60_000);
