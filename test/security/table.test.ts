// Tables of security checks, criteria and promises to users: every line names existing tests, and every area has lines.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CRITERIA } from "../docs/criteria.ts";
import { USER_PROMISES } from "../docs/user-promises.ts";
import { LINES } from "./table.ts";

const TESTS = join(import.meta.dir, "..");

const PROMISES = CRITERIA.map(({ reader, promise, held }) => [`for ${reader}: ${promise}`, held] as const);
const NOTICED = USER_PROMISES.map(([promise, ...held]) => [`noticed: ${promise}`, held] as const);
const CHECKS = LINES.map((line) => [`${line.area}: ${line.line}`, line.held] as const);
test.each([...CHECKS, ...PROMISES, ...NOTICED])("%s", (_line, held) => {
  expect(held.length).toBeGreaterThan(0);
  for (const [file, name] of held) {
    const path = join(TESTS, file);
    expect([file, existsSync(path)]).toEqual([file, true]);
    const text = readFileSync(path, "utf8");
    expect([file, name, text.includes(name)]).toEqual([file, name, true]);
    // The file must contain tests or a table of test cases.
    expect([file, /\btest(?:\.each|\.skipIf)?[(<]|\bjudge\(|\bexport const guards\b/.test(text)]).toEqual([file, true]);
  }
});

test("the security checks have no duplicate line and cover every area", () => {
  expect(new Set(LINES.map(({ area, line }) => `${area} ${line}`)).size).toBe(LINES.length);
  const areas = ["auth", "isolation", "ids", "body", "ssrf", "http", "abuse", "money", "secrets", "links", "files", "build"];
  expect([...new Set(LINES.map(({ area }) => area))]).toEqual(areas);
});

test("the promises to users are different sentences", () => {
  expect(new Set(USER_PROMISES.map(([promise]) => promise)).size).toBe(USER_PROMISES.length);
});
