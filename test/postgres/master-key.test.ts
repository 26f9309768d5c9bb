// Provider credentials in a shared database: each node has a copy of the master key, and no node seals what others cannot open.
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
const REPLICATE = "r8_canary-of-replicate:s3cr3t";
const MASTER = "provider-keys.master";
const COPY_IT =
  /^error: .*provider-keys\.master: the master key [0-9a-f]{12} of the fal key pk_\w+ is not in it; copy provider-keys\.master from a node/;

onPostgres("provider credentials in a shared database", () => {
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
  /** The credentials that a node with this directory can open, by provider account. */
  const openedAt = async (dir: string): Promise<Record<string, string>> =>
    Object.fromEntries((await kept()).map((row) => [row.account, createVault(dir, true).open(row.account, row)]));
  const master = (dir: string) => readFileSync(join(dir, MASTER), "utf8");
  const copyMaster = (from: string, to: string) => copyFileSync(join(from, MASTER), join(to, MASTER));

  test("a node without the master key creates no other one, and names the file that it lacks", async () => {
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

  test("credentials can be dropped and set again when no node has the master key any more", async () => {
    await setKey(one, "fal", FAL);
    expect((await setKey(two, "fal", FAL)).err).toContain("genrouter providers drop-key fal");
    expect((await run(two, ["providers", "drop-key", "fal"])).exit).toBe(0);
    expect((await setKey(two, "fal", FAL)).exit).toBe(0);
    expect(await openedAt(two)).toEqual({ fal: FAL });
  });

  test("rotate-master-key is rejected while another node is open, names that node and changes nothing", async () => {
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

  test("after a rotation, a node starts only with a copy of the new master key, which also opens former credentials", async () => {
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
    // Older master keys are not kept.
    for (let n = 0; n < 3; n += 1) expect((await run(one, ["providers", "rotate-master-key"])).exit).toBe(0);
    expect(master(one).trim().split("\n")).toHaveLength(2);
  });

  test("a running node reports a credential that it cannot open, keeps reloaded ones, and uses it once the file is copied", async () => {
    const bucket = await openTestBucket(() => Date.now());
    const settingsWith = (key: string) =>
      readSettings({
        ...{ GENROUTER_STORE__URL: url, GENROUTER_DATA__DIR: one, GENROUTER_SERVER__PORT: "0", FAL_KEY: key, ...bucket.settings },
      });
    const reported: string[] = [];
    const telemetry = testTelemetry(
      (event, { reason } = {}) => void (event === "credential decryption failed" && reported.push(String(reason))),
    );
    const service = await createServer(settingsWith("first"), { simulate: false, telemetry });
    onTestFinished(async () => {
      await service.drain();
      await bucket.close();
    });
    expect(await service.reload(settingsWith("second"))).toMatchObject({ rekeyed: ["fal"] });
    expect((await setKey(two, "replicate", REPLICATE)).exit).toBe(0);
    const [why] = await eventually(() => reported.length > 0 && reported, "a report of the credential");
    expect(why).toMatch(/of the replicate key pk_\w+ is not in it; copy provider-keys\.master from a node/);
    expect(service.providers.configured("replicate")).toBe(false);
    copyMaster(two, one);
    // fal is not rekeyed again: the change of another node's credential has not restored the key of the start.
    expect(await service.reload(settingsWith("second"))).toMatchObject({ rekeyed: ["replicate"] });
    expect(service.providers.configured("replicate")).toBe(true);
  });
});

test("a running node keeps the former credential when it cannot open the new one, and reports it once; a start is rejected", () => {
  const [here, there] = [createVault(freshDir(), true), createVault(freshDir(), true)];
  const rowOf = (vault: typeof here, account: string, key: string) => ({ account, ...vault.seal(account, key, []), setAtMs: 1 });
  const reported: string[] = [];
  const keyring = createCredentials({
    settings: () => readSettings({}),
    vault: here,
    onReport: (why) => reported.push(why),
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
  expect(reported).toEqual([expect.stringContaining("of the fal key"), expect.stringContaining("of the bfl key")]);
  for (const why of reported) expect(why).toContain("copy provider-keys.master from a node that has it");
  expect(() => keyring.first(after)).toThrow(BadSetting);
});

test("a vault of one directory seals a credential although it cannot open another one", () => {
  const [dir, other] = [freshDir(), freshDir()];
  const lost = { account: "fal", ...createVault(other).seal("fal", FAL, []) };
  const vault = createVault(dir);
  expect(vault.open("replicate", vault.seal("replicate", REPLICATE, [lost]))).toBe(REPLICATE);
});
