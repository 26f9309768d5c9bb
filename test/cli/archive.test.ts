// `genrouter archive` and `verify --archive` on a directory: output, exit codes and rejected arguments.
import { afterAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BEFORE_MS, FIRST, fileBooks } from "../archive/fixture.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);
const BEFORE = new Date(BEFORE_MS).toISOString();

test("archive writes new rows once; verify passes for the archive and exits with 1 after a segment was changed", async () => {
  const books = await fileBooks();
  await books.drop();
  const data = "dir" in books.place ? books.place.dir : "";
  const to = freshDir();
  const words = ["archive", "--data", data, "--before", BEFORE, "--to", to];
  const made = await runHere([...words, "--json"]);
  expect([made.exit as number, JSON.parse(made.out)]).toMatchObject([
    0,
    { archived: true, ok: true, generations: FIRST.generations, movements: FIRST.transfers, charged_usd: 3.15, manifest: 1 },
  ]);
  const again = await runHere(words);
  expect([again.exit as number, again.out]).toEqual([0, expect.stringMatching(/^nothing to archive/)]);
  const checked = await runHere(["verify", "--archive", to, "--data", data]);
  expect([checked.exit as number, checked.out.match(/✔/g)?.length]).toEqual([0, 6]);
  expect(checked.out).toMatch(/✔ +1 {2}archive and database are continuous/);
  const [segment = ""] = readdirSync(join(to, "segments"));
  writeFileSync(join(to, "segments", segment), "x");
  const broken = await runHere(["verify", "--archive", to, "--alone", "--json"]);
  expect([broken.exit as number, JSON.parse(broken.out).ok]).toEqual([1, false]);
});

test.each<[string[], number, RegExp]>([
  [["archive", "--to", "x"], 2, /required option '--before <time>'/],
  [["archive", "--before", "90d"], 2, /required option '--to <place>'/],
  [["archive", "--before", "soon", "--to", "x"], 2, /--before: "soon" is not a time; use 90m, 24h, 7d or 2026-10-19/],
  [["archive", "--before", "2199-01-01", "--to", "x"], 2, /--before: "2199-01-01" is not in the past/],
  [["verify", "--alone"], 2, /--alone: requires --archive/],
  [["verify", "--archive", "/nowhere/at/all", "--alone"], 2, /there is no archive in \/nowhere\/at\/all/],
])("%p exits with %d and a message that names the fault", async (words, code, said) => {
  const { exit, err } = await runHere(words);
  expect([exit as number, err]).toEqual([code, expect.stringMatching(said)]);
});

test("archive exits with 78 when the data directory has no database", async () => {
  const { exit, err } = await runHere(["archive", "--data", freshDir(), "--before", "1d", "--to", freshDir()]);
  expect([exit as number, err]).toEqual([78, expect.stringMatching(/there is no database in it/)]);
});
