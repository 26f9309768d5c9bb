// Providers' keys in a database that nodes share, each with its own copy of the master key: no node seals what the others cannot open.
import { afterAll, beforeEach, expect, onTestFinished, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import { BadSetting } from "../../src/config/schema.ts";
import { createCredentials } from "../../src/providers/credentials.ts";
import { createVault } from "../../src/providers/vault.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { openPostgresReads } from "../../src/store/postgres/read-only-client.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { eventually } from "../eventually.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";
import { freshDatabase, onPostgres } from "./databases.ts";

afterAll(dropDirs);

const FAL = "canary-of-fal:s3cr3t";
const REPLICATE = "canary-of-replicate:s3cr3t";
const MASTER = "provider-keys.master";
const COPY_IT =
  /^error: .*provider-keys\.master: the master key [0-9a-f]{12} of the fal key pk_\w+ is not in it; copy provider-keys\.master from a node/;

onPostgres("the keys of providers", () => {
  let url = "";
  let one = "";
  let two = "";
  beforeEach(async () => {
    const database = await freshDatabase();
    onTestFinished(database.drop);
    [url, one, two] = [database.url, freshDir(), freshDir()];
  });
  const run = (dir: string, words: readonly string[], env: Record<string, string> = {}) =>
    runHere([...words, "--data", dir], { GENROUTER_STORE__URL: url, ...env });
  const setKey = (dir: string, account: string, key: string) => {
    const file = join(freshDir(), "key");
    writeFileSync(file, key);
    return run(dir, ["providers", "set-key", account, "--file", file]);
  };
  const kept = async () => {
    const reads = await openPostgresReads({ url, prepare: true });
    const rows = await reads.providerKeys();
    await reads.close();
    return rows;
  };
  /** What a node with this directory reads, by account. */
  const openedAt = async (dir: string): Promise<Record<string, string>> =>
    Object.fromEntries((await kept()).map((row) => [row.account, createVault(dir, true).open(row.account, row)]));
  const master = (dir: string) => readFileSync(join(dir, MASTER), "utf8");
  const copyMaster = (from: string, to: string) => copyFileSync(join(from, MASTER), join(to, MASTER));

  test("a node without the master key makes none of its own beside what others have sealed, and says which file it lacks", async () => {
    expect((await setKey(one, "fal", FAL)).exit).toBe(0);
    for (const account of ["replicate", "fal"]) {
      const { exit, err } = await setKey(two, account, REPLICATE);
      expect([exit as number, err]).toEqual([78, expect.stringMatching(COPY_IT)]);
      expect(err.trim().split("\n")).toHaveLength(1);
    }
    expect(existsSync(join(two, MASTER))).toBe(false);
    expect(await openedAt(one)).toEqual({ fal: FAL });
    copyMaster(one, two);
    expect((await setKey(two, "replicate", REPLICATE)).exit).toBe(0);
    for (const dir of [one, two]) expect(await openedAt(dir)).toEqual({ fal: FAL, replicate: REPLICATE });
  });

  test("where no node has the master key any more, the keys are forgotten and set again", async () => {
    await setKey(one, "fal", FAL);
    expect((await setKey(two, "fal", FAL)).err).toContain("genrouter providers drop-key fal");
    expect((await run(two, ["providers", "drop-key", "fal"])).exit).toBe(0);
    expect((await setKey(two, "fal", FAL)).exit).toBe(0);
    expect(await openedAt(two)).toEqual({ fal: FAL });
  });

  test("another master key is not made while a second node is alive, which is named, and nothing has changed", async () => {
    await setKey(one, "fal", FAL);
    const before = { file: master(one), rows: await kept() };
    const other = await openPostgresStore({ url, prepare: true, readers: 1 });
    const { exit, err } = await run(one, ["providers", "rotate-master-key"]);
    expect(exit).toBe(75);
    expect(err).toContain(`/${other.node?.slot}/${other.node?.epoch}`);
    expect(err).toContain("stop the other nodes, rotate, copy provider-keys.master to every node, start them");
    expect({ file: master(one), rows: await kept() }).toEqual(before);
    await other.close();
    expect((await run(one, ["providers", "rotate-master-key"])).exit).toBe(0);
  });

  test("after a rotation a node with the old file starts only with the new one, which opens what was sealed before, too", async () => {
    await setKey(one, "fal", FAL);
    copyMaster(one, two);
    const old = await kept();
    const rotated = await run(one, ["providers", "rotate-master-key"]);
    expect([rotated.exit as number, rotated.err]).toEqual([
      0,
      expect.stringContaining(`copy ${one}/provider-keys.master to every node`),
    ]);
    const [row] = old;
    expect(row && createVault(one, true).open(row.account, row)).toBe(FAL);

    const bucket = await openTestBucket(() => Date.now());
    onTestFinished(bucket.close);
    const start = await run(two, ["serve", "--port", "0"], bucket.settings);
    expect([start.exit as number, start.err]).toEqual([2, expect.stringMatching(COPY_IT)]);
    expect((await setKey(two, "replicate", REPLICATE)).err).toMatch(COPY_IT);

    copyMaster(one, two);
    expect(await openedAt(two)).toEqual({ fal: FAL });
    expect((await setKey(two, "replicate", REPLICATE)).exit).toBe(0);
    expect(await openedAt(one)).toEqual({ fal: FAL, replicate: REPLICATE });
    // Those of long ago are not kept for ever.
    for (let n = 0; n < 3; n += 1) expect((await run(one, ["providers", "rotate-master-key"])).exit).toBe(0);
    expect(master(one).trim().split("\n")).toHaveLength(2);
  });

  test("a running node hears of a key that it cannot open, names the file, keeps what a reload gave it, and takes the key with the file", async () => {
    const bucket = await openTestBucket(() => Date.now());
    const settingsWith = (key: string) =>
      readSettings({
        ...{ GENROUTER_STORE__URL: url, GENROUTER_DATA__DIR: one, GENROUTER_SERVER__PORT: "0", FAL_KEY: key, ...bucket.settings },
      });
    const told: string[] = [];
    const telemetry = testTelemetry(
      (event, { reason } = {}) => void (event === "credential decryption failed" && told.push(String(reason))),
    );
    const service = await createServer(settingsWith("first"), { simulate: false, telemetry });
    onTestFinished(async () => {
      await service.drain();
      await bucket.close();
    });
    expect(await service.reload(settingsWith("second"))).toMatchObject({ rekeyed: ["fal"] });
    expect((await setKey(two, "replicate", REPLICATE)).exit).toBe(0);
    const [why] = await eventually(() => told.length > 0 && told, "word of the key");
    expect(why).toMatch(/of the replicate key pk_\w+ is not in it; copy provider-keys\.master from a node/);
    expect(service.providers.configured("replicate")).toBe(false);
    copyMaster(two, one);
    // And not fal again: the news of another node's key has not put back the one of the start.
    expect(await service.reload(settingsWith("second"))).toMatchObject({ rekeyed: ["replicate"] });
    expect(service.providers.configured("replicate")).toBe(true);
  });
});

test("a running node that cannot open a key goes on with the one it had, takes all others, and says so once; a start is refused", () => {
  const [here, there] = [createVault(freshDir(), true), createVault(freshDir(), true)];
  const rowOf = (vault: typeof here, account: string, key: string) => ({ account, ...vault.seal(account, key, []), setAtMs: 1 });
  const told: string[] = [];
  const keyring = createCredentials({
    settings: () => readSettings({}),
    vault: here,
    onReport: (why) => told.push(why),
  });
  const keysOf = ({ providers }: ReturnType<typeof keyring.first>) => [
    providers.fal?.key,
    providers.replicate?.key,
    providers.bfl?.key,
  ];
  const before = [rowOf(here, "fal", FAL), rowOf(here, "replicate", "old")];
  expect(keysOf(keyring.first(before))).toEqual([FAL, "old", undefined]);

  const foreign = [rowOf(there, "fal", "new"), rowOf(there, "bfl", "new")];
  const after = [...foreign, rowOf(here, "replicate", REPLICATE)];
  for (let n = 0; n < 2; n += 1) expect(keysOf(keyring.next(after))).toEqual([FAL, REPLICATE, undefined]);
  expect(told).toEqual([expect.stringContaining("of the fal key"), expect.stringContaining("of the bfl key")]);
  for (const why of told) expect(why).toContain("copy provider-keys.master from a node that has it");
  expect(() => keyring.first(after)).toThrow(BadSetting);
});

test("a directory of its own takes a key as before, whatever else it cannot open", () => {
  const [dir, other] = [freshDir(), freshDir()];
  const lost = { account: "fal", ...createVault(other).seal("fal", FAL, []) };
  const vault = createVault(dir);
  expect(vault.open("replicate", vault.seal("replicate", REPLICATE, [lost]))).toBe(REPLICATE);
});
