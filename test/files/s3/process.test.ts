// The real process with a bucket: killed during an upload, started without the bucket, and with stray variables.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathOfFile } from "../../../src/files/local.ts";
import { type Child, freePort, start, until } from "../../../src/torture/crash/processes.ts";
import { PROGRAM } from "../../built.ts";
import { runHere } from "../../cli/captured.ts";
import { dropDirs, freshDir } from "../../cli/fresh-dir.ts";
import { openTestBucket, type TestBucket } from "./bucket.ts";

let bucket: TestBucket;
const children: Child[] = [];
beforeEach(async () => {
  bucket = await openTestBucket(Date.now);
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.ended;
  }
  await bucket.close();
});
afterAll(dropDirs);

/** Variables of other programs that would change the address or the credentials. */
const STRAY = {
  AWS_ACCESS_KEY_ID: "STRAY",
  AWS_SECRET_ACCESS_KEY: "STRAY",
  AWS_SESSION_TOKEN: "STRAY",
  AWS_REGION: "xx-stray-1",
  AWS_ENDPOINT: "http://127.0.0.1:9",
  S3_ACCESS_KEY_ID: "STRAY",
  S3_ENDPOINT: "http://127.0.0.1:9",
  S3_BUCKET: "stray",
  HTTP_PROXY: "http://127.0.0.1:9",
  http_proxy: "http://127.0.0.1:9",
};

