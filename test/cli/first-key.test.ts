// A start with one provider key, from the environment, a file or the vault, and starts whose key cannot be read.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import { createVault } from "../../src/providers/vault.ts";
import { openDirectory } from "../store/open-store.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const CANARY = "canary-81c2:f1rst-k3y";

/** Writes the text to a key file. */
const fileOf = (text: string): string => {
  const file = join(freshDir(), "fal.key");
  writeFileSync(file, text);
  return file;
};
/** The models that a service with this environment lists. */
const modelsOf = async (dir: string, env: Record<string, string> = {}): Promise<string[]> => {
  const settings = readSettings({ ...env, GENROUTER_DATA__DIR: dir, GENROUTER_SERVER__PORT: "0" });
  const service = await createServer(settings, { simulate: false, telemetry: testTelemetry() });
  try {
    const list = (await (await fetch(`${service.url}/v1/models`)).json()) as { data: { id: string }[] };
    return list.data.map(({ id }) => id);
  } finally {
    await service.drain();
  }
};
/** The models of the catalogue with a route at fal. */
const atFal = async (): Promise<string[]> => {
  const { out } = await runHere(["models", "--all", "--json", "--data", join(freshDir(), "none")], { FAL_KEY: CANARY });
  type Listed = { id: string; routes: { provider: string; available: boolean }[] };
  const models = (JSON.parse(out) as Listed[]).filter(({ routes }) => routes.some(({ available }) => available));
  return models.map(({ id }) => id);
};

describe("a service with one provider key", () => {
  test("lists exactly the models of that provider when the key is in the environment", async () => {
    expect(await modelsOf(join(freshDir(), "data"), { FAL_KEY: CANARY })).toEqual(await atFal());
  });

  test("lists exactly the models of that provider when the key is in a file", async () => {
    const env = { GENROUTER_PROVIDERS__FAL__KEY_FILE: fileOf(`${CANARY}\n`) };
    expect(await modelsOf(join(freshDir(), "data"), env)).toEqual(await atFal());
  });

  test("lists the models of that provider when the key is in the vault, and none after drop-key", async () => {
    const dir = join(freshDir(), "data");
    const kept = await runHere(["providers", "set-key", "fal", "--file", fileOf(CANARY), "--data", dir]);
    expect(kept.exit as number).toBe(0);
    expect(await modelsOf(dir)).toEqual(await atFal());
    await runHere(["providers", "drop-key", "fal", "--data", dir]);
    expect(await modelsOf(dir)).toEqual([]);
  });
});

test.each<[string, Record<string, string>, RegExp]>([
  ["a missing key file", { GENROUTER_PROVIDERS__FAL__KEY_FILE: "/no/such/file" }, /^error: .*\/no\/such\/file cannot be read/],
  [
    "an empty key file",
    { GENROUTER_PROVIDERS__FAL__KEY_FILE: "/dev/null" },
    /^error: .*\/dev\/null is empty; it must contain only the key/,
  ],
])("serve exits with 2, prints one line and creates no directory with %s", async (_, env, reported) => {
  const dir = join(freshDir(), "data");
  const { exit, err } = await runHere(["serve", "--port", "0", "--data", dir], env);
  expect([exit as number, err]).toEqual([2, expect.stringMatching(reported)]);
  expect(err.trimEnd()).not.toContain("\n");
  expect(existsSync(dir)).toBe(false);
});

test("a service ignores a stored key of a provider that no longer has a dialect", async () => {
  const dir = join(freshDir(), "data");
  const store = await openDirectory({ dir, mode: "live" });
  await store.commit([{ mutation: "set-provider-key", account: "gone", ...createVault(dir).seal("gone", CANARY, []), atMs: 1 }]);
  await store.close();
  expect(await modelsOf(dir)).toEqual([]);
});
