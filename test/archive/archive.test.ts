// Archives in a directory: contents, continuity with the database, and detection of every change.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDirectory } from "../../src/store/archive/archive-storage.ts";
import { checkJoin } from "../../src/store/archive/continuity-check.ts";
import {
  type Manifest,
  manifestName,
  type Row,
  rowsOfSegment,
  SEGMENTS,
  segmentName,
  sha256Of,
} from "../../src/store/archive/format.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { BEFORE_MS, type Books, fileBooks, LATER_BEFORE_MS } from "./fixture.ts";
import { archive, checkOf, faultsOf, joinOf, keepsBooks } from "./kept-books.ts";

afterAll(dropDirs);
describe("SQLite", () => keepsBooks(fileBooks));

describe("archive verification", () => {
  let books: Books;
  let whole: string;
  const made = (async () => {
    books = await fileBooks();
    whole = freshDir();
    await archive(books.place, whole, BEFORE_MS, BEFORE_MS);
    await archive(books.place, whole, LATER_BEFORE_MS, LATER_BEFORE_MS);
  })();
  afterAll(() => books.drop());
  const copy = async (): Promise<string> => {
    await made;
    const dir = freshDir();
    cpSync(whole, dir, { recursive: true });
    return dir;
  };
  const manifestOf = (dir: string, n: number): Manifest =>
    JSON.parse(readFileSync(join(dir, manifestName(n)), "utf8")) as Manifest;
  const keep = (dir: string, manifest: Manifest) =>
    writeFileSync(join(dir, manifestName(manifest.n)), `${JSON.stringify(manifest, null, 2)}\n`);
  /** Changes rows of a kind and adjusts all file hashes to match, as a forger would. */
  const forge = async (dir: string, kind: string, change: (rows: Row[]) => Row[]): Promise<void> => {
    const manifest = manifestOf(dir, 1);
    for (const segment of manifest.segments) {
      if (segment.kind !== kind) continue;
      const rows = change(await Array.fromAsync(rowsOfSegment(openDirectory(dir), segment)));
      const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
      Object.assign(segment, { sha256: sha256Of(text), bytes: text.length, rows: rows.length });
      writeFileSync(join(dir, segmentName(segment)), Bun.gzipSync(text));
    }
    keep(dir, manifest);
    keep(dir, { ...manifestOf(dir, 2), previous: sha256Of(readFileSync(join(dir, manifestName(1)))) });
  };
  const first = (change: (row: Row) => Row) => (rows: Row[]) => rows.map((row, at) => (at === 0 ? change(row) : row));

  test("finds a changed or missing segment, and a changed, missing or malformed manifest", async () => {
    const dir = await copy();
    const [name = ""] = readdirSync(join(dir, SEGMENTS));
    const path = join(dir, SEGMENTS, name);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    expect((await faultsOf(dir)).join()).toMatch(/cannot be unpacked|does not have the content/);
    rmSync(path);
    expect((await faultsOf(dir)).join()).toMatch(/is not there/);
    const other = await copy();
    keep(other, { ...manifestOf(other, 1), madeAtMs: 1 });
    expect(await faultsOf(other)).toEqual(["the previous manifest is missing or was changed"]);
    const third = await copy();
    rmSync(join(third, manifestName(1)));
    expect(await faultsOf(third)).toContain("the previous manifest is missing or was changed");
    writeFileSync(join(third, manifestName(1)), "{");
    await expect(checkOf(third)).rejects.toThrow(/is not JSON/);
  });

  const FORGERIES: [what: string, kind: string, change: (rows: Row[]) => Row[], fault: string][] = [
    [
      "changed credits of a transfer",
      "transfer",
      first((row) => ({ ...row, credits: Number(row.credits) + 1 })),
      "the transfer does not follow its predecessor",
    ],
    ["a missing transfer", "transfer", (rows) => rows.slice(1), "the transfer does not follow its predecessor"],
    [
      "a changed note of a transfer",
      "transfer",
      first((row) => ({ ...row, note: "another" })),
      "the transfer does not follow its predecessor",
    ],
    [
      "a changed end of a chain",
      "account",
      first((row) => ({ ...row, to: { ...(row.to as unknown as object), availableCredits: 7 } as never })),
      "the chain does not end at the recorded transfer",
    ],
    [
      "a missing part of an account",
      "account",
      (rows) => rows.slice(1),
      "the account of the transfer has no part in this archive",
    ],
    ["a missing generation", "generation", (rows) => rows.slice(1), "a transfer settles a generation that is not in the archive"],
    [
      "a changed cost of a generation",
      "generation",
      first((row) => ({ ...row, cost_credits: 1 })),
      "the generation does not have exactly one settlement of its whole hold",
    ],
    [
      "a changed reserve of a generation",
      "generation",
      first((row) => ({ ...row, reserved_credits: 1 })),
      "the hold of the generation is not in the chain",
    ],
    [
      "a changed status of a generation",
      "generation",
      first((row) => ({ ...row, status: "failed" })),
      "the generation does not have exactly one settlement of its whole hold",
    ],
    [
      "a changed price of an attempt",
      "attempt",
      first((row) => ({ ...row, price_credits: 1 })),
      "the captured credits differ from the price of the delivered attempt",
    ],
    ["a missing attempt", "attempt", (rows) => rows.slice(1), "the attempts differ from the count of the generation"],
    ["a missing request", "attempt_request", (rows) => rows.slice(1), "the request of a sent attempt is missing"],
    ["a missing event", "generation_event", (rows) => rows.slice(1), "the events have a gap or do not lead to the status"],
  ];
  const succeededFirst = (change: (row: Row) => Row) => (rows: Row[]) => {
    const at = rows.findIndex(({ status }) => status === "succeeded");
    return rows.map((row, n) => (n === at ? change(row) : row));
  };
  FORGERIES.push([
    "a charged result that is shorter than ordered",
    "generation",
    succeededFirst((row) => ({ ...row, output: String(row.output).replace('"durationMs":5000', '"durationMs":3000') })),
    "the charged delivery differs from the order",
  ]);
  test("counts generations without a stored expected delivery in a note, not as a fault", async () => {
    const dir = await copy();
    await forge(
      dir,
      "generation",
      succeededFirst(({ expected_delivery: _, ...row }) => row),
    );
    expect(await faultsOf(dir)).toEqual([]);
    // Archives of older builds contain no expected delivery, and still match the database.
    expect(await joinOf(books, dir)).toEqual([]);
    expect((await checkOf(dir)).checks.find(({ invariant }) => invariant === 13)?.note).toMatch(/^1 generations were accepted/);
  });

  test.each(FORGERIES)("finds %s although all file hashes match", async (_, kind, change, fault) => {
    const dir = await copy();
    await forge(dir, kind, change);
    expect(await faultsOf(dir)).toContain(fault);
  });

  test.each<[string, string, (rows: Row[]) => Row[]]>([
    ["a changed input", "generation", first((row) => ({ ...row, body: "{}" }))],
    ["a changed request", "attempt_request", first((row) => ({ ...row, request: "{}" }))],
    ["a changed event", "generation_event", first((row) => ({ ...row, event: "{}" }))],
    ["a changed job", "attempt", first((row) => ({ ...row, job_id: "another" }))],
  ])("finds %s, which no chain covers, by comparison with the database", async (_, kind, change) => {
    const dir = await copy();
    await forge(dir, kind, change);
    expect(await faultsOf(dir)).toEqual([]);
    expect(await joinOf(books, dir)).toEqual(["the row differs from the database, or only one of them has it"]);
  });

  test("accepts an archive without its last manifest, and the database still continues it", async () => {
    const dir = await copy();
    rmSync(join(dir, manifestName(2)));
    expect(await faultsOf(dir)).toEqual([]);
    expect(await joinOf(books, dir)).toEqual([]);
  });

  test("rejects a database of another service, and one that does not continue the archive", async () => {
    const dir = await copy();
    const others = await fileBooks();
    try {
      expect(await joinOf(others, dir)).toContain("the archive belongs to the database of another service");
      await expect(archive(others.place, dir, LATER_BEFORE_MS + 1, LATER_BEFORE_MS)).rejects.toThrow(
        /the database of another service/,
      );
    } finally {
      await others.drop();
    }
    const { walked, manifests } = await checkOf(dir);
    const end = walked.ends.get(books.busy.seq);
    if (!end) throw new Error("the account is not archived");
    const asked = async (changed: Partial<typeof end>) => {
      const ends = new Map(walked.ends).set(books.busy.seq, { ...end, ...changed });
      return (await checkJoin(books.place, openDirectory(dir), { ...walked, ends }, manifests)).ok;
    };
    expect([await asked({}), await asked({ hash: "0".repeat(64) }), await asked({ chainSeq: end.chainSeq + 9 })]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("accepts the single manifest of two concurrent archive commands", async () => {
    await made;
    const dir = freshDir();
    const both = await Promise.allSettled([
      archive(books.place, dir, BEFORE_MS, BEFORE_MS),
      archive(books.place, dir, BEFORE_MS, BEFORE_MS),
    ]);
    expect(both.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
    expect(readdirSync(dir).filter((one) => one.startsWith("manifest"))).toEqual([manifestName(1)]);
    expect([await faultsOf(dir), existsSync(join(dir, SEGMENTS))]).toEqual([[], true]);
  });
});
