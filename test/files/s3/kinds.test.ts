// Converted and unconverted results in a shared bucket.
// A result is converted before the upload, or stored unchanged and never rendered as a page.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Nodes, openNodes, PICTURE } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const KINDS: readonly [words: string, mime: string, how: string][] = [
  ["[sim:gif] [sim:gzip]", "image/png", "inline"],
  ["[sim:bmp] [sim:no-length]", "image/png", "inline"],
  ["[sim:moving-gif]", "image/gif", "inline"],
  ["[sim:svg] [sim:wrong-type]", "image/svg+xml", "attachment"],
  ["[sim:glb]", "model/gltf-binary", "attachment"],
];
for (const [words, mime, how] of KINDS)
  test(`stores a result with ${words} as ${mime}, ${how}, and leaves no other file`, async () => {
    const harness = await nodes.open();
    const { id, status } = await harness.until((await harness.submit(PICTURE, { prompt: `a robot ${words}` })).id);
    expect(status).toBe("succeeded");
    const files = await nodes.filesOf(harness, id);
    expect(files.map((file) => file.mime)).toEqual([mime, mime]);
    expect(nodes.objects()).toEqual(files.map(({ object }) => `${id}/${object}`).sort());
    const there = nodes.bucket.objects.get(`${id}/${files[0]?.object}`);
    expect(Bun.SHA256.hash(there?.bytes ?? "", "hex")).toBe(files[0]?.sha256 ?? "");
    expect(there?.headers["content-type"]).toBe(mime);
    expect(there?.headers["content-disposition"]).toStartWith(how);
    const answered = await nodes.follow(harness, id, harness.tenant.key);
    expect(answered.headers.get("content-type")).toBe(mime);
    expect(answered.headers.get("content-disposition")).toStartWith(how);
    expect(nodes.onDisk()).toEqual([]);
    expect(readdirSync(join(nodes.dir, "files", "incoming"))).toEqual([]);
  });

test("keeps the readable file of two in the bucket as the first when the other stays empty", async () => {
  const png = await (await fetch(`${nodes.simulator.url}/samples/picture.png`)).bytes();
  let fetched = 0;
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(++fetched <= 3 ? "" : png) });
  try {
    const harness = await nodes.open({ env: { GENROUTER_MEDIA__ALLOW: server.url.host } });
    nodes.simulator.script({ fault: "elsewhere", url: `${server.url.origin}/file` });
    // The first of two files is fetched three times and is empty each time. The other file takes its position.
    const { id } = await harness.submit(PICTURE, { prompt: "a robot" });
    await harness.eventually(async () => {
      nodes.clock.skip(1000);
      return (await harness.show(id)).status === "succeeded";
    });
    const files = await nodes.filesOf(harness, id);
    expect(files).toHaveLength(1);
    expect(files[0]).toMatchObject({ n: 1, sha256: Bun.SHA256.hash(png, "hex") });
    expect(nodes.objects()).toEqual([`${id}/${files[0]?.object}`]);
  } finally {
    await server.stop(true);
  }
});
