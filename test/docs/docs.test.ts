// The documents match the code: every printed part is current, and every linked file exists.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PRINTED } from "./printed.ts";

const root = resolve(import.meta.dir, "../..");
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/architecture.md",
  "docs/reference.md",
  "src/README.md",
  "actors/README.md",
  "catalogue/README.md",
  "catalogue/ROUTES.md",
  "src/torture/README.md",
  "test/README.md",
  "test/bench/README.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "examples/README.md",
  "deploy/BACKUP.md",
  "deploy/README.md",
  "deploy/S3.md",
  "docs/GROWTH.md",
  "docs/SPEED.md",
  "client/README.md",
];
const MARK = /<!-- printed: ([\w -]+) -->\n[\s\S]*?<!-- \/printed -->/g;

const printInto = (text: string): string =>
  text.replace(MARK, (_, name: string) => {
    const print = PRINTED[name];
    if (!print) throw new Error(`nothing prints ${name}; one of ${Object.keys(PRINTED).join(", ")}`);
    return `<!-- printed: ${name} -->\n${print()}\n<!-- /printed -->`;
  });

for (const page of PAGES)
  test(`${page} has current printed parts (UPDATE=1 prints them again)`, () => {
    const path = join(root, page);
    const text = readFileSync(path, "utf8");
    const current = printInto(text);
    if (process.env.UPDATE === "1" && current !== text) writeFileSync(path, current);
    else expect(current).toBe(text);
  });

test("every entry of PRINTED is printed into a page", () => {
  const used = PAGES.flatMap((page) => [...readFileSync(join(root, page), "utf8").matchAll(MARK)].map((match) => match[1]));
  expect(Object.keys(PRINTED).filter((name) => !used.includes(name))).toEqual([]);
});

test("every file that a page links to exists", () => {
  const broken: string[] = [];
  for (const page of PAGES)
    for (const match of readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g))
      if (!existsSync(join(root, dirname(page), match[1] ?? ""))) broken.push(`${page}: ${match[1]}`);
  expect(broken).toEqual([]);
});
