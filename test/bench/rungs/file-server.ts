// Bare Bun.serve that sends the files of a directory in turn: `bun file-server.ts DIR`; prints its port.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const [dir = ""] = process.argv.slice(2);
const paths = readdirSync(dir).map((name) => join(dir, name));
let sent = 0;
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(Bun.file(paths[sent++ % paths.length] ?? ""), { headers: { "content-type": "video/mp4" } }),
});
process.stdout.write(`ready ${port}\n`);
