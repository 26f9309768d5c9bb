// backup restore: requires an empty target, shows beforehand what would be lost, and leaves a directory that starts.
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { restoreBackup } from "../../src/backup/restore.ts";
import { claimDirectory } from "../../src/store/sqlite/directory-lock.ts";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openDirectory } from "../store/open-store.ts";
import { backUp, filesBelow, namesIn, openOn, play } from "./fixture.ts";

let data: string;
let path: string;
let done: string[];
let open: string;
let to: string;
beforeEach(async () => {
  data = freshDir();
  ({ done, open } = await play(data));
  ({ path } = backUp(data, freshDir()));
  to = join(freshDir(), "data");
});
afterAll(dropDirs, 60_000);

const restore = (more: string[] = ["--yes"]) => runHere(["backup", "restore", path, "--to", to, ...more]);
const metaOf = (dir: string, name: string): number => {
  const db = new Database(join(dir, "genrouter.db"), { readonly: true });
  const row = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?").get(name);
  db.close();
  return Number(row?.value ?? Number.NaN);
};

test("a restored directory holds the files of the backup, and neither a write-ahead log nor its marker", async () => {
  const before = filesBelow(path);
  const { exit, out } = await restore();
  expect(exit as number).toBe(0);
  expect(out).toContain("open at the time of the backup: 1 generation (1 running); attempts: 1 accepted");
  expect(out).toContain(`  ${open}  running  attempt 1 accepted at `);
  expect(out).toContain("in-flight attempts are confirmed with their provider before anything is submitted");
  expect(namesIn(to)).toEqual(["files", "genrouter.db", "lock.db"]);
  expect(filesBelow(path)).toEqual(before);
  for (const [name, bytes] of before) if (name.startsWith("files/")) expect(filesBelow(to).get(name)).toBe(bytes);
  expect(statSync(to).mode & 0o777).toBe(0o700);
  expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
});

test("a restored database stores the time of its backup and of the restore", async () => {
  const beganMs = Date.now();
  await restore();
  const { taken_at_ms } = JSON.parse(readFileSync(join(path, "manifest.json"), "utf8"));
  expect(metaOf(to, "restored_taken_at_ms")).toBe(taken_at_ms);
  expect(metaOf(to, "restored_at_ms")).toBeGreaterThanOrEqual(beganMs);
  expect(metaOf(path, "restored_at_ms")).toBeNaN();
});

test("a service on a restored directory serves its results and continues, without changes to the backup", async () => {
  const before = filesBelow(path);
  await restore();
  const harness = await openOn(to);
  const key = harness.tenant.key;
  for (const id of done) expect((await harness.store.findGeneration(id))?.status).toBe("succeeded");
  const { id } = await harness.submit("sim-image-1", { prompt: "after" });
  await harness.until(id);
  expect((await harness.request("GET", `/v1/generations/${id}/content`, { key })).status).toBe(200);
  await harness.verify();
  await harness.crash();
  for (const name of [...filesBelow(path).keys()].filter((each) => /-(wal|shm)$/.test(each))) rmSync(join(path, name));
  expect(filesBelow(path)).toEqual(before);
});

test("rejects a target that is not empty, with the command that moves it aside", async () => {
  mkdirSync(to);
  writeFileSync(join(to, "mine"), "x");
  const { exit, err } = await restore();
  expect([exit as number, err]).toEqual([78, expect.stringContaining(`move it aside first: mv ${to} ${to}.old`)]);
  expect([...filesBelow(to)]).toEqual([["mine", Buffer.from("x").toString("base64")]]);
  rmSync(join(to, "mine"));
  expect((await restore()).exit as number).toBe(0);
});

test("rejects a target on which a service runs, with exit code 75, and leaves the service unharmed", async () => {
  const harness = await openOn(data);
  to = data;
  const before = [...filesBelow(join(data, "files"))];
  const { exit, err } = await restore();
  expect([exit as number, err]).toEqual([75, expect.stringMatching(/a service is running on it; stop it first/)]);
  const { id } = await harness.submit("sim-image-1", { prompt: "still here" });
  await harness.until(id);
  expect([...filesBelow(join(data, "files"))].slice(0, before.length).length).toBe(before.length);
  await harness.crash();
});

test("restores nothing without --yes", async () => {
  const { exit, err } = await restore([]);
  expect([exit as number, err, existsSync(to)]).toEqual([2, expect.stringMatching(/add --yes, or use --dry-run/), false]);
});

test("keeps the target locked and its database unreadable as a store until the restore has ended", async () => {
  const seen: string[] = [];
  const look = (line: string) => {
    if (!line.startsWith("restoring 2")) return;
    seen.push(line);
    expect(() => claimDirectory(to, { networkDisk: false, creation: false })).toThrow(/already running as pid/);
    expect(readFileSync(join(to, "genrouter.db"), "utf8")).toStartWith("A restore into this directory has not ended.");
  };
  restoreBackup({ path, to, dryRun: false, networkDisk: false }, { report: look, throwIfStopped: () => undefined });
  expect(seen).toHaveLength(1);
});

test("a restore that is killed half way leaves a directory that no start accepts", async () => {
  const { putPlaceholder } = await import("../../src/store/sqlite/snapshot-copy/copy.ts");
  mkdirSync(to);
  putPlaceholder(to);
  const { err, exit } = await runHere(["accounts", "list", "--data", to]);
  expect([exit as number, err]).toEqual([2, expect.stringMatching(/is damaged .*restore a backup/)]);
  expect((await restore()).err).toMatch(/from an incomplete restore/);
});

