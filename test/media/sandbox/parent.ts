// A service that is going to be killed: it starts two children and tells who they are.
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
