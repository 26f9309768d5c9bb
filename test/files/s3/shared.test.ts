// Nodes that share a bucket: every node serves every result, and no node overwrites another's files.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../../src/config/load.ts";
import { BadSetting } from "../../../src/config/schema.ts";
import { createResultStorage } from "../../../src/files/create-storage.ts";
import { serveThrough } from "../../../src/files/proxy-download.ts";
import { testTelemetry } from "../../telemetry/open-telemetry.ts";
import { type Nodes, openNodes } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

describe("a result in a shared bucket", () => {
  test("is in the bucket, whole and under its recorded name, when its generation has succeeded, and on no disk", async () => {
    const harness = await nodes.open({ env: { GENROUTER_S3__PREFIX: "kunden/Küche (a)/" } });
    const { id } = await nodes.picture(harness);
    const files = await nodes.filesOf(harness, id);
    expect(files).toHaveLength(2);
    for (const { n, sha256, mime, object } of files) {
      expect(object).toBe(`${n}-${sha256.slice(0, 32)}`);
      const there = nodes.bucket.objects.get(`kunden/Küche (a)/${id}/${object}`);
      expect(Bun.SHA256.hash(there?.bytes ?? "", "hex")).toBe(sha256);
      expect(there?.headers).toMatchObject({ "content-type": mime, "x-amz-meta-sha256": sha256 });
      expect(there?.headers["content-disposition"]).toContain(`${id}-${n}.`);
    }
    expect(nodes.onDisk()).toEqual([]);
    expect(readdirSync(join(nodes.dir, "files", "incoming"))).toEqual([]);
    expect(nodes.bucket.seen.filter(({ refused }) => refused !== undefined)).toEqual([]);
  });

  const CLIP = ["vidmodel-2.0-fast", { prompt: "a robot", resolution: "480p", duration: 4 }] as const;
  const incoming = () => readdirSync(join(nodes.dir, "files", "incoming"));

  test("of one small file takes one request to the bucket", async () => {
    const harness = await nodes.open();
    const { id, status } = await harness.until((await harness.submit(...CLIP)).id);
    const methods = nodes.bucket.seen.filter(({ key }) => key.startsWith(id)).map(({ method }) => method);
    expect([status, methods]).toEqual(["succeeded", ["PUT"]]);
    expect([nodes.onDisk(), incoming()]).toEqual([[], []]);
  });

  test("waits on disk and not in memory while the bucket refuses it", async () => {
    const harness = await nodes.open();
    nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 503, code: "SlowDown" } : undefined);
    const { id } = await harness.submit(...CLIP);
    await harness.eventually(() => incoming().length === 1, "the file on disk");
    nodes.bucket.fail = () => undefined;
    expect((await harness.until(id)).status).toBe("succeeded");
    expect([nodes.objects().length, incoming()]).toEqual([1, []]);
  });

  test("does not count as stored if a proxy answers in the place of the bucket", async () => {
    const harness = await nodes.open();
    nodes.bucket.fail = ({ method, key }) => (method === "PUT" && key.startsWith("gen_") ? "proxied" : undefined);
    const { id } = await harness.submit(...CLIP);
    await harness.eventually(
      () => nodes.bucket.seen.some(({ method, key }) => method === "HEAD" && key.startsWith(id)),
      "a look",
    );
    expect((await harness.show(id)).status).toBe("running");
    nodes.bucket.fail = () => undefined;
    expect((await harness.until(id)).status).toBe("succeeded");
    expect(nodes.objects()).toHaveLength(1);
  });

  test("is served by another node by key, by a link of the first node, with HEAD and ranges, and through the console", async () => {
    const first = await nodes.open();
    const { id, output } = await nodes.picture(first);
    const key = first.tenant.key;
    const second = await nodes.takenOver(first);
    const [file] = await nodes.filesOf(second, id);
    const whole = await (await nodes.follow(second, id, key)).bytes();
    expect(Bun.SHA256.hash(whole, "hex")).toBe(file?.sha256 ?? "");
    const own = new URL(output?.urls[0] ?? "");
    expect((await second.request("GET", own.pathname + own.search, { key: null })).status).toBe(302);
    const head = await nodes.follow(second, id, key, "HEAD");
    expect([head.status, head.headers.get("content-length"), head.headers.get("content-type")]).toEqual([
      200,
      String(whole.length),
      file?.mime ?? "",
    ]);
    const part = await nodes.follow(second, id, key, "GET", { range: "bytes=4-9" });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 4-9/${whole.length}`]);
    for (const method of ["GET", "HEAD"] as const) {
      const location = (await second.request(method, `/v1/generations/${id}/content`, { key })).headers.get("location") ?? "";
      const through = await serveThrough(location, file?.sha256 ?? "", new Request("http://here/", { method }));
      expect([through.status, through.headers.get("content-length")]).toEqual([200, String(whole.length)]);
      expect((await through.bytes()).length).toBe(method === "GET" ? whole.length : 0);
    }
    expect((await second.request("GET", `/v1/generations/${id}/content/2`, { key })).status).toBe(302);
  });

  test("is found and deleted under its old name when a node uploaded it before sharing was enabled", async () => {
    const alone = await nodes.open({ shared: false });
    const { id } = await nodes.picture(alone);
    await alone.eventually(() => nodes.onDisk().length === 0 && alone.waiting()?.files === 0, "the move");
    expect(nodes.objects()).toEqual([`${id}/1`, `${id}/2`]);
    const node = await nodes.takenOver(alone, { env: { GENROUTER_LIMITS__FILE_RETENTION_S: "3600" } });
    const answered = await nodes.follow(node, id, alone.tenant.key);
    expect(Bun.SHA256.hash(await answered.bytes(), "hex")).toBe((await nodes.filesOf(node, id))[0]?.sha256 ?? "");
    nodes.clock.skip(8 * 86_400_000);
    await node.components.sweep();
    expect(nodes.objects()).toEqual([]);
  });

  test("is served from the local disk and then uploaded when a node still has it from before sharing was enabled", async () => {
    await nodes.bucket.interrupt();
    const alone = await nodes.open({ shared: false });
    const { id } = await nodes.picture(alone);
    await nodes.crash(alone);
    const node = await nodes.open();
    expect((await node.request("GET", `/v1/generations/${id}/content`, { key: alone.tenant.key })).status).toBe(200);
    await nodes.bucket.back();
    await node.eventually(() => nodes.onDisk().length === 0, "the move");
    expect(nodes.objects()).toEqual([`${id}/1`, `${id}/2`]);
    expect((await nodes.follow(node, id, alone.tenant.key)).status).toBe(200);
  });

  test("is removed after its retention, together with objects that another attempt or a crashed node left beside it", async () => {
    const harness = await nodes.open({ env: { GENROUTER_LIMITS__FILE_RETENTION_S: "3600" } });
    const [one, other] = [await nodes.picture(harness), await nodes.picture(harness)];
    const left = { bytes: Buffer.from("of a node that was taken for dead"), headers: {} };
    nodes.bucket.objects.set(`${one.id}/1-${"0".repeat(32)}`, left);
    nodes.clock.skip(3_600_000);
    expect((await harness.request("GET", `/v1/generations/${other.id}/content`)).body).toMatchObject({
      error: { message: "files expired" },
    });
    await harness.components.sweep();
    expect(nodes.objects()).toEqual([]);
  });

  test("is removed although the key may not list the bucket, and objects outside its record are left to the lifecycle rule", async () => {
    const harness = await nodes.open({ env: { GENROUTER_LIMITS__FILE_RETENTION_S: "3600" } });
    const { id } = await nodes.picture(harness);
    const left = `${id}/1-${"0".repeat(32)}`;
    nodes.bucket.objects.set(left, { bytes: Buffer.from("left"), headers: {} });
    nodes.bucket.fail = ({ query }) => (query.has("list-type") ? { status: 403, code: "AccessDenied" } : undefined);
    nodes.clock.skip(3_600_000);
    await harness.components.sweep();
    expect(nodes.objects()).toEqual([left]);
    expect((await harness.store.findGeneration(id))?.filesExpiredAtMs).not.toBeNull();
    expect(harness.lines.filter(({ event }) => event === "object storage access denied")).toEqual([]);
  });
});

test("two nodes do not overwrite each other's bytes for one file, and equal bytes are uploaded once", async () => {
  const { log } = testTelemetry(() => undefined);
  const node = async (name: string) => {
    const settings = readSettings({ GENROUTER_DATA__DIR: join(nodes.dir, name), ...nodes.bucket.settings });
    return createResultStorage({
      settings,
      clock: nodes.clock,
      log,
      store: {
        generationBySeq: async () => undefined,
        pinsOf: async () => [],
        blob: async () => undefined,
        uploadPart: async () => undefined,
      },
      shared: true,
    });
  };
  const [winner, zombie] = [await node("a"), await node("b")];
  const keep = async ({ files }: typeof winner, text: string) => {
    const file = { n: 1, sha256: Bun.SHA256.hash(text, "hex"), bytes: text.length, mime: "video/mp4" };
    const object = files.objectOf?.(file) ?? "";
    const incoming = await files.receive("gen_1a", 1);
    await incoming.write(Buffer.from(text));
    await incoming.keep({ ...file, object });
    await incoming.discard();
    expect(existsSync(incoming.path)).toBe(false);
    return object;
  };
  const [won, late] = [await keep(winner, "the result"), await keep(zombie, "the result again")];
  expect(nodes.bucket.objects.get(`gen_1a/${won}`)?.bytes.toString()).toBe("the result");
  expect(nodes.bucket.objects.get(`gen_1a/${late}`)?.bytes.toString()).toBe("the result again");
  const puts = () => nodes.bucket.seen.filter(({ method }) => method === "PUT").length;
  const before = puts();
  expect(await keep(zombie, "the result")).toBe(won);
  expect(puts()).toBe(before);
  await winner.stop();
  await zombie.stop();
});

test("nodes that share a store with local file storage fail to start with one line that names the setting", async () => {
  const fault = await nodes.open({ env: { GENROUTER_FILES__STORE: "local" } }).catch((thrown: Error) => thrown);
  expect(String(fault)).toContain("GENROUTER_FILES__STORE=s3");
  expect(String(fault)).not.toContain("\n");
  expect(fault).toBeInstanceOf(BadSetting);
});
