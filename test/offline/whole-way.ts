// Client run without a network: start, submit, wait, download, pages; prints the outcome as JSON.
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { createClient } from "../../client/src/client.ts";
import { start } from "../../src/torture/crash/processes.ts";
import { makeScratch } from "../scratch.ts";

const command = process.argv.slice(2);
const dir = makeScratch("offline-");
const service = start([...command, "serve", "--simulate", "--port", "0", "--data", dir], { GENROUTER_SIMULATOR__SPEED: "50" });
const [, url = ""] = await service.hears(/^url (\S+)$/m);
const [, key = ""] = await service.hears(/^key (\S+)$/m);

const client = createClient({ url, key });
const order = { model: "vidmodel-2.0-fast", input: { prompt: "a red kite", resolution: "480p", duration: 4 } };
const { generation, files } = await client.generate(order, { to: join(dir, "kite.mp4"), pollMs: [100, 100] });
const pages = await Promise.all(
  ["/docs", "/docs/errors", "/llms.txt", "/openapi.json"].map(async (path) => (await fetch(url + path)).status),
);
const outside = await fetch("http://192.0.2.1/", { signal: AbortSignal.timeout(5_000) }).then(
  () => "reached",
  () => "not reached",
);
service.kill("SIGTERM");
const { code } = await service.ended;
process.stdout.write(
  `${JSON.stringify({
    interfaces: Object.keys(networkInterfaces()),
    outside,
    status: generation.status,
    bytes: files[0]?.bytes ?? 0,
    pages,
    exit: code,
  })}\n`,
);
process.exit(0);
