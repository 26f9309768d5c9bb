// Litestream compatibility: the service tolerates its two tables, its short write lock and its long read.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { checkBackup } from "../../src/backup/check.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { backUp, openOn, quiet } from "./fixture.ts";

afterAll(dropDirs);

test("a service with a replicated database continues, verifies, and can be backed up", async () => {
  const dir = freshDir();
  const harness = await openOn(dir);
  const other = new Database(join(dir, "genrouter.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run("PRAGMA wal_autocheckpoint = 0");
  other.run("CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);");
  other.run("CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);");
  other.run("INSERT INTO _litestream_seq (id, seq) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1");
  const reader = new Database(join(dir, "genrouter.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(1) FROM _litestream_seq").get();
  const first = await harness.submit("sim-image-1", { prompt: "kite" });
  // Litestream's checkpoints take the write lock and release it without writing.
  other.run("BEGIN IMMEDIATE");
  other.run("INSERT INTO _litestream_lock (id) VALUES (1)");
  const waiting = harness.submit("sim-image-1", { prompt: "another" });
  await harness.eventually(() => harness.components.ledger.load().committingForMs > 0, "a commit that waits for the lock");
  other.run("ROLLBACK");
  await harness.until(first.id);
  await harness.until((await waiting).id);
  other.run("PRAGMA wal_checkpoint(PASSIVE)");
  await harness.verify();
  expect(statSync(join(dir, "genrouter.db-wal")).size).toBeGreaterThan(0);
  reader.close();
  other.close();
  expect((await runHere(["verify", "--data", dir])).exit as number).toBe(0);
  const { path } = backUp(dir, freshDir());
  expect(checkBackup(path, quiet)).toMatchObject({
    faults: [],
    databaseFaults: [],
    manifest: { faults: [], rows: { _litestream_seq: 1 } },
  });
  const to = join(freshDir(), "data");
  expect((await runHere(["backup", "restore", path, "--to", to, "--yes"])).exit as number).toBe(0);
  expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
  await harness.crash();
});

test("verify reports a table with a Litestream name and other columns", async () => {
  const dir = freshDir();
  await runHere(["accounts", "create", "--name", "a", "--data", dir]);
  const db = new Database(join(dir, "genrouter.db"));
  db.run("CREATE TABLE _litestream_lock (id INTEGER, key TEXT)");
  db.close();
  const { exit, out } = await runHere(["verify", "--data", dir]);
  expect([exit as number, out]).toEqual([1, expect.stringContaining('"part":"table _litestream_lock","found":"foreign"')]);
});
