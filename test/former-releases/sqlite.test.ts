// Directories, backups and archives of builds before the first release, over SQLite.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestOf } from "../../src/backup/check.ts";
import { MANIFEST_FILE, printManifest } from "../../src/backup/manifest.ts";
import { openDirectory as openArchive } from "../../src/store/archive/archive-storage.ts";
import { checkArchive } from "../../src/store/archive/check.ts";
import { manifestsIn } from "../../src/store/archive/format.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openDirectory } from "../store/open-store.ts";
import { expectedOf, FORMER, formerDirectory, formerFiles, RENAMED, saidBy, saidOf, valuesIn } from "./fixture.ts";

afterAll(dropDirs);

const objectsIn = (path: string) => {
  const db = new Database(path, { readonly: true });
  const found = db
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name",
    )
    .all();
  db.close();
  return found;
};
const versionOf = (path: string) => {
  const db = new Database(path, { readonly: true });
  const { user_version: version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get() ?? { user_version: -1 };
  db.close();
  return version;
};
const converted = async (dir: string): Promise<string> => {
  await (await openDirectory({ dir, mode: "test" })).close();
  return join(dir, "genrouter.db");
};

describe.each(FORMER)("a directory of $release", (former) => {
  test("starts after a checked copy, with the schema of a new directory", async () => {
    const dir = formerDirectory(former);
    const path = await converted(dir);
    expect(versionOf(path)).toBe(SCHEMA_VERSION);
    expect(versionOf(`${path}.before-${MIGRATIONS[0]?.version}`)).toBe(former.sqlite);
    expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
    expect(objectsIn(path)).toEqual(objectsIn(await converted(freshDir())));
  });

  test("keeps every value of every row", async () => {
    const dir = formerDirectory(former);
    const before = valuesIn(join(dir, "genrouter.db"));
    const after = valuesIn(await converted(dir));
    const reported = saidBy(former).sqlite.rows;
    for (const [table, rows] of before) {
      expect([table, rows.length]).toEqual([table, reported[table] ?? -1]);
      if (table === "migration") continue;
      // The opening of the test adds its epoch and the time that it was seen; columns of later steps are at the end.
      const now = (after.get(RENAMED[table] ?? table) ?? []).slice(0, table === "owner" ? rows.length : undefined);
      const width = rows[0]?.length ?? 0;
      const user = (values: unknown[]) =>
        table === "audit"
          ? values.map((value) =>
              typeof value === "string"
                ? value
                    .replace(/^(set-)?person$/, "$1user")
                    .replace('"personId":', '"userId":')
                    .replace('"movedCredits":', '"transferredCredits":')
                : value,
            )
          : values;
      const renamed = (values: unknown[]) =>
        table === "journal"
          ? values.map((value) => (value === "running.awaitingSeat" ? "running.awaitingSlot" : value))
          : user(values);
      if (table === "meta") expect(now.map(([name]) => name)).toEqual(rows.map(([name]) => name));
      else expect([table, now.map((values) => values.slice(0, width))]).toEqual([table, rows.map(renamed)]);
    }
  });

  test("has the balances, chains and statuses that the former build printed, and verifies clean", async () => {
    const dir = formerDirectory(former);
    const store = await openDirectory({ dir, mode: "test" });
    expect(await saidOf(store)).toEqual(expectedOf(saidBy(former).sqlite));
    const checks = await store.verify(null);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(checks).toHaveLength(13);
    await store.close();
  });

  test("is refused by commands that only read, until a service has converted it", async () => {
    const dir = formerDirectory(former);
    for (const words of [["verify"], ["orphans"], ["backup", "create", freshDir()]]) {
      const { exit, err } = await runHere([...words, "--data", dir]);
      expect(exit as number).not.toBe(0);
      expect(err).toMatch(
        /has schema \d of a build before the first release: start the service of this release once, which converts it/,
      );
    }
    expect(versionOf(join(dir, "genrouter.db"))).toBe(former.sqlite);
  });

  test("keeps a generation that waits for a slot, under the present name of its state", async () => {
    const dir = formerDirectory(former);
    const before = new Database(join(dir, "genrouter.db"));
    const memory = JSON.stringify({ v: 1, value: { running: "awaitingSeat" }, memory: {} });
    before.run(
      "UPDATE snapshot SET state = 'running.awaitingSeat', due_kind = 'seat', due_n = 0, snapshot = ?1 WHERE seq = (SELECT min(seq) FROM snapshot)",
      [memory],
    );
    before.close();
    // The events of the generation lead to another state, which verification reports.
    const store = await openDirectory({ dir, mode: "test" });
    const fault = await store.close().then(
      () => "closed",
      (reason: unknown) => String(reason),
    );
    expect(fault).toContain("the state of the snapshot differs from its event");
    const after = new Database(join(dir, "genrouter.db"), { readonly: true });
    expect(
      after
        .query(
          "SELECT state, deadline_kind, snapshot FROM snapshot WHERE generation_seq = (SELECT min(generation_seq) FROM snapshot)",
        )
        .get(),
    ).toEqual({
      state: "running.awaitingSlot",
      deadline_kind: "slot",
      snapshot: memory.replace("awaitingSeat", "awaitingSlot"),
    });
    after.close();
  });

  test("keeps tables and views that the operator added", async () => {
    const dir = formerDirectory(former);
    const before = new Database(join(dir, "genrouter.db"));
    before.run('CREATE TABLE "my notes" (text TEXT); INSERT INTO "my notes" VALUES (\'kept\')');
    before.run('CREATE VIEW "my-balances" AS SELECT available_credits FROM balance');
    before.close();
    const sums = saidBy(former).sqlite.sums;
    const store = await openDirectory({ dir, mode: "test" });
    const fault = await store.close().then(
      () => "closed",
      (reason: unknown) => String(reason),
    );
    // Verification reports objects that are not of the schema, and nothing else.
    expect([...fault.matchAll(/"(?:name|part)": "(.+)"/g)].map(([, name]) => name)).toEqual([
      "sound store, one owner",
      "table my notes",
      "view my-balances",
    ]);
    const after = new Database(join(dir, "genrouter.db"), { readonly: true });
    expect(after.query('SELECT text FROM "my notes"').all()).toEqual([{ text: "kept" }]);
    expect(after.query('SELECT sum(available_credits) AS sum FROM "my-balances"').all()).toEqual([{ sum: sums.available }]);
    after.close();
  });

  test("is explained by the doctor", async () => {
    const { out } = await runHere(["doctor", "--data", formerDirectory(former)]);
    expect(out).toMatch(/! database +schema \d, of a build before the first release/);
    expect(out).not.toContain("cannot be read");
  });
});

describe.each(FORMER)("a backup of $release", (former) => {
  test("verifies and restores, and the restored directory verifies clean with its files", async () => {
    const path = join(formerFiles(former, "backup"), saidBy(former).backup);
    const verified = await runHere(["backup", "verify", path]);
    expect(verified.exit as number).toBe(0);
    const to = join(freshDir(), "restored");
    const restored = await runHere(["backup", "restore", path, "--to", to, "--yes"]);
    expect(restored.exit as number).toBe(0);
    expect(versionOf(join(to, "genrouter.db"))).toBe(SCHEMA_VERSION);
    expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
    const store = await openDirectory({ dir: to, mode: "test" });
    expect(await saidOf(store)).toEqual(expectedOf(saidBy(former).sqlite));
    await store.close();
  });

  test("whose manifest records faults of the database restores, and a fault that it does not record is refused", async () => {
    const dir = formerFiles(former, "backup-with-faults");
    const path = join(dir, readdirSync(dir)[0] ?? "");
    const manifest = manifestOf(path);
    expect(manifest.faults.filter(({ path }) => path === "genrouter.db")).toHaveLength(3);
    expect((await runHere(["backup", "restore", path, "--to", join(freshDir(), "restored"), "--yes"])).exit as number).toBe(0);
    const [, ...withoutOne] = manifest.faults.toReversed();
    writeFileSync(join(path, MANIFEST_FILE), printManifest({ ...manifest, faults: withoutOne }));
    const refused = await runHere(["backup", "restore", path, "--to", join(freshDir(), "restored"), "--yes"]);
    expect(refused.err).toContain("conservation");
    expect(refused.exit as number).toBe(1);
  });

  test("with one changed byte of its database is refused", async () => {
    const path = join(formerFiles(former, "backup"), saidBy(former).backup);
    const file = Bun.file(join(path, "genrouter.db"));
    const bytes = new Uint8Array(await file.arrayBuffer());
    bytes[bytes.length - 5] = (bytes.at(-5) ?? 0) ^ 1;
    await Bun.write(file, bytes);
    expect((await runHere(["backup", "verify", path])).exit as number).toBe(1);
  });
});

describe.each(FORMER)("an archive of $release", (former) => {
  test.each(["archive", "archive-postgres"] as const)("verifies alone: %s", async (name) => {
    const { checks, manifests } = await checkArchive(openArchive(join(formerFiles(former, name), "archive")));
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(manifests.length).toBeGreaterThanOrEqual(2);
  });

  test("joins the converted directory, which continues it", async () => {
    const dir = formerDirectory(former);
    await converted(dir);
    const archive = join(formerFiles(former, "archive"), "archive");
    const verify = () => runHere(["verify", "--archive", archive, "--data", dir]);
    expect((await verify()).exit as number).toBe(0);
    const added = await runHere(["archive", "--before", "1m", "--to", archive, "--data", dir]);
    expect(added.exit as number).toBe(0);
    expect(new Set((await manifestsIn(openArchive(archive))).map(({ manifest }) => manifest.form))).toEqual(new Set([1, 2]));
    expect((await verify()).exit as number).toBe(0);
  });

  test("with one changed row is refused", async () => {
    const dir = join(formerFiles(former, "archive"), "archive");
    const [{ manifest } = { manifest: { segments: [] } }] = await manifestsIn(openArchive(dir));
    const segment = manifest.segments.find(({ kind }) => kind === "transfer");
    const file = join(dir, "segments", `${segment?.sha256}.ndjson.gz`);
    const lines = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(file).bytes()));
    await Bun.write(file, Bun.gzipSync(lines.replace(/"credits":(\d)/, '"credits":9$1')));
    const { checks } = await checkArchive(openArchive(dir));
    expect(checks.some(({ ok }) => !ok)).toBe(true);
  });
});
