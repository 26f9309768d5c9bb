// Run by a test in a process of its own: hangs requests on one host, then says whether another host can still be asked.
import { raiseRequestLimit } from "../../src/providers/request-limit.ts";

const [mode = "", hanging = ""] = process.argv.slice(2);
const raised = mode === "raise" ? raiseRequestLimit(1024) : false;

const healthy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ok") });
const stop = new AbortController();
const hung = Array.from({ length: 300 }, () => fetch(hanging, { signal: stop.signal }).catch(() => undefined));
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
stop.abort();
await Promise.all(hung);
process.exit(0);
