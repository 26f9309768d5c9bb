// A bare Bun.serve that sends one file to everybody: `bun file-server.ts FILE`; prints its port when it listens.
const [path = ""] = process.argv.slice(2);
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(Bun.file(path), { headers: { "content-type": "video/mp4" } }),
});
process.stdout.write(`ready ${port}\n`);
