// References in comments and documents: sections of the interface, numbered decisions, and files of the repository.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "../..");
const list = (...patterns: string[]): string[] =>
  patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]).filter((path) => !path.includes("node_modules/"));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const SOURCES = list("{src,actors,catalogue}/**/*.{ts,sql}", "web/**/*.{ts,tsx}").sort();
// This file contains the patterns that it searches for.
const TESTS = list("test/**/*.ts", "scripts/*.{ts,mjs}")
  .filter((path) => path !== "test/docs/references.test.ts")
  .sort();
const PAGES = ["README.md", "CONTRIBUTING.md", "src/README.md", ...list("docs/**/*.md").sort()];
const DECISIONS = list("docs/decisions/[0-9]*.md").sort();
const INTERFACE = "docs/interface.md";

/** Text of the comments of a file: comment lines and comments at the end of a line. */
const commentsOf = (path: string): string =>
  read(path)
    .split("\n")
    .flatMap((line) => /^\s*(?:\/\/|\/?\*|--)(.*)$/.exec(line)?.[1] ?? /[;,{})\]]\s*(?:\/\/|--)\s(.*)$/.exec(line)?.[1] ?? [])
    .join("\n");
const sectionsIn = (text: string): string[] => [...text.matchAll(/§ ?(\d+(?:\.\d+)*)/g)].map(([, number = ""]) => number);

test("comments and pages cite sections that docs/interface.md has", () => {
  const headings = new Set([...read(INTERFACE).matchAll(/^#{2,3} (\d+(?:\.\d+)*)\.? /gm)].map(([, number]) => number));
  expect(headings.size).toBeGreaterThan(20);
  // A reference to a section of a standard contains the number of the standard.
  const ownIn = (text: string): string[] => sectionsIn(text.replace(/§[\d.]+ (of|in) RFC \d+/g, ""));
  const cited = [
    ...[...SOURCES, ...TESTS].map((path) => [path, commentsOf(path)] as const),
    ...PAGES.map((path) => [path, read(path)] as const),
  ];
  const unknown = cited.flatMap(([path, text]) =>
    ownIn(text).flatMap((number) => (headings.has(number) ? [] : `${path}: §${number}`)),
  );
  expect(unknown).toEqual([]);
  expect(SOURCES.flatMap((path) => ownIn(commentsOf(path))).length).toBeGreaterThan(40);
});

test("decisions are numbered without gaps, dated, and have their four parts in order", () => {
  expect(DECISIONS.length).toBeGreaterThan(10);
  const faults = DECISIONS.flatMap((path, at) => {
    const number = String(at + 1).padStart(4, "0");
    const text = read(path);
    return [
      path.startsWith(`docs/decisions/${number}-`) ? [] : `${path}: its number is not ${number}`,
      text.startsWith(`# ${number}. `) ? [] : `${path}: its title does not begin with "# ${number}. "`,
      /^Date: 20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/m.test(text) ? [] : `${path}: has no line "Date: YYYY-MM-DD"`,
      /^## Context\n[\s\S]*^## Decision\n[\s\S]*^## Alternatives considered\n[\s\S]*^## Consequences\n/m.test(text)
        ? []
        : `${path}: its parts`,
      text.split("\n").length <= 46 ? [] : `${path}: has more than 45 lines`,
      read("docs/decisions/README.md").includes(`](${path.slice("docs/decisions/".length)})`) ? [] : `${path}: is not listed`,
    ].flat();
  });
  expect(faults).toEqual([]);
});

/** Anchors of headings, as GitHub generates them. */
const anchorsOf = (path: string): Set<string> =>
  new Set(
    [...read(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );

test("links in README.md, CONTRIBUTING.md, src/README.md and docs point to files and headings of the repository", () => {
  const links = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = "", anchor]) => ({
      page,
      path,
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(50);
  const broken = links.flatMap(({ page, path, anchor }) => {
    const target = path === "" ? page : join(dirname(page), path);
    if (target.startsWith("..") || !existsSync(join(root, target))) return `${page}: ${path}`;
    const isFound = anchor === undefined || !target.endsWith(".md") || anchorsOf(target).has(anchor);
    return isFound ? [] : `${page}: ${path}#${anchor}`;
  });
  expect(broken).toEqual([]);
});

test("no comment and no page refers to a file outside the repository", () => {
  const texts = [
    ...[...SOURCES, ...TESTS].map((path) => [path, commentsOf(path)] as const),
    // The description of a mutant is printed, so it counts as a comment.
    ...list("test/mutants/*.ts").map((path) => [path, read(path)] as const),
    ...[...PAGES, ...list("*.md", "{src,actors,catalogue,test,deploy,client}/**/*.md")].map(
      (path) => [path, read(path)] as const,
    ),
  ];
  const outside =
    /\b(?:spec|decisions|failure-model)\.md\b|\.\.\/shared\/|\bfailure model\b|\((?:F\d+)\)|\bdecisions, "|of the decisions\b/;
  expect(texts.flatMap(([path, text]) => (outside.exec(text) ?? []).map((found) => `${path}: ${found}`))).toEqual([]);
});

test("a link with the name of a function or type leads to the file that declares it", () => {
  const links = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\[`(\w+)`\]\(([^)#]+\.tsx?)\)/g)].map(([, name = "", path = ""]) => ({ page, name, path })),
  );
  expect(links.length).toBeGreaterThan(40);
  const declares = (text: string, name: string) =>
    new RegExp(`^export (?:async )?(?:abstract )?(?:const|let|function|class|type|interface|enum) ${name}\\b`, "m").test(text);
  const broken = links.filter(({ page, name, path }) => {
    const file = join(dirname(page), path);
    return !existsSync(join(root, file)) || !declares(read(file), name);
  });
  expect(broken).toEqual([]);
});
