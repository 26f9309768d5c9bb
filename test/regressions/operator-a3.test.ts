// operator.md A3: doctor, verify and the other reads tell of the service that runs, not of a file it has left or of this shell's settings.
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

/** The control socket of a service in a directory, which says that it has these settings. */
const served = (dir: string, admin: Parameters<typeof openControl>[1], url: string, settings: Settings) =>
  openControl(
    ...([dir, admin, { url, mode: "test", version: "0.0.0", pid: process.pid }, () => undefined] as const),
    ...([createRuntimeStats(() => COUNTS), null, () => settings] as const),
  );

test("a directory whose rows were moved is read by no command, and each says where they are", async () => {
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
    expect(err).toContain("was moved to postgres://db.example/genrouter");
  }
  const findings = await doctor(dir);
  has(findings, "database", "fault", /was moved to postgres:\/\/db\.example\/genrouter/, /GENROUTER_STORE__URL/);
  expect(findings.filter(({ area }) => area === "ledger" || area === "orphans")).toEqual([]);
});

test("the doctor judges the settings of the service that runs, whatever is set where it is called", async () => {
  const dir = freshDir();
  const harness = await openHarness({ dir });
  const bucket = await openTestBucket(() => Date.now());
  const settings = readSettings({
    ...{ ...KEYED, GENROUTER_DATA__DIR: dir, GENROUTER_FILES__STORE: "s3" },
    ...bucket.settings,
  });
  const close = served(dir, await harness.admin(), harness.own, settings);
  const findings = await doctor(dir, {});
  has(findings, "settings", "ok", /those of the running service/);
  has(findings, "files", "ok", /the bucket results answers/);
  has(findings, "service", "ok", /ready/);
  await close();
  await harness.crash();
  await bucket.close();
});

describe("a bucket", () => {
  const at = async (more: Record<string, string>) => {
    const dir = freshDir();
    await accountIn(dir);
    return doctor(dir, { ...KEYED, GENROUTER_FILES__STORE: "s3", ...more });
  };

  test("that answers, refuses a rotated secret, or cannot be reached is told as such", async () => {
    const bucket = await openTestBucket(() => Date.now());
    has(await at(bucket.settings), "files", "ok", /the bucket results answers/);
    const rotated = { ...bucket.settings, GENROUTER_S3__SECRET_KEY: "rotated" };
    has(await at(rotated), "files", "fault", /refuses \(SignatureDoesNotMatch\)/, /GENROUTER_S3__SECRET_KEY/);
    await bucket.close();
    has(await at(bucket.settings), "files", "fault", /cannot be reached/);
  });
});

describe.skipIf(postgresReason !== undefined)("a service over PostgreSQL", () => {
  test("the doctor looks at its database, ledger, nodes and orphans, and advises no backup directory", async () => {
    const harness = await openHarnessOfNodes(2);
    const id = (await harness.submit("sim-image-1", { prompt: "a kite" })).id;
    await harness.until(id);
    const dir = freshDir();
    mkdirSync(dir, { recursive: true });
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: harness.databaseUrl });
    has(findings, "database", "ok", /^PostgreSQL at .* made for the simulator/);
    has(findings, "nodes", "ok", /^2 nodes alive: /);
    has(findings, "ledger", "ok", /^balanced: .*charged/);
    has(findings, "parked", "ok", /no generation waits/);
    has(findings, "orphans", "ok", /none/);
    expect(JSON.stringify(findings)).not.toContain("GENROUTER_BACKUP__DIR");
    expect(findings.filter(({ area, level }) => area === "directory" && level !== "ok")).toEqual([]);
    await harness.close();
  });

  test("commands on a node whose unit alone knows the database read that one, not the directory's file", async () => {
    const harness = await openHarnessOfNodes(1);
    const dir = freshDir();
    // The file that was there before the move.
    await accountIn(dir);
    const settings = readSettings({ GENROUTER_DATA__DIR: dir, GENROUTER_STORE__URL: harness.databaseUrl });
    const close = served(dir, await harness.admin(), harness.own, settings);
    const { out } = await runHere(["nodes", "--data", dir, "--json"]);
    expect(JSON.parse(out)).toMatchObject({ shared: true, served: true });
    const verified = await runHere(["verify", "--data", dir, "--json"]);
    expect(JSON.parse(verified.out)).toMatchObject({ ok: true });
    has(await doctor(dir, {}), "database", "ok", /^PostgreSQL at /);
    await close();
    await harness.close();
  });

  test("a database that does not answer is a fault that names host and port", async () => {
    const dir = freshDir();
    mkdirSync(dir, { recursive: true });
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: "postgres://g:secret@127.0.0.1:1/genrouter" });
    has(findings, "database", "fault", /127\.0\.0\.1:1/);
    expect(JSON.stringify(findings)).not.toContain("secret");
  });

  test("operator's path: a database that is still empty is no fault, and the command that begins with it is named", async () => {
    const server = await openServer();
    const dir = freshDir();
    const findings = await doctor(dir, { ...KEYED, GENROUTER_STORE__URL: server.url("postgres") });
    has(findings, "database", "warning", /^PostgreSQL at .* answers, and nothing of a service is in it yet/, /^genrouter serve /);
    await server.stop();
  });
});
