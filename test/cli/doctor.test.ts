// `genrouter doctor`: the tests cause each fault and expect its finding and its fix.
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readManifest } from "../../src/backup/manifest.ts";
import { databaseFindings } from "../../src/cli/doctor/database.ts";
import { clockFindings } from "../../src/cli/doctor/host.ts";
import { createVault } from "../../src/providers/vault.ts";
import { inspectDatabase } from "../../src/store/sqlite/health.ts";
import { mountSmallDisk } from "../disk-faults/disks.ts";
import { admit, openAccount, startedMutation } from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { FIRST_START, makePreRelease } from "../store/pre-release.ts";
import { runHere } from "./captured.ts";
import { doctor, has, KEYED } from "./diagnosis.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

let dir: string;
beforeEach(async () => {
  dir = freshDir();
  await runHere(["accounts", "create", "--name", "a", "--credit-usd", "5", "--data", dir]);
});
afterAll(dropDirs);

const change = (...sql: string[]) => {
  const db = new Database(join(dir, "genrouter.db"));
  for (const one of sql) db.run(one);
  db.close();
};

test("doctor reports no fault and every area for a healthy directory, as JSON and as text", async () => {
  const findings = await doctor(dir);
  expect(findings.filter(({ level }) => level === "fault")).toEqual([]);
  expect(new Set(findings.map(({ area }) => area))).toEqual(
    new Set([
      "settings",
      "directory",
      "disk",
      "clock",
      ...(process.platform === "linux" ? ["descriptors"] : []),
      "media",
      "descriptors",
      "database",
      "log",
      "ledger",
      "parked",
      "orphans",
      "backups",
      "catalogue",
      "keys",
      "routes",
      "service",
    ]),
  );
  has(findings, "database", "ok", /^schema \d+, .* created for real providers/);
  if (process.platform === "linux") has(findings, "media", "ok", /bounded in memory, time and system calls/);
  has(findings, "ledger", "ok", /^balanced: \$5\.00 available/);
  has(findings, "service", "warning", /no service is running on/, /^genrouter serve --data/);
  has(await doctor(dir, KEYED, ["--deep"]), "ledger", "ok", /all thirteen invariants hold/);
  const { exit, out } = await runHere(["doctor", "--data", dir], KEYED);
  expect([exit as number, out]).toEqual([
    0,
    expect.stringMatching(/^✔ settings .*\n! backups .*\n {13}→ set GENROUTER_BACKUP__DIR/ms),
  ]);
});

test("doctor recommends the first steps when there is no data directory, and creates nothing", async () => {
  dir = join(freshDir(), "none");
  const findings = await doctor(dir, {});
  has(findings, "directory", "warning", /does not exist yet/, /genrouter accounts create --name NAME --data .* creates it/);
  has(
    findings,
    "routes",
    "warning",
    /none of \d+ is available/,
    /genrouter providers set-key PROVIDER, or start with --simulate/,
  );
  expect(existsSync(dir)).toBe(false);
});

describe("doctor on settings", () => {
  test("reports a setting with an invalid value and one with an unknown name", async () => {
    has(
      await doctor(dir, { GENROUTER_BACKUP__AT: "noon" }),
      "settings",
      "fault",
      /GENROUTER_BACKUP__AT/,
      /correct the variable or the flag/,
    );
    has(await doctor(dir, { GENROUTER_NO__SUCH: "1" }), "settings", "fault", /is not a setting/);
  });
  test("reports a variable that makes the runtime print credentials", async () => {
    has(
      await doctor(dir, { ...KEYED, BUN_CONFIG_VERBOSE_FETCH: "curl" }),
      "settings",
      "fault",
      /prints the providers' credentials/,
      /unset BUN_CONFIG/,
    );
  });
  test("reports an unknown provider and a missing catalogue directory", async () => {
    has(await doctor(dir, { GENROUTER_PROVIDERS__ACME__KEY: "canary-key" }), "catalogue", "fault", /there is no such provider/);
    has(await doctor(dir, { ...KEYED, GENROUTER_CATALOGUE__DIR: join(dir, "none") }), "catalogue", "fault", /none/);
  });
});

test("doctor reports a bucket whose settings are missing", async () => {
  const bucket = { ...KEYED, GENROUTER_FILES__STORE: "s3" };
  has(await doctor(dir, bucket), "files", "fault", /S3|s3/i, /genrouter config check/);
});

