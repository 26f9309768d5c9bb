// Faults of hosts, disks, database files and names: each command reports them with a remedy and an exit code.
import { afterAll, describe, expect, test } from "bun:test";
import { closeSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../src/cli/exit-codes.ts";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import { StorageRefused } from "../../src/files/port.ts";
import { openDirectory } from "../store/open-store.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const mistakeOf = (err: string): { code: string; message: string } => {
  expect(err.trimEnd()).not.toContain("\n");
  return (JSON.parse(err) as { error: { code: string; message: string } }).error;
};

test.each(["0", "8080"])("serve exits with 2 and reports a host that does not resolve, not port %s in use", async (port) => {
  const words = ["serve", "--simulate", "--host", "no.such.host.invalid", "--port", port, "--data", freshDir()];
  const { exit, err } = await runHere(words, { GENROUTER_OPERATOR__TOKEN: "a-token-to-listen-with-beyond" });
  expect(exit as number).toBe(2);
  expect(err).toMatch(
    /^error: cannot listen at no\.such\.host\.invalid: the name does not resolve to an address; set .*--host.*\n$/,
  );
});

test("serve rejects the key of an unknown provider with exit code 2 and lists the known providers", async () => {
  const { exit, err } = await runHere(["serve", "--data", freshDir()], { GENROUTER_PROVIDERS__NOPE__KEY: "canary" });
  expect(exit as number).toBe(2);
  expect(err).toMatch(/^error: GENROUTER_PROVIDERS__NOPE: there is no such provider; there are bfl, .*fal, .*wavespeed\n$/);
});

