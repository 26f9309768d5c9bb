// Child process of a test: hangs requests to one host, then prints whether another host still responds.
import { raiseRequestLimit } from "../../src/providers/request-limit.ts";

const [mode = "", hanging = ""] = process.argv.slice(2);
const raised = mode === "raise" ? raiseRequestLimit(1024) : false;

const healthy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ok") });
for (let n = 0; n < 300; n++) void fetch(hanging);
// The parent writes a line when no further requests can arrive.
for await (const _ of console) break;
const answered = await fetch(healthy.url, { signal: AbortSignal.timeout(600) }).then(
  (answer) => answer.ok,
  () => false,
);
const { pid, env } = process;
console.log(
  JSON.stringify({ raised, answered, pid, verbose: env.BUN_CONFIG_VERBOSE_FETCH ?? null, args: process.argv.slice(2) }),
);
// Exit without aborting the requests, because each ended request would let another one out.
process.exit(0);
