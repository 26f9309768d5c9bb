// Backup creation: contents, files shared with the previous backup, and faults of the data directory.
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkBackup } from "../../src/backup/check.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { backUp, filesBelow, namesIn, openOn, play, quiet } from "./fixture.ts";

let data: string;
let place: string;
let done: string[];
beforeEach(async () => {
  data = freshDir();
  place = join(freshDir(), "backups");
  ({ done } = await play(data));
});
afterAll(dropDirs, 60_000);

const resultFiles = (of: string) => [...filesBelow(of).keys()].filter((path) => path.startsWith("files/")).toSorted();
const mode = (path: string) => statSync(path).mode & 0o777;
const firstFile = () => resultFiles(data)[0] ?? "";

test("contains database, result files and manifest with owner-only modes, and leaves nothing in the data directory", () => {
  const before = [...filesBelow(data).keys()].filter((path) => !/genrouter\.db-(wal|shm)$/.test(path));
  const made = backUp(data, place);
  expect(made.faults).toEqual([]);
  expect(resultFiles(made.path)).toEqual(resultFiles(data));
  expect(made.files).toBe(resultFiles(data).length);
  expect(made.files).toBeGreaterThanOrEqual(done.length);
  expect(namesIn(made.path)).toEqual(["files", "genrouter.db", "manifest.json"]);
  expect([mode(place), mode(made.path), mode(join(made.path, "files"))]).toEqual([0o700, 0o700, 0o700]);
  for (const path of filesBelow(made.path).keys()) expect([path, mode(join(made.path, path))]).toEqual([path, 0o600]);
  for (const path of resultFiles(made.path)) expect(readFileSync(join(made.path, path))).toEqual(readFileSync(join(data, path)));
  expect([...filesBelow(data).keys()].filter((path) => !/genrouter\.db-(wal|shm)$/.test(path))).toEqual(before);
  const { manifest, faults, databaseFaults: books } = checkBackup(made.path, quiet);
  expect([faults, books, manifest.faults]).toEqual([[], [], []]);
  expect(manifest.rows).toMatchObject({ generation: done.length + 1, account: 1, balance_adjustment: 1 });
  expect(manifest.ledger.available + manifest.ledger.held + manifest.ledger.charged).toBe(100_000);
});

test("contains a database that verify accepts in place", async () => {
  const { path } = backUp(data, place);
  expect((await runHere(["verify", "--data", path])).exit as number).toBe(0);
  // The files that a read leaves beside the database are empty and not a fault of the backup.
  expect((await runHere(["backup", "verify", path])).exit as number).toBe(0);
});

test("shares result files with the previous backup by hard links, and each backup is complete without the other", async () => {
  const first = backUp(data, place);
  const harness = await openOn(data);
  const { id } = await harness.submit("sim-image-1", { prompt: "one more" });
  await harness.until(id);
  await harness.crash();
  const second = backUp(data, place);
  expect(second.linked).toBe(first.files);
  expect(second.files).toBeGreaterThan(first.files);
  for (const path of resultFiles(first.path))
    expect(statSync(join(second.path, path)).ino).toBe(statSync(join(first.path, path)).ino);
  expect(statSync(join(first.path, "genrouter.db")).ino).not.toBe(statSync(join(second.path, "genrouter.db")).ino);
  rmSync(first.path, { recursive: true });
  expect(checkBackup(second.path, quiet)).toMatchObject({ faults: [], databaseFaults: [] });
  // The data directory and a backup never share an inode: a change of one does not affect the other.
  for (const path of resultFiles(second.path))
    expect(statSync(join(data, path)).ino).not.toBe(statSync(join(second.path, path)).ino);
});