describe("doctor on the machine", () => {
  test("reports a directory and a file that other users can read", async () => {
    chmodSync(dir, 0o755);
    chmodSync(join(dir, "genrouter.db"), 0o644);
    const findings = await doctor(dir);
    has(findings, "directory", "warning", /other users can read/, /^chmod 700 /);
    has(findings, "directory", "fault", /other users can read genrouter\.db/, /^chmod 600 .*genrouter\.db$/);
  });
  test.skipIf(process.getuid?.() !== 0)("reports a file that belongs to another user", async () => {
    chownSync(join(dir, "genrouter.db"), 12_345, 12_345);
    has(await doctor(dir), "directory", "fault", /genrouter\.db belongs to user 12345/, /^chown -R 0 /);
  });
  test("reports a data directory that is a file", async () => {
    dir = join(dir, "file");
    writeFileSync(dir, "");
    has(await doctor(dir), "directory", "fault", /is not a directory/, /--data/);
  });
  test("reports a disk without free space for backups or data", async () => {
    const disk = mountSmallDisk("8m");
    if (typeof disk === "string") return void process.stderr.write(`not tested here: ${disk}\n`);
    try {
      has(
        await doctor(dir, { ...KEYED, GENROUTER_BACKUP__DIR: disk.path }),
        "disk",
        "fault",
        /only .* free for backups/,
        /GENROUTER_BACKUP__DIR/,
      );
      dir = disk.path;
      has(await doctor(dir), "disk", "fault", /only .* free for data/, /GENROUTER_DATA__DIR/);
    } finally {
      disk.drop();
    }
  });
  test("reports a clock that went backwards and a clock that is not set", async () => {
    change(`UPDATE meta SET value = '${Date.now() + 60_000}' WHERE name = 'last_seen_ms'`);
    has(await doctor(dir), "clock", "warning", /\d+ s ahead of the machine's, which moved backwards/, /timedatectl set-ntp true/);
    change(`UPDATE meta SET value = '${Date.now() + 86_400_000}' WHERE name = 'last_seen_ms'`);
    has(await doctor(dir), "clock", "fault", /which moved backwards/);
    has(clockFindings(0, null), "clock", "fault", /1970-01-01/, /timedatectl/);
  });
});

describe("doctor on the database", () => {
  test("reports a missing database, a schema of before the first release, and a schema of a newer release", async () => {
    rmSync(join(dir, "genrouter.db"));
    has(await doctor(dir), "directory", "warning", /there is no database/);
    makePreRelease(join(dir, "genrouter.db"), FIRST_START);
    has(
      await doctor(dir),
      "database",
      "warning",
      /of a build before the first release/,
      /start the service; it creates and verifies a copy/,
    );
    change("PRAGMA user_version = 99");
    has(await doctor(dir), "database", "fault", /the database has schema 99/, /newer release/);
  });
  test("reports a missing write-ahead log, a damaged database, and a file that is not a database", async () => {
    const path = join(dir, "genrouter.db");
    writeFileSync(join(dir, "log-in-use"), "");
    rmSync(`${path}-wal`, { force: true });
    has(await doctor(dir), "database", "fault", /genrouter\.db-wal is missing/, /genrouter backup restore/);
    rmSync(join(dir, "log-in-use"));
    const bytes = Buffer.from(await Bun.file(path).arrayBuffer());
    bytes.fill(0xff, 4096 * 3, 4096 * 6);
    writeFileSync(path, bytes);
    has(await doctor(dir), "database", "fault", /damaged|malformed/, /restore a backup/);
    writeFileSync(path, "no database at all".repeat(400));
    has(await doctor(dir), "database", "fault", /cannot be read/, /restore a backup/);
  });
  test("reports a balance that was changed by hand, and a deleted row only with --deep", async () => {
    change("DROP TRIGGER balance_follows_transfer", "UPDATE balance SET available_credits = available_credits + 100");
    has(await doctor(dir), "ledger", "fault", /\$1\.00 more on the accounts/, /genrouter verify/);
    change("UPDATE balance SET available_credits = available_credits - 100", "DELETE FROM writer_epoch");
    has(await doctor(dir), "ledger", "ok", /^balanced/);
    has(
      await doctor(dir, KEYED, ["--deep"]),
      "ledger",
      "fault",
      /violate the invariants, the first \(sound store/,
      /genrouter verify/,
    );
  });
  test("warns of a large write-ahead log, and reports one that a killed process left", () => {
    const health = inspectDatabase(dir, false);
    has(
      databaseFindings({ ...health, logBytes: 300 * 1024 * 1024 }, null, true),
      "log",
      "warning",
      /prevents its checkpoint/,
      /end long reads/,
    );
    has(databaseFindings({ ...health, isMarked: true }, null, false), "log", "ok", /did not exit cleanly/);
  });
  test("reports a parked generation and an orphan with the commands for each", async () => {
    dir = freshDir();
    const store = await openDirectory({ dir, mode: "live" });
    const account = await openAccount(store, 1000);
    const [parked, lost] = [await admit(store, account), await admit(store, account)];
    await store.commit([startedMutation(parked), startedMutation(lost)]);
    await store.close();
    change(
      `UPDATE snapshot SET state = 'running.parked', deadline_kind = NULL, deadline_attempt_no = NULL, deadline_at_ms = NULL WHERE generation_seq = ${parked.seq}`,
      `UPDATE attempt SET state = 'lost', ended_at_ms = 1 WHERE generation_seq = ${lost.seq}`,
    );
    const findings = await doctor(dir);
    has(
      findings,
      "parked",
      "fault",
      new RegExp(`are parked, the first ${parked.id}`),
      new RegExp(`^genrouter generations parked .* retry ${parked.id} resolves it$`),
    );
    has(findings, "orphans", "warning", /1 attempt may have been billed without a charge, at most \$0\.75/, /^genrouter orphans/);
  });
});

describe("doctor on backups", () => {
  const env = () => ({ ...KEYED, GENROUTER_BACKUP__DIR: join(dir, "../", `${dir.split("/").at(-1)}-backups`) });
  const createdIn = async () => {
    const place = env().GENROUTER_BACKUP__DIR;
    const { out } = await runHere(["backup", "create", place, "--data", dir, "--json"]);
    return { place, path: String(JSON.parse(out).path) };
  };
  test("warns when backups are not configured or missing, accepts a recent one, and reports a damaged one", async () => {
    has(await doctor(dir), "backups", "warning", /no nightly backups are created/, /GENROUTER_BACKUP__DIR/);
    has(await doctor(dir, env()), "backups", "warning", /does not exist yet/, /^genrouter backup create/);
    const { place, path } = await createdIn();
    has(await doctor(dir, env()), "backups", "ok", /the newest verified one is 0 min old/);
    has(await doctor(dir, env()), "backups", "warning", /is on the disk of the data/, /another disk/);
    rmSync(join(path, "genrouter.db"));
    has(await doctor(dir, env()), "backups", "fault", /is damaged: genrouter\.db is missing/, /genrouter backup create/);
    has(await doctor(dir, env()), "backups", "warning", /no verified backup in/, /genrouter backup create/);
    rmSync(place, { recursive: true });
  });
  test("warns when the newest backup is older than a day", async () => {
    const { place, path } = await createdIn();
    const { printManifest } = await import("../../src/backup/manifest.ts");
    const at = join(path, "manifest.json");
    const manifest = readManifest(Buffer.from(await Bun.file(at).arrayBuffer()), path);
    writeFileSync(at, printManifest({ ...manifest, taken_at_ms: manifest.taken_at_ms - 3 * 86_400_000 }));
    has(
      await doctor(dir, env()),
      "backups",
      "warning",
      /no backup in the last 24 h; the newest verified one is 3 d old/,
      /genrouter backup create/,
    );
    rmSync(place, { recursive: true });
  });
});

describe("doctor on keys and routes", () => {
  test("reports routes without any key, a key whose master key is missing, and a key file that cannot be read", async () => {
    has(await doctor(dir, {}), "routes", "fault", /none of \d+ is available/, /genrouter providers set-key/);
    const { id, sealed } = createVault(dir).seal("fal", "canary-key", []);
    change(`INSERT INTO provider_credential VALUES ('fal', '${id}', '${sealed}', 1)`);
    has(await doctor(dir, {}), "keys", "ok", /1 provider key can be read/);
    rmSync(join(dir, "provider-keys.master"));
    has(await doctor(dir, {}), "keys", "fault", /is not in it/, /^genrouter providers set-key fal$/);
    has(await doctor(dir, { GENROUTER_PROVIDERS__FAL__KEY_FILE: join(dir, "no-file") }), "keys", "fault", /cannot be read/);
  });
  test("reports a disabled route, an open circuit breaker with its reason, and routes that can lose money", async () => {
    const snapshot = JSON.stringify({
      ...{ value: "open", context: { openUntilMs: Date.now() + 60_000 } },
      why: { class: "balance", detail: "the account is empty" },
    });
    change(
      "INSERT INTO disabled_route VALUES ('vidmodel-2.0/fal', 'too dear', 1)",
      `INSERT INTO route_health VALUES ('sim-none', '{}', 1), ('vidmodel-2.0-fast/fal', '${snapshot}', 1)`,
    );
    const findings = await doctor(dir);
    has(findings, "routes", "warning", /vidmodel-2\.0\/fal is off: too dear/, /^genrouter routes enable vidmodel-2\.0\/fal/);
    has(
      findings,
      "routes",
      "fault",
      /vidmodel-2\.0-fast\/fal is down: balance: the account is empty/,
      /^add credit with the provider, then genrouter routes test vidmodel-2\.0-fast\/fal$/,
    );
    const { GENROUTER_PROVIDERS__MODELARK__KEY = "k" } = {};
    has(
      await doctor(dir, { ...KEYED, GENROUTER_PROVIDERS__MODELARK__KEY }),
      "routes",
      "warning",
      /can cost more than their price/,
      /genrouter routes list/,
    );
  });
});

test("doctor --deep does not change the database or leave files", async () => {
  utimesSync(join(dir, "genrouter.db"), 1, 1);
  const before = await Bun.file(join(dir, "genrouter.db")).text();
  await doctor(dir, KEYED, ["--deep"]);
  expect(await Bun.file(join(dir, "genrouter.db")).text()).toBe(before);
  expect(readdirSync(dir).filter((name) => !/^(genrouter\.db(-wal|-shm)?|lock\.db)$/.test(name))).toEqual([]);
});
