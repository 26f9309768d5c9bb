// Every test file runs in CI exactly once: in `npm test`, or in `npm run test:rest` when it needs a browser, PostgreSQL, crashes under load or much CPU time.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { LONG_FILES, NEEDS, needsOf, refuseInQuickSet, SET_VARIABLE, setOf, testFiles } from "../scripts/test-sets.ts";

const root = resolve(import.meta.dir, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Test files, found without the code of the sets. */
const filesBelow = (dir: string): string[] =>
  readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));

test("every *.test.ts file of the project is in exactly one of the two sets", () => {
  const [quick, rest] = (["quick", "rest"] as const).map((set) => testFiles().filter((file) => setOf(file) === set));
  expect([...(quick ?? []), ...(rest ?? [])].sort()).toEqual(filesBelow("test").sort());
  expect(quick?.filter((file) => rest?.includes(file))).toEqual([]);
  expect([quick?.length, rest?.length]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(Math.min(quick?.length ?? 0, rest?.length ?? 0)).toBeGreaterThan(30);
  // No test file is in a directory outside test/.
  const elsewhere = ["src", "actors", "catalogue", "proof", "scripts", "web", "client/src", "deploy", "examples"];
  expect(elsewhere.filter((dir) => existsSync(join(root, dir))).flatMap(filesBelow)).toEqual([]);
});

describe("needsOf derives the needs of a file from its imports", () => {
  test.each([
    ["test/browser/pages.test.ts", ["browser", "cases"]],
    ["test/browser/console-nodes.test.ts", ["browser", "postgres", "cases"]],
    ["test/store/postgres.test.ts", ["postgres"]],
    ["test/api-multi-node/codes.test.ts", ["postgres"]],
    ["test/store-migration/migrate.test.ts", ["postgres"]],
    ["test/crash/points.test.ts", ["crashes", "cases"]],
    ["test/cli/torture.test.ts", ["crashes", "cases"]],
    ["test/machine/pairs.test.ts", ["cases"]],
    ["test/security/provider-keys.test.ts", ["cases"]],
    ["test/api/codes.test.ts", []],
    ["test/store/sqlite.test.ts", []],
  ])("%s needs %p", (file, needs) => {
    expect(needsOf(file) as string[]).toEqual(needs);
  });

  test("every module in NEEDS exists, and only these modules start a browser or PostgreSQL in tests", () => {
    const startsOne = /chromium\.launch\(|binary\("initdb"\)/;
    const starters = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && path !== "sets.test.ts")
      .map((path) => `test/${path}`)
      .filter((path) => startsOne.test(read(path)));
    // The bench starts its own servers, outside the tests.
    expect(starters.filter((path) => !path.startsWith("test/bench/")).sort()).toEqual(
      [...NEEDS.browser, ...NEEDS.postgres].sort(),
    );
    expect(
      Object.values(NEEDS)
        .flat()
        .filter((path) => !existsSync(join(root, path))),
    ).toEqual([]);
  });
});

test("every file of LONG_FILES exists, needs nothing else and is in the set of `npm run test:rest`", () => {
  expect(LONG_FILES.filter((file) => !existsSync(join(root, file)) || needsOf(file).length > 0)).toEqual([]);
  expect([...new Set(LONG_FILES.map(setOf))]).toEqual(["rest"]);
});

test("refuseInQuickSet throws in `npm test`, and returns in every other run", () => {
  const before = process.env[SET_VARIABLE];
  try {
    process.env[SET_VARIABLE] = "quick";
    expect(() => refuseInQuickSet("a browser")).toThrow(/^a browser is started in `npm test`: import test\/browser/);
    process.env[SET_VARIABLE] = "rest";
    refuseInQuickSet("a browser");
    delete process.env[SET_VARIABLE];
    refuseInQuickSet("a browser");
  } finally {
    if (before === undefined) delete process.env[SET_VARIABLE];
    else process.env[SET_VARIABLE] = before;
  }
});