test("copies and reports a shared file that is damaged in the previous backup, and leaves that backup unchanged", () => {
  const first = backUp(data, place);
  const rotten = join(first.path, firstFile());
  const bytes = readFileSync(rotten);
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  writeFileSync(rotten, bytes);
  const second = backUp(data, place);
  expect(second.faults).toEqual([{ path: firstFile(), why: expect.stringMatching(/the previous backup has different bytes/) }]);
  expect(readFileSync(join(second.path, firstFile()))).toEqual(readFileSync(join(data, firstFile())));
  expect(readFileSync(rotten)).toEqual(bytes);
  expect(checkBackup(second.path, quiet).faults).toEqual([]);
});

test("reports a missing or changed result file, and still creates the backup", async () => {
  const [gone = "", changed = ""] = resultFiles(data);
  rmSync(join(data, gone));
  writeFileSync(join(data, changed), "x".repeat(statSync(join(data, changed)).size));
  const made = backUp(data, place);
  expect(made.faults).toEqual([
    { path: gone, why: "it is missing from the data directory" },
    { path: changed, why: expect.stringMatching(/the content differs from the stored file/) },
  ]);
  const verified = await runHere(["backup", "verify", made.path]);
  expect([verified.exit as number, verified.out]).toEqual([
    1,
    expect.stringContaining(`${gone}: present at the time of the backup`),
  ]);
  expect(checkBackup(made.path, quiet).faults).toEqual([]);
  const { out: listed } = await runHere(["backup", "list", place]);
  expect(listed).toMatch(/with faults: .*is missing from the data directory and 1 more/);
});

test("leaves out expired result files and files in a bucket", () => {
  const late = backUp(data, place, { aheadMs: Date.UTC(2026, 10, 1) - Date.now() });
  expect([late.files, late.leftOut]).toEqual([
    0,
    [{ what: `${resultFiles(data).length} result files`, why: expect.stringMatching(/retention has expired/) }],
  ]);
  rmSync(join(data, firstFile()));
  const bucket = backUp(data, place, { filesStore: "s3" });
  expect([bucket.faults, bucket.leftOut]).toEqual([
    [],
    [{ what: "1 result files", why: expect.stringMatching(/in the bucket/) }],
  ]);
  expect(checkBackup(bucket.path, quiet).manifest.files_store).toBe("s3");
  // A directory that once used a bucket contains the name of the bucket, which is backed up.
  writeFileSync(join(data, "files/bucket.json"), '{"bucket":"b"}');
  const marked = backUp(data, place);
  expect([marked.faults, marked.leftOut]).toEqual([[], bucket.leftOut]);
  expect(readFileSync(join(marked.path, "files/bucket.json"), "utf8")).toBe('{"bucket":"b"}');
  expect(checkBackup(marked.path, quiet)).toMatchObject({ faults: [], databaseFaults: [] });
});

test("contains the master key of the provider credentials only with --with-master-key", async () => {
  writeFileSync(join(data, "provider-keys.master"), `${"ab".repeat(32)}\n`, { mode: 0o600 });
  const without = backUp(data, place);
  expect(namesIn(without.path)).not.toContain("provider-keys.master");
  expect(without.leftOut).toEqual([{ what: "provider-keys.master", why: expect.stringMatching(/store it in another place/) }]);
  const { out, exit } = await runHere(["backup", "create", place, "--data", data, "--with-master-key", "--json"]);
  expect(exit as number).toBe(0);
  const { path } = JSON.parse(out);
  expect(readFileSync(join(path, "provider-keys.master"), "utf8")).toBe(`${"ab".repeat(32)}\n`);
});

test("contains spooled results that an unfinished attempt has yet to collect", () => {
  const db = new Database(join(data, "genrouter.db"));
  const attempt = db
    .query<{ seq: number; ref: string }, []>("SELECT generation_seq AS seq, ref FROM attempt WHERE state = 'accepted'")
    .get();
  db.run(
    "INSERT INTO attempt_answer (generation_seq, attempt_no, results) SELECT generation_seq, attempt_no, ? FROM attempt WHERE ref = ?",
    [JSON.stringify([{ url: `spool:${attempt?.ref}.1` }]), attempt?.ref ?? ""],
  );
  db.close();
  const name = `spool/${attempt?.ref}.1`;
  expect(backUp(data, place).faults).toEqual([{ path: name, why: "it is missing from the data directory" }]);
  writeFileSync(join(data, name), "an answer's picture");
  const made = backUp(data, place);
  expect(made.faults).toEqual([]);
  expect(readFileSync(join(made.path, name), "utf8")).toBe("an answer's picture");
});

