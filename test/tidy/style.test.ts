// Rules of style: length and first line of files, and the words that names and comments do not use.
import { expect, test } from "bun:test";
import { list, read, SOURCES, TESTS } from "./sources.ts";

test("the statecharts use no clock, network, database, process or Bun API", () => {
  const impure = /\bDate\b|\bMath\.random\b|\bsetTimeout\b|\bfetch\(|\bBun\.|\bprocess\.|from "node:|bun:sqlite/;
  expect(list("actors/**/*.ts").filter((path) => impure.test(read(path).replace(/^\s*(\/\/|\*|\/\*).*$/gm, "")))).toEqual([]);
});

test("only the store contains SQL", () => {
  const sql = /\b(SELECT|INSERT INTO|DELETE FROM)\b[^"'`]*\b(FROM|INTO|VALUES|WHERE)\b/;
  expect(SOURCES.filter((path) => !path.startsWith("src/store/") && sql.test(read(path)))).toEqual([]);
});

/** Catalogues of words: a language is one file. */
const isLanguage = (path: string) => /^web\/words\/[a-z]{2}(?:-\w+)?\.ts$/.test(path);

test("every file has at most 400 lines and begins with one sentence in a comment", () => {
  const faults: string[] = [];
  for (const path of [...SOURCES, ...TESTS, ...list("scripts/*.{ts,mjs}")]) {
    const text = read(path);
    const lines = text.split("\n").length - 1;
    if (lines > 400 && !isLanguage(path)) faults.push(`${path}: ${lines} lines`);
    if (path.endsWith(".d.ts")) continue;
    const [first = "", second = ""] = text.split("\n");
    const sentence = second.startsWith("// ") ? `${first} ${second.slice(3)}` : first;
    if (!/^\/\/ [A-Za-z`"].{15,}[.)`]$/.test(sentence)) faults.push(`${path}: begins with ${JSON.stringify(first)}`);
  }
  expect(faults).toEqual([]);
});

test("at least half of the source files have at most 150 lines", () => {
  const lengths = SOURCES.map((path) => read(path).split("\n").length).sort((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(150);
});

/** Classes with a rule of their own in a stylesheet, outside of media queries. */
const classesOf = (path: string): string[] => {
  const rules = read(path)
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/^@[^{]*\{[\s\S]*?^\}/gm, "");
  return [...rules.matchAll(/([^{}]+)\{/g)].flatMap(([, selectors = ""]) =>
    selectors.split(",").flatMap((one) => /^\s*\.([\w-]+)\s*$/.exec(one)?.[1] ?? []),
  );
};

// All stylesheets are one file in the browser, so a second rule changes the pages of the first one.
test("a class has its own rule in one stylesheet only", () => {
  const owners = new Map<string, Set<string>>();
  for (const path of list("web/style/*.css"))
    for (const name of classesOf(path)) owners.set(name, (owners.get(name) ?? new Set()).add(path));
  expect(owners.size).toBeGreaterThan(200);
  expect([...owners].filter(([, paths]) => paths.size > 1).map(([name, paths]) => `${name}: ${[...paths].join(", ")}`)).toEqual(
    [],
  );
});

/** Words without meaning that names of declarations, files and folders do not use. */
const BANNED = /^(get|util)(?=[A-Z]|$)|(Manager|Util|Utils|Helper|Helpers)$/;
test("declarations, folders and files do not use vacuous names", () => {
  const faults: string[] = [];
  for (const path of SOURCES)
    for (const match of read(path).matchAll(/\b(?:const|let|function|class|type|interface|enum)\s+([A-Za-z_$][\w$]*)/g))
      if (BANNED.test(match[1] ?? "")) faults.push(`${path}: ${match[1]}`);
  expect(faults).toEqual([]);
  const folders = SOURCES.filter((path) => /\/(utils?|helpers?|lib|common)(\/|\.ts$)/.test(path));
  expect(folders).toEqual([]);
  expect(SOURCES.filter((path) => /\/index\.ts$/.test(path))).toEqual([]);
});

test("no file has a default export, the type `any` or an open TODO", () => {
  const faults: string[] = [];
  for (const path of [...SOURCES, ...TESTS]) {
    if (path.endsWith(".d.ts") || path === "test/tidy/style.test.ts") continue;
    const text = read(path);
    if (/^export default\b/m.test(text)) faults.push(`${path}: default export`);
    if (
      /[:<(|]\s*any\b(?!\s+[a-z])|\bas any\b/.test(text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "").replace(/`[^`]*`|"[^"]*"/g, '""'))
    )
      faults.push(`${path}: any`);
    if (/\b(TODO|FIXME|XXX)\b/.test(text)) faults.push(`${path}: something left to do`);
  }
  expect(faults).toEqual([]);
});

test("functions have at most 60 lines, other than in files that had longer ones before the rule", () => {
  // The list in biome.json only shrinks: shorten the functions of a file, then remove it there.
  const { overrides } = JSON.parse(read("biome.json")) as { overrides: { includes: string[]; linter: { rules: object } }[] };
  const exempt = overrides.flatMap(({ includes, linter }) =>
    JSON.stringify(linter.rules).includes('"noExcessiveLinesPerFunction":"off"') ? includes : [],
  );
  expect(exempt.length).toBeLessThanOrEqual(96);
  expect(exempt.filter((path) => !SOURCES.includes(path))).toEqual([]);
});
