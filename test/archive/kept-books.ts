// Archive contract in a directory, for either store, and helpers that create and check archives there.
import { afterEach, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDirectory } from "../../src/store/archive/archive-storage.ts";
import { checkArchive } from "../../src/store/archive/check.ts";
import { checkJoin } from "../../src/store/archive/continuity-check.ts";
import { ArchiveError, manifestName, manifestsIn, rowsIn, SEGMENTS } from "../../src/store/archive/format.ts";
import type { ArchiveSourceLocation } from "../../src/store/archive/source.ts";
import { archive as archiveIn } from "../../src/store/archive/write.ts";
import { freshDir } from "../cli/fresh-dir.ts";
import { BEFORE_MS, type Books, FIRST, keepAt, LATER_BEFORE_MS, succeedAt, sweepAt } from "./fixture.ts";

export const archive = (place: ArchiveSourceLocation, dir: string, beforeMs: number, madeAtMs: number) =>
  archiveIn(place, openDirectory(dir), beforeMs, madeAtMs);
export const checkOf = (dir: string) => checkArchive(openDirectory(dir));
export const faultsOf = async (dir: string): Promise<string[]> =>
  (await checkOf(dir)).checks.flatMap(({ offending }) => offending.map(({ fault }) => String(fault)));
export const joinOf = async (books: Books, dir: string) => {
  const { walked, manifests } = await checkOf(dir);
  return (await checkJoin(books.place, openDirectory(dir), walked, manifests)).offending.map(({ fault }) => String(fault));
};
const seqsIn = async (dir: string, n: number, kind: "generation" | "attempt" | "generation_event") => {
  const storage = openDirectory(dir);
  const manifest = (await manifestsIn(storage))[n - 1]?.manifest;
  return manifest
    ? (await Array.fromAsync(rowsIn(storage, manifest, kind))).map(({ seq, generation_seq }) => Number(seq ?? generation_seq))
    : [];
};

/** The tests for one store. */
export const keepsBooks = (open: () => Promise<Books>): void => {
  let books: Books;
  afterEach(() => books.drop());

  test("the first archive contains old settled generations with their attempts and events, and verifies", async () => {
    books = await open();
    const dir = freshDir();
    const { manifest } = await archive(books.place, dir, BEFORE_MS, BEFORE_MS);
    expect(manifest?.totals).toMatchObject(FIRST);
    expect(await faultsOf(dir)).toEqual([]);
    expect(await joinOf(books, dir)).toEqual([]);
    const generations = new Set(await seqsIn(dir, 1, "generation"));
    for (const kind of ["attempt", "generation_event"] as const)
      for (const seq of await seqsIn(dir, 1, kind)) expect(generations.has(seq)).toBe(true);
    // The database is unchanged.
    expect(await books.store.verify(null).then((checks) => checks.filter(({ ok }) => !ok))).toEqual([]);
  });

  test("the next archive continues the last one without duplicates, gaps or breaks in its chains", async () => {
    books = await open();
    const dir = freshDir();
    await archive(books.place, dir, BEFORE_MS, BEFORE_MS);
    expect((await archive(books.place, dir, BEFORE_MS, BEFORE_MS + 1)).manifest).toBeNull();
    const young = await succeedAt(books.store, books.quiet, BEFORE_MS + 86_400_000);
    const { manifest } = await archive(books.place, dir, LATER_BEFORE_MS, LATER_BEFORE_MS);
    expect(manifest?.n).toBe(2);
    expect(await seqsIn(dir, 2, "generation")).toContain(young);
    const [first, second] = [await seqsIn(dir, 1, "generation"), await seqsIn(dir, 2, "generation")];
    expect(first.filter((seq) => second.includes(seq))).toEqual([]);
    expect(await faultsOf(dir)).toEqual([]);
    expect(await joinOf(books, dir)).toEqual([]);
  });

  test("a generation and its successors in the account are archived only after its files are removed", async () => {
    books = await open();
    const dir = freshDir();
    const kept = await keepAt(books.store, books.quiet, BEFORE_MS - 86_400_000);
    const next = await succeedAt(books.store, books.quiet, BEFORE_MS - 80_000_000);
    await archive(books.place, dir, LATER_BEFORE_MS, LATER_BEFORE_MS);
    expect(await seqsIn(dir, 1, "generation")).not.toContain(kept);
    expect(await seqsIn(dir, 1, "generation")).not.toContain(next);
    await sweepAt(books.store, kept, BEFORE_MS);
    await archive(books.place, dir, LATER_BEFORE_MS, LATER_BEFORE_MS);
    expect(await seqsIn(dir, 2, "generation")).toEqual([kept, next].sort((a, b) => a - b));
    expect([await faultsOf(dir), await joinOf(books, dir)]).toEqual([[], []]);
  });

  test("later writes to the database do not break the continuity with the archive", async () => {
    books = await open();
    const dir = freshDir();
    await archive(books.place, dir, BEFORE_MS, BEFORE_MS);
    await succeedAt(books.store, books.quiet, LATER_BEFORE_MS);
    expect(await joinOf(books, dir)).toEqual([]);
  });

  test("an erasure after the archive breaks neither the archive nor the continuity with it, and a new archive verifies", async () => {
    books = await open();
    const dir = freshDir();
    await archive(books.place, dir, BEFORE_MS, BEFORE_MS);
    const seqs = await seqsIn(dir, 1, "generation");
    for (const seq of seqs) {
      const { accountSeq = 0 } = (await books.store.generationBySeq(seq)) ?? {};
      const erase = { mutation: "erase-generation", seq, accountSeq, withFiles: true, atMs: LATER_BEFORE_MS } as const;
      expect(await books.store.commit([erase])).toEqual([{ kind: "done", count: 1 }]);
    }
    expect([await faultsOf(dir), await joinOf(books, dir)]).toEqual([[], []]);
    const later = freshDir();
    await archive(books.place, later, BEFORE_MS, BEFORE_MS);
    expect([await faultsOf(later), await joinOf(books, later)]).toEqual([[], []]);
  });

  test("an interrupted archive does not count, and the next run creates the same archive", async () => {
    books = await open();
    const [whole, broken] = [freshDir(), freshDir()];
    await archive(books.place, whole, BEFORE_MS, BEFORE_MS);
    const names = readdirSync(join(whole, SEGMENTS)).sort();
    // As after an interruption within the third segment.
    cpSync(join(whole, SEGMENTS), join(broken, SEGMENTS), { recursive: true });
    for (const one of names.slice(2)) rmSync(join(broken, SEGMENTS, one));
    writeFileSync(join(broken, SEGMENTS, `${names[2]}.part`), "half");
    await expect(checkOf(broken)).rejects.toThrow(ArchiveError);
    await archive(books.place, broken, BEFORE_MS, BEFORE_MS);
    expect(readdirSync(join(broken, SEGMENTS)).sort()).toEqual(names);
    expect(await faultsOf(broken)).toEqual([]);
    expect(readFileSync(join(broken, manifestName(1)), "utf8")).toBe(readFileSync(join(whole, manifestName(1)), "utf8"));
  });
};