const serve = async (dir: string, env: Record<string, string> = {}) => {
  const port = await freePort();
  const words = [...PROGRAM, "serve", "--simulate", "--port", String(port), "--data", dir];
  const child = start(words, { GENROUTER_SIMULATOR__SPEED: "50", ...bucket.settings, ...STRAY, ...env });
  children.push(child);
  const [, key = ""] = await child.hears(/^key (\S+)$/m);
  return { child, key, url: `http://127.0.0.1:${port}` };
};
type Served = Awaited<ReturnType<typeof serve>>;
const generate = async ({ url, key }: Served): Promise<string> => {
  const { exit, out, err } = await runHere(["generate", "sim-image-1", "--prompt", "x", "--no-wait", "--url", url, "--key", key]);
  expect([exit as number, err]).toEqual([0, expect.any(String)]);
  return out.trim();
};
const ask = ({ url, key }: Served, path: string) =>
  fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` }, redirect: "manual" });
const isLocal = (dir: string, id: string) => existsSync(join(dir, "files", pathOfFile(id, 1)));

test("uploads a result after kill -9 during its upload and a restart, and the download command returns the same bytes", async () => {
  const dir = freshDir();
  bucket.fail = ({ method, key }) => (method === "PUT" && key.startsWith("gen_") ? "hang" : undefined);
  const first = await serve(dir);
  const id = await generate(first);
  await until("the upload", () => bucket.seen.some(({ method, key }) => method === "PUT" && key === `${id}/1`));
  const bytes = await (await ask(first, `/v1/generations/${id}/content`)).bytes();
  first.child.kill("SIGKILL");
  await first.child.ended;
  expect([bucket.objects.has(`${id}/1`), isLocal(dir, id)]).toEqual([false, true]);
  bucket.fail = () => undefined;
  const next = await serve(dir);
  await until("the object", () => bucket.objects.get(`${id}/1`)?.bytes.equals(bytes));
  await until("the link", async () => (await ask(next, `/v1/generations/${id}/content`)).status === 302);
  const saved = join(freshDir(), "robot.png");
  const { exit } = await runHere(["download", id, "-o", saved, "--url", next.url, "--key", next.key]);
  expect([exit as number, Bun.SHA256.hash(await Bun.file(saved).bytes(), "hex")]).toEqual([0, Bun.SHA256.hash(bytes, "hex")]);
  expect(bucket.seen.filter(({ refused }) => refused !== undefined)).toEqual([]);
  next.child.kill("SIGTERM");
  expect((await next.child.ended).code).toBe(0);
  for (const { child } of [first, next]) expect(child.output()).not.toMatch(/s3cr3t|STRAY|Signature=/);
}, 120_000);

test("reports an unavailable bucket at the start once, is ready and serves results", async () => {
  await bucket.interrupt();
  const dir = freshDir();
  const served = await serve(dir);
  await served.child.hears(/object storage unavailable/);
  expect((await ask(served, "/readyz")).status).toBe(200);
  const id = await generate(served);
  await until("the result", async () => (await ask(served, `/v1/generations/${id}/content`)).status === 200);
  await bucket.back();
  await until("the object", () => bucket.objects.has(`${id}/1`));
  expect(served.child.output()).not.toContain("s3cr3t");
  // The start check was never written: the first uploaded file triggers the recovered event.
  await served.child.hears(/object storage recovered/);
}, 120_000);

test.each<[string, Record<string, string>, RegExp]>([
  ["no bucket", { GENROUTER_S3__BUCKET: "" }, /^error: GENROUTER_S3__BUCKET is missing; /],
  ["no access key", { GENROUTER_S3__ACCESS_KEY: "" }, /^error: GENROUTER_S3__ACCESS_KEY is missing; /],
  ["no secret", { GENROUTER_S3__SECRET_KEY: "" }, /^error: GENROUTER_S3__SECRET_KEY is missing; /],
  [
    "an invalid endpoint",
    { GENROUTER_S3__ENDPOINT: "http://[" },
    /^error: GENROUTER_S3__ENDPOINT: expected an address that begins with http/,
  ],
  [
    "an endpoint with a password",
    { GENROUTER_S3__ENDPOINT: "https://u:s3cr3t@x" },
    /^error: GENROUTER_S3__ENDPOINT: expected an address .*without user, query/,
  ],
  [
    "an endpoint with a query",
    { GENROUTER_S3__ENDPOINT: "https://x/?a=s3cr3t" },
    /^error: GENROUTER_S3__ENDPOINT: expected an address .*without user, query/,
  ],
  ["a bucket with a slash", { GENROUTER_S3__BUCKET: "a/b" }, /^error: GENROUTER_S3__BUCKET: /],
  ["an invalid region", { GENROUTER_S3__REGION: "eu west" }, /^error: GENROUTER_S3__REGION: /],
  ["a parent directory in the prefix", { GENROUTER_S3__PREFIX: "a/../b" }, /^error: GENROUTER_S3__PREFIX: /],
  ["a line break in the secret", { GENROUTER_S3__SECRET_KEY: "s3cr3t\n" }, /^error: GENROUTER_S3__SECRET_KEY: /],
  ["a secret as a table", { GENROUTER_S3__SECRET_KEY__X: "s3cr3t" }, /^error: GENROUTER_S3__SECRET_KEY/],
])("rejects a start with %s in one line and creates no database", async (_name, env, line) => {
  const dir = freshDir();
  const { GENROUTER_S3__SECRET_KEY: secret = "", ...others } = bucket.settings;
  const branch = Object.keys(env).some((name) => name.endsWith("__X")) ? {} : { GENROUTER_S3__SECRET_KEY: secret };
  const { exit, err } = await runHere(["serve", "--simulate", "--port", "0", "--data", dir], { ...others, ...branch, ...env });
  expect(exit as number).toBe(2);
  expect(err).toMatch(line);
  expect(err.trimEnd()).not.toContain("\n");
  expect(err).not.toContain("s3cr3t");
  expect(existsSync(join(dir, "genrouter.db"))).toBe(false);
});

test("config check rejects an incomplete bucket configuration, and config print shows the bucket without its secret", async () => {
  const dir = freshDir();
  const env = { ...bucket.settings, FAL_KEY: "k" };
  const sound = await runHere(["config", "check", "--data", dir], env);
  expect([sound.exit as number, sound.err]).toEqual([0, ""]);
  const broken = await runHere(["config", "check", "--data", dir], { ...env, GENROUTER_S3__BUCKET: "" });
  expect(broken.exit as number).not.toBe(0);
  expect(broken.out + broken.err).toContain("GENROUTER_S3__BUCKET is missing");
  const { out } = await runHere(["config", "print", "--data", dir], env);
  expect(out).toContain('bucket = "results"');
  expect(out).not.toContain("s3cr3t");
});
