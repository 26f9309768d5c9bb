// Run by a test in a process of its own: hangs requests on one host, then says whether another host can still be asked.
import { raiseRequestLimit } from "../../src/providers/request-limit.ts";

const [mode = "", hanging = ""] = process.argv.slice(2);
const raised = mode === "raise" ? raiseRequestLimit(1024) : false;

const healthy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ok") });
for (let n = 0; n < 300; n++) void fetch(hanging);
// The parent says when as many have arrived there as ever will.
for await (const _ of console) break;
const answered = await fetch(healthy.url, { signal: AbortSignal.timeout(600) }).then(
  (answer) => answer.ok,
  () => false,
);
const { pid, env } = process;
console.log(
  JSON.stringify({ raised, answered, pid, verbose: env.BUN_CONFIG_VERBOSE_FETCH ?? null, args: process.argv.slice(2) }),
);
// Without aborting them: each that ended would let another one out.
process.exit(0);