test("a restore that fails or is stopped removes everything that it wrote", () => {
  let steps = 0;
  const stopping = () => {
    steps += 1;
    if (steps > 8) throw new Error("stopped here");
  };
  expect(() =>
    restoreBackup({ path, to, dryRun: false, networkDisk: false }, { report: () => undefined, throwIfStopped: stopping }),
  ).toThrow();
  expect(existsSync(to)).toBe(false);
  mkdirSync(to);
  steps = 0;
  expect(() =>
    restoreBackup({ path, to, dryRun: false, networkDisk: false }, { report: () => undefined, throwIfStopped: stopping }),
  ).toThrow();
  expect(namesIn(to)).toEqual([]);
});

test("a dry run prints what would be lost, and changes nothing", async () => {
  const db = new Database(join(data, "genrouter.db"), { readonly: true });
  const before = db.query<{ id: string }, []>("SELECT id FROM api_key LIMIT 1").get()?.id ?? "";
  db.close();
  const harness = await openOn(data);
  const since = await harness.submit("sim-image-1", { prompt: "since" });
  await harness.until(since.id);
  await harness.components.post({
    ...{ mutation: "credit", accountSeq: harness.tenant.accountSeq, kind: "topup", credits: 2500 },
    ...{ note: "", reference: null, atMs: harness.clock.nowMs() },
  });
  await harness.components.post({ mutation: "revoke-key", keyId: before, atMs: harness.clock.nowMs() });
  const account = harness.tenant.accountId;
  const key = harness.tenant.keyId;
  await harness.crash();
  const kept = filesBelow(join(data, "files"));
  to = data;
  const { exit, out, err } = await restore(["--dry-run"]);
  expect(exit as number).toBe(0);
  expect(err).toContain("nothing was restored");
  expect(out).toMatch(/rows of generation\s+3\s+4\n/);
  for (const line of [
    "  1 generation created since",
    "  $0.06 charged since, which customers would get back",
    // The account of the harness also received credits.
    "  2 top-ups created since, $1,025.00: customers paid that",
    `  1 account created since: ${account}`,
    `  1 API key created since: ${key}`,
    `  1 API key revoked since would be valid again: ${before}`,
  ])
    expect(out).toContain(line);
  expect(filesBelow(join(data, "files"))).toEqual(kept);
  const json = JSON.parse((await restore(["--dry-run", "--json"])).out);
  expect(json).toMatchObject({ dry_run: true, would_lose: { generations: 1, topUps: { count: 2, credits: 102_500 } } });
  expect(json.now.ledger.available).toBeGreaterThan(json.ledger.available);
  expect(json.unfinished).toMatchObject([{ generation: open, state: "accepted" }]);
});

test("a dry run reports an empty target, an identical one and a database of another service", async () => {
  expect((await restore(["--dry-run"])).out).toContain("no data would be lost");
  to = data;
  expect((await restore(["--dry-run"])).out).toContain("no data would be lost: there are no later changes");
  to = freshDir();
  await runHere(["accounts", "create", "--name", "other", "--data", to]);
  expect((await restore(["--dry-run"])).out).toContain("the database of another service: none of its data is in this backup");
});

test("reports sealed provider credentials without their master key, with instructions", async () => {
  const live = freshDir();
  await runHere(["accounts", "create", "--name", "a", "--data", live]);
  const { createVault } = await import("../../src/providers/vault.ts");
  const db = openWriter(join(live, "genrouter.db"));
  const { id, sealed } = createVault(live).seal("fal", "canary-key", []);
  db.run("INSERT INTO provider_credential VALUES ('fal', ?, ?, 1)", [id, sealed]);
  db.close();
  ({ path } = backUp(live, freshDir()));
  const { out } = await restore();
  expect(out).toMatch(/1 provider key is sealed, and provider-keys\.master is not in this backup: .*genrouter providers set-key/);
  expect(existsSync(join(to, "provider-keys.master"))).toBe(false);
  ({ path } = backUp(live, freshDir(), { withMasterKey: true }));
  to = join(freshDir(), "with");
  expect((await restore()).out).not.toContain("sealed");
  expect(createVault(to).open("fal", { id, sealed })).toBe("canary-key");
});

test("rejects a backup by a release whose schema is older than the database", async () => {
  const db = new Database(join(data, "genrouter.db"));
  db.run("PRAGMA user_version = 99");
  db.close();
  expect(() => backUp(data, freshDir())).toThrow(/schema 99 and this release knows/);
});

test("mark-restored marks a directory from a disk snapshot, and rejects one on which a service runs", async () => {
  const dir = freshDir();
  const harness = await openOn(dir);
  const { id } = await harness.submit("sim-image-1", { prompt: "kite" });
  await harness.until(id);
  await harness.close();
  const { exit, out } = await runHere(["backup", "mark-restored", "--data", dir, "--json"]);
  expect(exit).toBe(0);
  const takenAtMs = Date.parse((JSON.parse(out) as { taken_at: string }).taken_at);
  expect(metaOf(dir, "restored_taken_at_ms")).toBe(takenAtMs);
  expect(metaOf(dir, "restored_up_to_seq")).toBeGreaterThan(0);
  const again = await openOn(dir);
  expect(await again.store.restored()).toMatchObject({ takenAtMs });
  await again.verify();
  await again.close();
  const service = await openDirectory({ dir, mode: "test" });
  expect((await runHere(["backup", "mark-restored", "--data", dir])).exit).toBe(75);
  await service.close();
  expect((await runHere(["backup", "mark-restored", "--data", freshDir()])).exit).toBe(78);
});
