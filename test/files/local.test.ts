// Local file storage: files become visible whole and durable, and names stay inside the directory.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalStorage, type LocalFiles } from "../../src/files/local.ts";
import { type Files, StorageRefused } from "../../src/files/port.ts";
import { sweepFiles } from "../../src/files/retention.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "files-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const bytesOf = (text: string) => new TextEncoder().encode(text);
const put = async (files: LocalFiles, id: string, n: number, ...parts: string[]) => {
  const incoming = await files.receive(id, n);
  for (const part of parts) await incoming.write(bytesOf(part));
  await incoming.keep();
};
const textOf = async (files: Files, id: string, n: number) => (await files.open(id, n))?.text();
const everything = async () =>
  (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => entry.name);

test("shows a file only after it is kept, and then whole", async () => {
  const files = await createLocalStorage(dir);
  const incoming = await files.receive("gen_1a", 1);
  await incoming.write(bytesOf("one "));
  await incoming.write(bytesOf("two"));
  expect(await files.open("gen_1a", 1)).toBeUndefined();
  expect(await readFile(incoming.path, "utf8")).toBe("one two");
  await incoming.keep();
  await incoming.discard();
  expect(await textOf(files, "gen_1a", 1)).toBe("one two");
  expect(await textOf(await createLocalStorage(dir), "gen_1a", 1)).toBe("one two");
});

test("writes a held file when it is kept, and leaves nothing of one that is discarded", async () => {
  const files = await createLocalStorage(dir);
  const [kept, dropped] = [await files.receive("gen_1a", 1), await files.receive("gen_1a", 2)];
  for (const incoming of [kept, dropped]) incoming.hold([bytesOf("one "), bytesOf("two")]);
  expect(await everything()).toEqual([]);
  await kept.keep();
  await kept.discard();
  await dropped.discard();
  expect(await textOf(files, "gen_1a", 1)).toBe("one two");
  expect(await everything()).toEqual(["gen_1a.1"]);
  expect((await stat(join(dir, "gen_1a", "gen_1a.1"))).mode & 0o777).toBe(0o600);
});

test("leaves nothing of a file that is discarded while it is opened or written", async () => {
  const files = await createLocalStorage(dir);
  const [streamed, held] = [await files.receive("gen_1a", 1), await files.receive("gen_1a", 2)];
  const writing = streamed.write(bytesOf("half")).catch((fault: unknown) => fault);
  await streamed.discard();
  await writing;
  held.hold([new Uint8Array(1024 * 1024)]);
  const ending = held.end().catch((fault: unknown) => fault);
  await held.discard();
  await ending;
  expect(await streamed.write(bytesOf("late")).catch((fault: unknown) => fault)).toBeInstanceOf(StorageRefused);
  expect(await everything()).toEqual([]);
});

test("receives a file in any number of chunks, including empty ones", async () => {
  const files = await createLocalStorage(dir);
  const incoming = await files.receive("gen_1a", 1);
  const pieces = Array.from({ length: 2_500 }, (_, n) => `${n} `);
  await incoming.write(...pieces.flatMap((piece) => [bytesOf(piece), new Uint8Array(0)]));
  await incoming.write();
  await incoming.keep();
  expect(await textOf(files, "gen_1a", 1)).toBe(pieces.join(""));
});

test("leaves nothing of a discarded file", async () => {
  const files = await createLocalStorage(dir);
  const incoming = await files.receive("gen_1a", 1);
  await incoming.write(bytesOf("half"));
  await incoming.discard();
  await incoming.discard();
  expect(await files.open("gen_1a", 1)).toBeUndefined();
  expect(await everything()).toEqual([]);
});

test("stores the file that is kept last when one file is received twice at once", async () => {
  const files = await createLocalStorage(dir);
  const [a, b] = [await files.receive("gen_1a", 1), await files.receive("gen_1a", 1)];
  await a.write(bytesOf("aaaa"));
  await b.write(bytesOf("bb"));
  await a.keep();
  const reading = await files.open("gen_1a", 1);
  await b.keep();
  expect(await textOf(files, "gen_1a", 1)).toBe("bb");
  expect(reading).toBeDefined();
});

