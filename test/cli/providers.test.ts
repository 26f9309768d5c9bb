// `genrouter providers` and `genrouter routes`: sealed keys in the vault, disabled routes, and how both are listed.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const CANARY = "canary-4f1d9c2b7a60:s3cr3t";

/** Creates a data directory with an account, and a file with a provider key. */
const open = async () => {
  const dir = join(freshDir(), "data");
  await runHere(["accounts", "create", "--name", "acme", "--data", dir]);
  const file = join(freshDir(), "fal.key");
  writeFileSync(file, `${CANARY}\n`);
  const run = async (...words: string[]) => runHere([...words, "--data", dir]);
  const json = async (...words: string[]) => {
    const { exit, out, err } = await run(...words, "--json");
    if (exit !== 0) throw new Error(err);
    return JSON.parse(out);
  };
  return { dir, file, run, json };
};
/** The bytes of all files in the directory, the master key included. */
const bytesIn = (dir: string): string =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");

type ProviderJson = { id: string; account: string; key: { from: string; id?: string } | null; routes: number; routes_up: number };
type RouteJson = { id: string; provider: string; state: string; reason: string | null };

describe("a provider's key", () => {
  test("is stored sealed, listed only by its id, and makes the provider's routes usable", async () => {
    const { dir, file, run, json } = await open();
    const before: ProviderJson[] = await json("providers", "list");
    expect(before.every(({ key, routes_up }) => key === null && routes_up === 0)).toBe(true);

    const made = await run("providers", "set-key", "fal", "--file", file);
    expect(made).toMatchObject({ exit: 0 });
    expect(made.out).toMatch(/^key pk_[0-9a-f]{10} of fal is stored\n$/);
    const fal = ((await json("providers", "list")) as ProviderJson[]).find(({ id }) => id === "fal");
    expect(fal).toMatchObject({ account: "fal", key: { from: "vault", id: made.out.split(" ")[1] } });
    expect(fal?.routes_up).toBe(fal?.routes ?? 0);
    expect(fal?.routes).toBeGreaterThan(10);

    for (const said of [made, await run("providers", "list"), await run("routes", "list")])
      expect(said.out + said.err).not.toContain("s3cr3t");
    expect(bytesIn(dir)).not.toContain("s3cr3t");
  });

  test("belongs to the provider account when it is set by the name of one of its interfaces", async () => {
    const { file, run, json } = await open();
    expect((await run("providers", "set-key", "gemini-video", "--file", file)).out).toContain(" of gemini is stored");
    const keyed = ((await json("providers", "list")) as ProviderJson[]).filter(({ key }) => key !== null);
    expect(keyed.map(({ id }) => id)).toEqual(["gemini", "gemini-video"]);
    expect((await run("routes", "list", "--provider", "unknown")).exit).toBe(4);
  });

  test("is sealed under a new master key by rotate-master-key, and cannot be opened with the former one", async () => {
    const { dir, file, run, json } = await open();
    await run("providers", "set-key", "fal", "--file", file);
    const master = () => readFileSync(join(dir, "provider-keys.master"), "utf8");
    const idOfKey = async () => ((await json("providers", "list")) as ProviderJson[]).find(({ id }) => id === "fal")?.key?.id;
    const [before, idBefore] = [master(), await idOfKey()];
    expect(await json("providers", "rotate-master-key")).toEqual({ accounts: ["fal"] });
    expect(master().split("\n")).toHaveLength(2);
    expect(master()).not.toBe(before);
    expect(await idOfKey()).not.toBe(idBefore);
    expect((await json("routes", "list")).filter(({ state }: RouteJson) => state === "up").length).toBeGreaterThan(10);

    writeFileSync(join(dir, "provider-keys.master"), before);
    const lost = await run("providers", "rotate-master-key");
    expect(lost).toMatchObject({ exit: 78, err: expect.stringContaining("genrouter providers set-key fal") });
    expect(master()).toBe(before);
  });

  test("replaces the stored key, ranks below a key in the settings, and is removed by drop-key", async () => {
    const { dir, file, run, json } = await open();
    const [one, two] = [
      await run("providers", "set-key", "fal", "--file", file),
      await run("providers", "set-key", "fal", "--file", file),
    ];
    expect(one.out).not.toBe(two.out);
    const rows = new Database(join(dir, "genrouter.db"), { readonly: true })
      .query("SELECT account, id FROM provider_credential")
      .all();
    expect(rows).toEqual([{ account: "fal", id: two.out.split(" ")[1] }]);

    const shadowed = await runHere(["providers", "set-key", "fal", "--file", file, "--data", dir], {
      FAL_KEY: "from-the-environment",
    });
    expect(shadowed.err).toContain("the configured credential takes precedence");
    expect(shadowed.out + shadowed.err).not.toContain("from-the-environment");

    expect((await run("providers", "drop-key", "fal")).exit).toBe(0);
    expect(((await json("providers", "list")) as ProviderJson[]).find(({ id }) => id === "fal")?.key).toBeNull();
    expect(await run("providers", "drop-key", "fal")).toMatchObject({
      exit: expect.any(Number),
      err: expect.stringContaining("no key of fal"),
    });
  });

  test("of an account applies to all interfaces of the account", async () => {
    const { file, run, json } = await open();
    await run("providers", "set-key", "gemini", "--file", file);
    const with_ = ((await json("providers", "list")) as ProviderJson[]).filter(({ key }) => key !== null).map(({ id }) => id);
    expect(with_).toEqual(["gemini", "gemini-video"]);
  });

  test("of one interface in the settings applies to that interface only", async () => {
    const { dir, file } = await open();
    for (const name of ["KEY", "KEY_FILE"]) {
      const value = name === "KEY" ? CANARY : file;
      const env = { [`GENROUTER_PROVIDERS__GEMINI_VIDEO__${name}`]: value };
      const { out } = await runHere(["providers", "list", "--json", "--data", dir], env);
      const rows = (JSON.parse(out) as ProviderJson[]).filter(({ id }) => id.startsWith("gemini"));
      expect(rows.map(({ id, key, routes_up }) => [id, key?.from, routes_up > 0])).toEqual([
        ["gemini", undefined, false],
        ["gemini-video", name === "KEY" ? "settings" : "file", true],
      ]);
    }
  });

  test("is rejected with a message when the provider, the file or the characters of the key are invalid", async () => {
    const { file, run, json } = await open();
    const refusals: [words: string[], printed: RegExp][] = [
      [["providers", "set-key", "nope", "--file", file], /there is no provider account nope\n.*there are bfl, /s],
      [["providers", "set-key", "fal", "--file", join(file, "x")], /--file: /],
    ];
    for (const [words, reported] of refusals) {
      const { exit, err } = await run(...words);
      expect(exit).not.toBe(0);
      expect(err).toMatch(reported);
      expect(err).not.toContain("s3cr3t");
    }
    for (const [text, received] of [
      ["\n", /^error: .*fal\.key has no key; .*--file\n$/],
      ["s3cr3t".repeat(2000), /^error: .*fal\.key is longer than 8192; a key has at most that many characters\n$/],
    ] as const) {
      writeFileSync(file, text);
      const { exit, err } = await run("providers", "set-key", "fal", "--file", file);
      expect([exit as number, err]).toEqual([2, expect.stringMatching(received)]);
    }
    writeFileSync(file, "two words of s3cr3t");
    const { exit, err } = await run("providers", "set-key", "fal", "--file", file);
    expect(exit).not.toBe(0);
    expect(err).toContain("expected printable ASCII without spaces");
    expect(err).not.toContain("s3cr3t");
    expect(((await json("providers", "list")) as ProviderJson[]).every(({ key }) => key === null)).toBe(true);
  });

  test("is rejected, and not printed, when it is a command-line argument", async () => {
    const { run, json } = await open();
    for (const flags of [[], ["--json"]]) {
      const { exit, out, err } = await run("providers", "set-key", "fal", CANARY, ...flags);
      expect([exit as number, out]).toEqual([2, ""]);
      expect(err).toContain("standard input or with --file");
      expect(err).not.toContain("s3cr3t");
    }
    expect(((await json("providers", "list")) as ProviderJson[]).every(({ key }) => key === null)).toBe(true);
  });

  test("is read from a file that the settings name", async () => {
    const { dir, file } = await open();
    const list = await runHere(["providers", "list", "--json", "--data", dir], { GENROUTER_PROVIDERS__FAL__KEY_FILE: file });
    expect((JSON.parse(list.out) as ProviderJson[]).find(({ id }) => id === "fal")?.key).toMatchObject({ from: "file" });
  });
});

