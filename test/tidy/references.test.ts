// Rules for references: tests, comments and file names do not refer to lists or documents outside the repository.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { list, read, root, SOURCES, TESTS } from "./sources.ts";

/** A code of a list, such as `B26` or `S9d`, except the names of an API and of an engine. */
const CODE = "(?!(?:S3|V8)\\b)[A-Z]\\d{1,2}[a-z]?";
/** A title, a row or a key of a table that begins with codes: `"A1, B26: …"`, `id: "operator B26"`. */
const IN_TEXT = new RegExp(
  `(?:[([]|\\b(?:id|name|fault|defect|reader):)\\s*["'\`](?:[a-z]+ )?${CODE}(?:, ${CODE})*(?:: |["'\`])`,
  "g",
);
/** A cell of a document that contains only a code. */
const IN_CELL = new RegExp(`^\\| ${CODE} \\|`, "gm");
const IN_COMMENT = new RegExp(`\\b${CODE}\\b|\\b(?:[Ff]inding|[Dd]efect|[Ff]ault|item) \\d+\\b`, "g");
const IN_FILE_NAME = /(?<=^|-)(?!(?:s3|v1)\b)[a-z]\d{1,2}[a-z]?(?=[-.])/g;

const commentsOf = (text: string): string[] =>
  text.split("\n").flatMap((line) => /(?:^\s*|\s)(?:\/\/|\/\*\*?|\*) (.+)$/.exec(line)?.[1] ?? []);
const codesInText = (text: string): string[] => [...text.matchAll(IN_TEXT), ...text.matchAll(IN_CELL)].map(([found]) => found);
const codesInComments = (text: string): string[] =>
  commentsOf(text).flatMap((comment) => [...comment.replace(/`[^`]*`/g, "").matchAll(IN_COMMENT)].map(([found]) => found));
const codesInName = (path: string): string[] => [...basename(path).matchAll(IN_FILE_NAME)].map(([found]) => found);
/** Documents that the comments name, relative to the root, to the file or to one of the folders with documents. */
const missingDocuments = (path: string, text: string): string[] =>
  commentsOf(text)
    .flatMap((comment) => comment.match(/[\w./-]+\.md\b/g) ?? [])
    .filter(
      (name) =>
        name !== "LICENSE.md" &&
        !["", dirname(path), "docs", "deploy", "catalogue"].some((from) => existsSync(join(root, from, name))),
    );

test("the check finds codes in titles, rows, keys, comments and file names, and missing documents", () => {
  const titles = ["M3", "B26, S9d"].flatMap((codes) => [`test("${codes}: rejects it", run)`, `])(\n  "${codes}: accepts %s"`]);
  const others = ['["S2"', 'id: "operator A15"', "| A12 | a promise |", "describe(`A1: reads it`)"];
  expect([...titles, ...others].filter((text) => codesInText(text).length === 0)).toEqual([]);
  expect(codesInComments("// Fault D9: a defect.\n/** Dialect finding 2: a path. */\nrun(); // S9d")).toEqual([
    "D9",
    "finding 2",
    "S9d",
  ]);
  expect(codesInName("test/regressions/security-s9d.test.ts")).toEqual(["s9d"]);
  expect(missingDocuments("test/a.ts", "// Bucket outage (operator.md 5): one probe, as in docs/glossary.md.")).toEqual([
    "operator.md",
  ]);
  expect([
    ...codesInText('test("S3: stores a file"); read("deploy/S3.md")'),
    ...codesInComments("// The S3 client of V8, not p4 of `A8`."),
    ...codesInName("test/files/s3.test.ts"),
  ]).toEqual([]);
});

test("titles, rows and keys of the tests and the documents contain no code of a list", () => {
  const exempt = ["test/tidy/references.test.ts"];
  const paths = [...TESTS, ...list("{scripts,docs,test}/**/*.{mjs,md}"), ...list("scripts/*.ts"), ...list("*.md")];
  const searched = paths.filter((path) => !exempt.includes(path) && !path.includes("node_modules"));
  expect(searched.flatMap((path) => codesInText(read(path)).map((code) => `${path}: ${code}`))).toEqual([]);
});

test("comments contain no code of a list and name only documents of the repository", () => {
  const paths = [...SOURCES, ...TESTS, ...list("scripts/*.{ts,mjs}")].filter((path) => path !== "test/tidy/references.test.ts");
  const found = paths.flatMap((path) => {
    const text = read(path);
    return [...codesInComments(text), ...missingDocuments(path, text)].map((fault) => `${path}: ${fault}`);
  });
  expect(found).toEqual([]);
});

test("file names of the tests contain no code of a list", () => {
  const paths = list("test/**/*.{ts,tsx,json,patch}").filter((path) => !path.includes("node_modules"));
  expect(paths.flatMap((path) => codesInName(path).map((code) => `${path}: ${code}`))).toEqual([]);
});