test("removes partly received files of a former process on open", async () => {
  const files = await createLocalStorage(dir);
  await put(files, "gen_1a", 1, "kept");
  const half = await files.receive("gen_1a", 2);
  await half.write(bytesOf("half"));
  expect((await everything()).length).toBe(2);
  await createLocalStorage(dir);
  expect(await everything()).toEqual(["gen_1a.1"]);
  await half.discard();
});

test("removes every file of one generation and no other, also when called twice", async () => {
  const files = await createLocalStorage(dir);
  for (const n of [1, 2, 3]) await put(files, "gen_1a", n, "x");
  await put(files, "gen_1b", 1, "y");
  await files.remove("gen_1a");
  await files.remove("gen_1a");
  expect(await files.open("gen_1a", 2)).toBeUndefined();
  expect(await textOf(files, "gen_1b", 1)).toBe("y");
});

test("stores generations of a few minutes in one directory and removes it with the last of them", async () => {
  const files = await createLocalStorage(dir);
  const homes = async () => (await readdir(dir)).filter((name) => name !== "incoming").sort();
  const ids = ["gen_0abcd0xyz", "gen_0abcd1xyz", "gen_0abce0xyz"] as const;
  await Promise.all(ids.map((id) => put(files, id, 1, id)));
  expect(await homes()).toEqual(["gen_0abcd", "gen_0abce"]);
  for (const id of ids) expect(await textOf(files, id, 1)).toBe(id);
  await files.remove(ids[0]);
  expect(await homes()).toEqual(["gen_0abcd", "gen_0abce"]);
  await files.remove(ids[1]);
  expect(await homes()).toEqual(["gen_0abce"]);
  // A late file recreates its removed directory.
  await put(files, ids[0], 1, "late");
  expect(await textOf(files, ids[0], 1)).toBe("late");
});

test("keeps each file whole or removes it when many are kept and removed concurrently", async () => {
  const files = await createLocalStorage(dir);
  const ids = Array.from({ length: 60 }, (_, n) => `gen_0abcd${n}z`);
  await Promise.all(
    ids.map(async (id, at) => {
      await put(files, id, 1, id);
      if (at % 2 === 0) await files.remove(id);
    }),
  );
  for (const [at, id] of ids.entries()) expect(await textOf(files, id, 1)).toBe(at % 2 === 0 ? undefined : id);
});

describe("invalid names", () => {
  const names = [
    "",
    "gen_",
    "gen_../../etc/passwd",
    "../x",
    "gen_A",
    "gen_a/b",
    "gen_a\0",
    "gen_%2e",
    "/etc/passwd",
    `gen_${"a".repeat(77)}`,
  ];
  test.each(names)("rejects the id %p without access outside the directory", async (id) => {
    const files = await createLocalStorage(join(dir, "inner"));
    await writeFile(join(dir, "1"), "secret");
    expect(await files.open(id, 1)).toBeUndefined();
    expect(await files.receive(id, 1).catch((error: unknown) => error)).toBeInstanceOf(StorageRefused);
    await files.remove(id);
    expect(await readFile(join(dir, "1"), "utf8")).toBe("secret");
    expect(await readdir(join(dir, "inner"))).toEqual(["incoming"]);
  });
  test.each([0, -1, 1.5, Number.NaN])("finds no file at position %p", async (n) => {
    expect(await (await createLocalStorage(dir)).open("gen_1a", n)).toBeUndefined();
  });
});