describe("a route", () => {
  test("is listed with its reason after routes disable, and is up again after routes enable", async () => {
    const { file, run, json } = await open();
    await run("providers", "set-key", "fal", "--file", file);
    const routes: RouteJson[] = await json("routes", "list", "--provider", "fal");
    const [{ id } = { id: "" }] = routes;
    expect(routes.every(({ provider, state }) => provider === "fal" && state === "up")).toBe(true);

    expect(await json("routes", "disable", id, "--reason", "too dear")).toMatchObject({ id, state: "off", reason: "too dear" });
    expect((await run("routes", "list", "--provider", "fal")).out).toContain("off: too dear");
    const listed = (await json("models", "--all")) as { routes: { id: string; available: boolean; reason: string | null }[] }[];
    expect(listed.flatMap((model) => model.routes).find((route) => route.id === id)).toEqual({
      ...{ id, provider: "fal", available: false, reason: "disabled: too dear" },
    });

    expect(await json("routes", "enable", id)).toMatchObject({ id, state: "up", reason: null });
    expect((await run("routes", "disable", "no/such")).err).toContain("there is no route no/such");
  });
});

test("models --all lists every model without a data directory, and the missing condition of each unavailable route", async () => {
  const { exit, out } = await runHere(["models", "--all", "--json", "--data", join(freshDir(), "none")], { FAL_KEY: "x" });
  expect(exit).toBe(0);
  const models = JSON.parse(out) as { id: string; routes: { provider: string; available: boolean; reason: string | null }[] }[];
  expect(models.length).toBeGreaterThan(60);
  for (const { id, routes } of models)
    for (const { provider, available, reason } of routes) {
      const isSimulated = id.startsWith("sim-");
      expect(available).toBe(provider === "fal" && !isSimulated);
      const missing = isSimulated ? "available in the simulator only" : "there is no key of its provider";
      expect(reason).toBe(available ? null : missing);
    }
});
