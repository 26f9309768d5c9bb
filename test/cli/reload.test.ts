// Reload by SIGHUP: the service takes a new catalogue and new keys while it serves requests, and rejects invalid ones as a whole.
import { afterAll, describe, expect, onTestFinished, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "../../src/app/server.ts";
import type { Service } from "../../src/app/service-types.ts";
import { readSettings } from "../../src/config/load.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { PROGRAM } from "../built.ts";
import { testClock } from "../clock.ts";
import { writeSample } from "../sample/catalogue.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

/** Opens a live service whose fal is a server of the test, which records the key of each request. */
const openKeyed = async (env: Record<string, string>, dir = join(freshDir(), "data")) => {
  const seen: string[] = [];
  const clock = testClock(100);
  const simulator = await createSimulator({ clock, kindOf: () => "audio" });
  const fal = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      seen.push(request.headers.get("authorization") ?? "");
      const { pathname, search } = new URL(request.url);
      const body = await request.bytes();
      return fetch(`${simulator.baseUrls.fal}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        ...(body.length > 0 ? { body } : {}),
      });
    },
  });
  const settingsOf = (more: Record<string, string>) =>
    readSettings({
      ...more,
      GENROUTER_DATA__DIR: dir,
      GENROUTER_SERVER__PORT: "0",
      GENROUTER_PROVIDERS__FAL__BASE_URL: `http://127.0.0.1:${fal.port}`,
    });
  const service = await createServer(settingsOf(env), { simulate: false, telemetry: testTelemetry() });
  onTestFinished(async () => {
    await service.drain();
    await fal.stop(true);
    await simulator.stop();
    clock.stop();
  });
  /** Calls fal and returns the credential of the call. */
  const called = async (): Promise<string> => {
    seen.length = 0;
    await service.providers.check("fal", { endpoint: "fal-ai/kokoro", options: {} }, AbortSignal.timeout(10_000));
    return seen[0] ?? "none";
  };
  return { service, settingsOf, called, dir };
};

const listed = async (service: Service): Promise<string[]> => {
  const list = (await (await fetch(`${service.url}/v1/models`)).json()) as { data: { id: string }[] };
  return list.data.map(({ id }) => id);
};

describe("a reload of provider keys", () => {
  test("reports a setting that needs a restart as waiting, and the effective settings keep its former value", async () => {
    const old = { GENROUTER_S3__SECRET_KEY: "first-secret", GENROUTER_PROVIDERS__FAL__KEY: "first-key" };
    const { service, settingsOf, called } = await openKeyed(old);
    const next = settingsOf({ GENROUTER_S3__SECRET_KEY: "second-secret", GENROUTER_PROVIDERS__FAL__KEY: "second-key" });
    expect((await service.reload(next)).waiting).toEqual(["s3.secret_key"]);
    const { s3, providers } = service.settings();
    expect([s3.secret_key, providers.fal?.key, await called()]).toEqual(["first-secret", "second-key", "Key second-key"]);
    // After the change is reverted, nothing waits.
    expect((await service.reload(settingsOf({ ...old, GENROUTER_PROVIDERS__FAL__KEY: "second-key" }))).waiting).toEqual([]);
  });

  test("reads key files again", async () => {
    const file = join(freshDir(), "fal.key");
    writeFileSync(file, "first-key\n");
    const env = { GENROUTER_PROVIDERS__FAL__KEY_FILE: file };
    const { service, settingsOf, called } = await openKeyed(env);
    expect(await called()).toBe("Key first-key");
    writeFileSync(file, "second-key\n");
    expect(await service.reload(settingsOf(env))).toMatchObject({ rekeyed: ["fal"], waiting: [] });
    expect(await called()).toBe("Key second-key");
    expect(await service.reload(settingsOf(env))).toMatchObject({ rekeyed: [] });
  });

  test("changes no key when one key cannot be read or sent", async () => {
    const file = join(freshDir(), "fal.key");
    writeFileSync(file, "first-key\n");
    const env = { GENROUTER_PROVIDERS__FAL__KEY_FILE: file };
    const { service, settingsOf, called } = await openKeyed(env);
    const before = await listed(service);
    rmSync(file);
    expect(service.reload(settingsOf({ ...env, REPLICATE_API_TOKEN: "r" }))).rejects.toThrow(/cannot be read/);
    writeFileSync(file, "two words\n");
    expect(service.reload(settingsOf({ ...env, REPLICATE_API_TOKEN: "r" }))).rejects.toThrow(/the credential is invalid/);
    expect(await called()).toBe("Key first-key");
    expect(await listed(service)).toEqual(before);
  });

  test("adds the models of a further provider, and removes them with its key", async () => {
    const { service, settingsOf } = await openKeyed({ FAL_KEY: "k" });
    const before = await listed(service);
    await service.reload(settingsOf({ FAL_KEY: "k", ELEVENLABS_API_KEY: "e" }));
    expect((await listed(service)).length).toBeGreaterThan(before.length);
    expect((await service.inventory.providers()).find(({ id }) => id === "elevenlabs")?.key).toEqual({ from: "settings" });
    await service.reload(settingsOf({ FAL_KEY: "k" }));
    expect(await listed(service)).toEqual(before);
  });

  test("keeps keys of the vault that were replaced while the service runs", async () => {
    const dir = join(freshDir(), "data");
    const keyFile = join(freshDir(), "k");
    writeFileSync(keyFile, "id:kept-first");
    expect((await runHere(["providers", "set-key", "fal", "--file", keyFile, "--data", dir])).exit as number).toBe(0);
    const { service, settingsOf, called } = await openKeyed({}, dir);
    expect(await called()).toBe("Key id:kept-first");
    for (const key of ["id:kept-second", "id:kept-third"]) {
      await service.post({ mutation: "set-provider-key", account: "fal", ...service.vault.seal("fal", key, []), atMs: 1 });
      service.rekeyed("fal", key);
      expect(await called()).toBe(`Key ${key}`);
    }
    expect(await service.reload(settingsOf({}))).toMatchObject({ rekeyed: [] });
    expect(await called()).toBe("Key id:kept-third");
  });
});