test.each([4, 20])(
  "reports a disk that is full when a data directory is created (%d pages) with exit code 78 and a remedy",
  async (maxPages) => {
    const fault = await openDirectory({ dir: freshDir(), mode: "test", pragmas: { maxPages } }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const reported = await messageOf(fault);
    expect(reported).toMatchObject({ exit: 78, code: "directory_unusable", expected: true });
    expect(reported.lines).toEqual([expect.stringMatching(/: the disk is full \(SQLITE_FULL\); free space/)]);
  },
);

test("reports a disk that is full at a write with exit code 75 and a remedy", async () => {
  expect(await messageOf(new StoreFull("the disk is full"))).toMatchObject({
    exit: 75,
    lines: ["the disk is full", expect.stringContaining("free space")],
  });
});

describe("a damaged database", () => {
  const damage: Record<string, (file: string) => void> = {
    "overwritten header": (file) => {
      const fd = openSync(file, "r+");
      writeSync(fd, "rubbish where a header was", 0);
      closeSync(fd);
    },
    "truncated file": (file) => truncateSync(file, 20_000),
  };
  test.each(Object.keys(damage))("makes every command exit with 2: %s", async (name) => {
    const dir = freshDir();
    await (await openDirectory({ dir, mode: "test" })).close();
    damage[name]?.(join(dir, "genrouter.db"));
    for (const words of [["serve", "--simulate", "--port", "0"], ["accounts", "list"], ["trace", "gen_x"], ["verify"]]) {
      const { exit, err } = await runHere([...words, "--data", dir]);
      expect([words, exit as number, err]).toEqual([words, 2, expect.stringMatching(/^error: .*damaged.*restore a backup/)]);
    }
  });

  test("is reported with exit code 2 when SQLite finds the damage only at a read", async () => {
    const fault = Object.assign(new Error("database disk image is malformed"), { code: "SQLITE_CORRUPT_INDEX" });
    expect(await messageOf(fault)).toMatchObject({ exit: 2, code: "store_damaged", expected: true });
  });
});

test.each<[string[]]>([
  [["accounts", "list"]],
  [["accounts", "create", "--name", "x"]],
  [["trace", "gen_x"]],
  [["verify"]],
  [["serve", "--simulate", "--port", "0"]],
])("%p exits with 78 when --data names a file", async (words) => {
  const file = join(freshDir(), "file");
  writeFileSync(file, "");
  const { exit, err } = await runHere([...words, "--data", file]);
  expect([exit as number, err]).toEqual([78, expect.stringContaining(file)]);
});

test.each([["trace", "gen_x"] as const, ["verify", ""] as const])(
  "%s reports a remedy when SQLite cannot write beside the database",
  async (command, id) => {
    const dir = freshDir();
    await (await openDirectory({ dir, mode: "test" })).close();
    // SQLite cannot create the index of the write-ahead log, as on a read-only disk; this holds for root too.
    symlinkSync(join(dir, "no such directory", "x"), join(dir, "genrouter.db-shm"));
    const { exit, err } = await runHere([command, ...(id ? [id] : []), "--data", dir]);
    expect([exit as number, err]).toEqual([78, expect.stringMatching(/cannot be read .*copy the directory .*--data\n$/)]);
  },
);

describe("with --json a usage error is JSON", () => {
  test.each<[string[], string, RegExp]>([
    [["acounts", "--json"], "usage", /^unknown command 'acounts' \(Did you mean accounts\?\)$/],
    [["accounts", "create", "--json"], "usage", /^required option '--name <name>' not specified$/],
    [["accounts", "create", "--name", "", "--json"], "bad_flag", /^--name: expected a name of 1 to/],
    [["accounts", "create", "--name", "  ", "--json"], "bad_flag", /^--name: expected a name of 1 to/],
    [["keys", "create", "--account", "a", "--scope", "admin", "--json"], "usage", /Allowed choices are generate, read/],
  ])("%p exits with 2 and error code %s", async (words, code, message) => {
    const { exit, out, err } = await runHere(words);
    expect([exit as number, out]).toEqual([2, ""]);
    expect(mistakeOf(err)).toEqual({ code, message: expect.stringMatching(message) as unknown as string });
  });
});

test("accounts set shows the retention of texts that it stored", async () => {
  const at = ["--data", freshDir()];
  const made = await runHere(["accounts", "create", "--name", "a", "--json", ...at]);
  const { id } = JSON.parse(made.out) as { id: string };
  const set = async (text: string) =>
    JSON.parse((await runHere(["accounts", "set", id, "--prompt-retention", text, "--json", ...at])).out);
  expect((await set("2592000")).prompt_retention_s).toBe(2_592_000);
  expect((await runHere(["accounts", "list", ...at])).out).toMatch(/TEXTS KEPT\n.* 2592000 s\n/);
  expect((await set("forever")).prompt_retention_s).toBe("forever");
  expect((await set("default")).prompt_retention_s).toBeNull();
});

test("credits take reports every debt, and a pause only when the transfer paused the account", async () => {
  const dir = freshDir();
  const at = ["--data", dir];
  const made = await runHere(["accounts", "create", "--name", "a", "--credit-usd", "10", "--json", ...at]);
  const { id } = JSON.parse(made.out) as { id: string };
  const move = async (...words: string[]) => (await runHere(["credits", ...words, "--account", id, ...at])).out;
  expect(await move("take", "--usd", "4")).toBe("taken $4.00  balance $6.00  available $6.00\n");
  expect(await move("take", "--usd", "8")).toMatch(/ {2}owed \$2\.00 {2}account paused\n$/);
  await runHere(["accounts", "resume", id, ...at]);
  expect(await move("take", "--usd", "1", "--reference", "r")).toContain("  owed $");
  await runHere(["accounts", "resume", id, ...at]);
  // A repeated reference transfers nothing, so it does not pause the account either.
  const again = await move("take", "--usd", "1", "--reference", "r");
  expect(again).toContain("  owed $");
  expect(again).not.toContain("paused");
});

test("reports a disk that refuses the directory of result files with exit code 78 and a remedy", async () => {
  expect(await messageOf(new StorageRefused("the disk returned an error: EIO"))).toMatchObject({
    exit: 78,
    lines: ["the result files of the data directory: the disk returned an error: EIO", expect.stringContaining("start again")],
    expected: true,
  });
});
