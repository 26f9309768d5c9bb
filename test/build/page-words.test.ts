// Each page is built with the words that it shows.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { INSPECTOR_WORDS, wordsFor } from "../../web/build.ts";

const WEB = resolve(import.meta.dir, "../../web");
const read = (path: string) => readFileSync(path, "utf8");

/** A module and every module of the pages that it imports, also on demand. */
const modulesOf = (entry: string): Set<string> => {
  const found = new Set<string>();
  const follow = (path: string) => {
    if (found.has(path) || !path.startsWith(WEB) || !existsSync(path) || !/\.tsx?$/.test(path)) return;
    found.add(path);
    for (const [, target = ""] of read(path).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) follow(join(dirname(path), target));
  };
  follow(entry);
  return found;
};

test("the inspector has every section of the words that its modules read", () => {
  const modules = modulesOf(join(WEB, "inspector", "inspector.tsx"));
  expect(modules.size).toBeGreaterThan(25);
  const sections = [...modules].flatMap((path) =>
    [...read(path).matchAll(/\bwords\.(?!ts")(\w+)\b/g)].map(([, name]) => name ?? ""),
  );
  expect([...new Set(sections)].filter((name) => !INSPECTOR_WORDS.includes(name))).toEqual([]);
});

test.each(["en", "de"])("%s: a page gets its own sections complete, and no section of the other page", (language) => {
  const source = read(join(WEB, "words", `${language}.ts`));
  const namesOf = (text: string) => [...text.matchAll(/^ {2}(\w+)(?:: [{\w]|,$)/gm)].map(([, name]) => name ?? "");
  expect(namesOf(wordsFor("inspector", source)).sort()).toEqual([...INSPECTOR_WORDS].sort());
  expect(namesOf(wordsFor("console", source))).toEqual(namesOf(source).filter((name) => name !== "inspector"));
  for (const page of ["inspector", "console"] as const)
    expect(() => new Bun.Transpiler({ loader: "ts" }).transformSync(wordsFor(page, source))).not.toThrow();
});