test("a reload returns the names of changed settings that take effect at the next start", async () => {
  const { service, settingsOf } = await openKeyed({ FAL_KEY: "k" });
  const { waiting } = await service.reload(
    settingsOf({ FAL_KEY: "k", GENROUTER_LIMITS__MAX_RUNNING: "5", GENROUTER_LOG__LEVEL: "warn" }),
  );
  expect(waiting).toEqual(["limits.max_running", "log.level"]);
  // Each reload reports a waiting setting until it has its value of the start again.
  expect((await service.reload(settingsOf({ FAL_KEY: "k", GENROUTER_LIMITS__MAX_RUNNING: "5" }))).waiting).toEqual([
    "limits.max_running",
  ]);
  expect((await service.reload(settingsOf({ FAL_KEY: "k" }))).waiting).toEqual([]);
});

test("SIGHUP loads a new catalogue without a failed request, and keeps the current one when the new one is invalid", async () => {
  const [catalogue, dir] = [writeSample(freshDir()), join(freshDir(), "data")];
  const child = Bun.spawn([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir, "--catalogue", catalogue], {
    env: { PATH: process.env.PATH ?? "", GENROUTER_LIMITS__BURST_PER_S: "100000" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let err = "";
  const heard: (() => void)[] = [];
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      err += decoder.decode(chunk, { stream: true });
      for (const report of heard.splice(0)) report();
    }
  })();
  const logged = async (msg: string, times: number): Promise<{ level: string; reason: string }[]> => {
    for (;;) {
      const found = err.split("\n").filter((line) => line.endsWith("}") && line.includes(`"msg":"${msg}"`));
      if (found.length >= times) return found.map((line) => JSON.parse(line) as { level: string; reason: string });
      await new Promise<void>((report) => heard.push(report));
    }
  };
  const out = child.stdout.getReader();
  let said = "";
  while (!/^key \S+\n/m.test(said)) said += new TextDecoder().decode((await out.read()).value);
  const [, url = "", key = ""] = /^url (\S+)\nkey (\S+)/m.exec(said) ?? [];

  let isOver = false;
  const answers: number[] = [];
  const asking = (async () => {
    while (!isOver)
      answers.push((await fetch(`${url}/v1/generations/gen_none`, { headers: { authorization: `Bearer ${key}` } })).status);
  })();
  const models = async () => ((await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string; name: string }[] }).data;
  const before = await models();

  const path = join(catalogue, "models", "sim-image-1.json");
  const text = await Bun.file(path).text();
  writeFileSync(path, text.replace("{", '{ "nonsense": 1,'));
  child.kill("SIGHUP");
  const [refused] = await logged("config reload rejected", 1);
  expect(refused).toMatchObject({
    level: "error",
    reason: expect.stringMatching(/the previous configuration stays active.*sim-image-1\.json/),
  });
  expect(await models()).toEqual(before);

  mkdirSync(join(catalogue, "models"), { recursive: true });
  writeFileSync(path, text.replace(/"name": ?"[^"]*"/, '"name": "Renamed"'));
  child.kill("SIGHUP");
  await logged("config reloaded", 1);
  expect((await models()).find(({ id }) => id === "sim-image-1")?.name).toBe("Renamed");
  isOver = true;
  await asking;
  expect(answers.length).toBeGreaterThan(0);
  expect(new Set(answers)).toEqual(new Set([404]));
  expect(await logged("config reload rejected", 1)).toHaveLength(1);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  await reading;
});
