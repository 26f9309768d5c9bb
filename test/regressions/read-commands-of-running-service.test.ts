// Read commands report on the running service, whatever its database and settings are.
//
// They ignore a SQLite file that was migrated to PostgreSQL, and the settings of the calling shell.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createRuntimeStats } from "../../src/app/runtime-stats.ts";
import { openControl } from "../../src/cli/control.ts";
import { readSettings } from "../../src/config/load.ts";
import type { Settings } from "../../src/config/schema.ts";
import { markMigrated } from "../../src/store/sqlite/migrated-marker.ts";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { runHere } from "../cli/captured.ts";
import { doctor, has, KEYED } from "../cli/diagnosis.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openTestBucket } from "../files/s3/bucket.ts";
import { openHarness } from "../harness.ts";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openServer } from "../postgres/server.ts";

afterAll(dropDirs);
const COUNTS = { queued: 0, running: 0, live: 0, deadlines: 0, tasks: 0, writes: 0 };
const accountIn = async (dir: string) => runHere(["accounts", "create", "--name", "a", "--credit-usd", "5", "--data", dir]);

/** Opens the control socket of a service with these settings in a directory. */
const served = (dir: string, admin: Parameters<typeof openControl>[1], url: string, settings: Settings) =>
  openControl(
    ...([dir, admin, { url, mode: "test", version: "0.0.0", pid: process.pid }, () => undefined] as const),
    ...([createRuntimeStats(() => COUNTS), null, () => settings] as const),
  );

test("read commands reject a data directory that was migrated to PostgreSQL and print the address of the database", async () => {
  const dir = freshDir();
  await accountIn(dir);
  const db = openWriter(join(dir, "genrouter.db"));
  markMigrated(db, "postgres://db.example/genrouter", 1_767_225_600_000);
  db.close();
  const archive = join(freshDir(), "archive");
  for (const words of [
    ["verify"],
    ["orphans"],
    ["nodes"],
    ["generations", "parked"],
    ["purchases", "list"],
    ["archive", "--before", "1d", "--to", archive],
  ]) {
    const { exit, out, err } = await runHere([...words, "--data", dir]);
    expect([words[0], exit as number, out]).toEqual([words[0], 2, ""]);
    expect(err).toContain("was migrated to postgres://db.example/genrouter");
  }
  const findings = await doctor(dir);
  has(findings, "database", "fault", /was migrated to postgres:\/\/db\.example\/genrouter/, /GENROUTER_STORE__URL/);
  expect(findings.filter(({ area }) => area === "ledger" || area === "orphans")).toEqual([]);
});

test("doctor checks the settings of the running service instead of those of the calling shell", async () => {
  const dir = freshDir();
  const harness = await openHarness({ dir });
  const bucket = await openTestBucket(() => Date.now());
  const settings = readSettings({
    ...{ ...KEYED, GENROUTER_DATA__DIR: dir, GENROUTER_FILES__STORE: "s3" },
    ...bucket.settings,
  });
  const close = served(dir, await harness.admin(), harness.nodeUrl, settings);
  const findings = await doctor(dir, {});
  has(findings, "settings", "ok", /those of the running service/);
  has(findings, "files", "ok", /the bucket results responds/);
  has(findings, "service", "ok", /ready/);
  await close();
  await harness.crash();
  await bucket.close();
});

describe("doctor with a bucket", () => {
  const at = async (more: Record<string, string>) => {
    const dir = freshDir();
    await accountIn(dir);
    return doctor(dir, { ...KEYED, GENROUTER_FILES__STORE: "s3", ...more });
  };

  test("reports whether the bucket responds, rejects the secret key or cannot be reached", async () => {
    const bucket = await openTestBucket(() => Date.now());
    has(await at(bucket.settings), "files", "ok", /the bucket results responds/);
    const rotated = { ...bucket.settings, GENROUTER_S3__SECRET_KEY: "rotated" };
    has(await at(rotated), "files", "fault", /refuses \(SignatureDoesNotMatch\)/, /GENROUTER_S3__SECRET_KEY/);
    await bucket.close();
    has(await at(bucket.settings), "files", "fault", /cannot be reached/);
  });
});

describe.skipIf(postgresReason !== undefined)("with a service over PostgreSQL", () => {
  test("doctor checks database, ledger, nodes and orphans and suggests no backup directory", async () => {
    const harness = await openHarnessOfNodes(2);
    const id = (await harness.submit("sim-image-1", { prompt: "a kite" })).id;
    await harness.until(id);
    const dir = freshDir();
    mkdirSync(dir, { recursive: true });
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: harness.databaseUrl });
    has(findings, "database", "ok", /^PostgreSQL at .* created for the simulator/);
    has(findings, "nodes", "ok", /^2 nodes live: /);
    has(findings, "ledger", "ok", /^balanced: .*charged/);
    has(findings, "parked", "ok", /no generation waits/);
    has(findings, "orphans", "ok", /none/);
    expect(JSON.stringify(findings)).not.toContain("GENROUTER_BACKUP__DIR");
    expect(findings.filter(({ area, level }) => area === "directory" && level !== "ok")).toEqual([]);
    await harness.close();
  });

  test("commands read the database of the running service instead of the SQLite file in the data directory", async () => {
    const harness = await openHarnessOfNodes(1);
    const dir = freshDir();
    // Creates the SQLite file as it was before the store migration.
    await accountIn(dir);
    const settings = readSettings({ GENROUTER_DATA__DIR: dir, GENROUTER_STORE__URL: harness.databaseUrl });
    const close = served(dir, await harness.admin(), harness.nodeUrl, settings);
    const { out } = await runHere(["nodes", "--data", dir, "--json"]);
    expect(JSON.parse(out)).toMatchObject({ shared: true, served: true });
    const verified = await runHere(["verify", "--data", dir, "--json"]);
    expect(JSON.parse(verified.out)).toMatchObject({ ok: true });
    has(await doctor(dir, {}), "database", "ok", /^PostgreSQL at /);
    await close();
    await harness.close();
  });

  test("doctor reports an unreachable database as a fault with host and port and without the password", async () => {
    const dir = freshDir();
    mkdirSync(dir, { recursive: true });
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: "postgres://g:secret@127.0.0.1:1/genrouter" });
    has(findings, "database", "fault", /127\.0\.0\.1:1/);
    expect(JSON.stringify(findings)).not.toContain("secret");
  });

  test("doctor reports an empty database as a warning and names the command that initializes it", async () => {
    const server = await openServer();
    const dir = freshDir();
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: server.url("postgres") });
    has(findings, "database", "warning", /^PostgreSQL at .* responds and is empty/, /^genrouter serve /);
    await server.stop();
  });
});