test("copies a database that violates an invariant, reports it, and never prints it as verified", async () => {
  const db = new Database(join(data, "genrouter.db"));
  db.run("DROP TRIGGER balance_follows_transfer");
  db.run("UPDATE balance SET available_credits = available_credits + 1");
  db.close();
  const { exit, out, err } = await runHere(["backup", "create", place, "--data", data]);
  expect([exit as number, out]).toEqual([1, expect.stringMatching(/with \d+ faults\n$/)]);
  expect(err).toMatch(/✘ genrouter\.db: /);
  const path = out.split(" ")[0] ?? "";
  const seen = await runHere(["backup", "verify", path]);
  expect([seen.exit as number, seen.out]).toEqual([1, expect.stringMatching(/genrouter\.db: present at the time of the backup/)]);
});

test("rejects a second backup into the same directory at the same time, with exit code 75", async () => {
  backUp(data, place);
  const { acquireMutex: takeTurn } = await import("../../src/store/sqlite/snapshot-copy/directory-mutex.ts");
  const giveBack = takeTurn(join(place, ".genrouter-backup.lock"));
  const { exit, err } = await runHere(["backup", "create", place, "--data", data]);
  giveBack?.();
  expect([exit as number, err]).toEqual([75, expect.stringMatching(/another backup is being created there/)]);
  expect((await runHere(["backup", "create", place, "--data", data])).exit as number).toBe(0);
});

test("prints one line and creates nothing without a database, a backup directory or write permission", async () => {
  const empty = freshDir();
  expect(await runHere(["backup", "create", place, "--data", empty])).toMatchObject({ exit: 78, out: "" });
  expect(existsSync(place) ? namesIn(place) : []).toEqual([]);
  const nowhere = await runHere(["backup", "create", "--data", data]);
  expect([nowhere.exit as number, nowhere.err]).toEqual([2, expect.stringMatching(/GENROUTER_BACKUP__DIR/)]);
  const file = join(freshDir(), "file");
  writeFileSync(file, "");
  expect(await runHere(["backup", "create", file, "--data", data])).toMatchObject({
    exit: 78,
    err: expect.stringMatching(/cannot be written/),
  });
  const list = await runHere(["backup", "list", join(empty, "none")]);
  expect([list.exit as number, list.err]).toEqual([4, expect.stringMatching(/the directory does not exist/)]);
});

test("backup list shows incomplete and damaged backups, newest first, and ignores other files", async () => {
  const first = backUp(data, place);
  const second = backUp(data, place);
  renameSync(first.path, `${first.path}.incomplete`);
  writeFileSync(join(place, "notes.txt"), "mine");
  rmSync(join(second.path, firstFile()));
  const { out: before } = await runHere(["backup", "list", place]);
  expect(before).toMatch(/^genrouter-\d+T\d+Z\.incomplete .*incomplete: it is incomplete or still being created/m);
  const third = backUp(data, place, { madeBy: "nightly" });
  const { out } = await runHere(["backup", "list", place, "--json"]);
  expect(JSON.parse(out).map(({ path, state }: { path: string; state: string }) => [path, state])).toEqual([
    [third.path, "ok"],
    [second.path, "damaged"],
  ]);
  expect(existsSync(join(place, "notes.txt"))).toBe(true);
});

test("copies a file that has other hard links instead of linking it", () => {
  linkSync(join(data, firstFile()), join(data, "another-name"));
  const made = backUp(data, place);
  expect(statSync(join(made.path, firstFile())).nlink).toBe(1);
});