describe("disk errors", () => {
  const rejection = (work: Promise<unknown>) =>
    work.then(
      () => "nothing",
      (error: unknown) => (error instanceof StorageRefused ? error.message : error),
    );

  test("does not follow a symbolic link at the path of a new file", async () => {
    const files = await createLocalStorage(dir);
    const probe = await files.receive("gen_1a", 1);
    const next = probe.path.replace(/\.(\d+)\.part$/, (_, count) => `.${Number(count) + 1}.part`);
    await symlink("/dev/full", next);
    const incoming = await files.receive("gen_1a", 1);
    expect(await rejection(incoming.write(bytesOf("x")))).toBe("the disk returned an error: EEXIST");
    incoming.hold([bytesOf("x")]);
    expect(await rejection(incoming.keep())).toBe("the disk returned an error: EEXIST");
  });

  const isRoot = process.getuid?.() === 0;
  test.skipIf(!isRoot)(
    "rejects a write on a full file system, keeps existing files and writes again when there is space",
    async () => {
      const small = join(dir, "small");
      await mkdir(small);
      if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", small]).status !== 0) return;
      try {
        const files = await createLocalStorage(small);
        await put(files, "gen_1a", 1, "kept");
        const incoming = await files.receive("gen_1a", 2);
        expect(await rejection(incoming.write(new Uint8Array(1024 * 1024)))).toBe("the disk returned an error: ENOSPC");
        await incoming.discard();
        const held = await files.receive("gen_1a", 2);
        held.hold([new Uint8Array(1024 * 1024)]);
        expect(await rejection(held.keep())).toBe("the disk returned an error: ENOSPC");
        expect(await readdir(join(small, "incoming"))).toEqual([]);
        expect(await textOf(files, "gen_1a", 1)).toBe("kept");
        await put(files, "gen_1a", 2, "space again");
        expect(await textOf(files, "gen_1a", 2)).toBe("space again");
      } finally {
        spawnSync("umount", [small]);
      }
    },
  );

  test("reports a directory that cannot be made and a directory that disappears", async () => {
    await writeFile(join(dir, "file"), "");
    expect(await rejection(createLocalStorage(join(dir, "file", "x")))).toBe("the disk returned an error: ENOTDIR");
    const files = await createLocalStorage(join(dir, "gone"));
    const incoming = await files.receive("gen_1a", 1);
    await rm(join(dir, "gone"), { recursive: true });
    expect(await rejection(incoming.keep())).toBe("the disk returned an error: ENOENT");
    await incoming.discard();
    expect(await rejection((await files.receive("gen_1a", 1)).write())).toBe("the disk returned an error: ENOENT");
  });

  test("does not include a path in an error message", async () => {
    const said = String(await rejection(createLocalStorage("/dev/null/x")));
    expect(said).not.toContain("/");
  });
});

test("denies group and others access to files", async () => {
  const files = await createLocalStorage(dir);
  const incoming = await files.receive("gen_1a", 1);
  await incoming.write();
  expect((await stat(incoming.path)).mode & 0o077).toBe(0);
  await incoming.discard();
});

describe("retention", () => {
  const world = async (count: number) => {
    const files = await createLocalStorage(dir);
    const rows = Array.from({ length: count }, (_, seq) => ({ seq, id: `gen_${seq.toString(36)}`, isMarked: false }));
    for (const row of rows) await put(files, row.id, 1, "x");
    const expired = async (limit: number) => rows.filter((row) => !row.isMarked).slice(0, limit);
    const mark = async (seq: number) => {
      const row = rows[seq];
      if (row) row.isMarked = true;
      return true;
    };
    const left = async () => (await everything()).length;
    return { files, rows, expired, mark, left };
  };

  test("removes every expired file batch by batch, and finds nothing in a second sweep", async () => {
    const { files, expired, mark, left } = await world(25);
    expect(await sweepFiles({ expired, remove: files.remove, mark, batch: 10 })).toBe(25);
    expect(await left()).toBe(0);
    expect(await sweepFiles({ expired, remove: files.remove, mark, batch: 10 })).toBe(0);
  });

  test("after a crash between the removal of a file and the mark of its row, the next sweep marks the row", async () => {
    const { files, rows, expired, mark, left } = await world(3);
    const crashing = sweepFiles({ expired, remove: files.remove, mark: () => Promise.reject(new Error("killed")) });
    expect(await crashing.catch((error: unknown) => String(error))).toContain("killed");
    expect([await left(), rows.filter((row) => row.isMarked).length]).toEqual([2, 0]);
    expect(await sweepFiles({ expired, remove: files.remove, mark })).toBe(3);
    expect([await left(), rows.filter((row) => row.isMarked).length]).toEqual([0, 3]);
  });

  test("stops the sweep when a row cannot be written", async () => {
    const { files, expired } = await world(3);
    expect(await sweepFiles({ expired, remove: files.remove, mark: async () => false, batch: 1 })).toBe(0);
  });

  test("stops the sweep between two generations during a drain", async () => {
    const { files, expired, mark, left } = await world(5);
    const stop = new AbortController();
    const swept = await sweepFiles({
      expired,
      remove: files.remove,
      mark: async (seq) => {
        if (seq === 1) stop.abort();
        return mark(seq);
      },
      signal: stop.signal,
    });
    expect([swept, await left()]).toEqual([2, 3]);
  });
});
