// The recipes for contributors: files, symbols and commands that they name exist.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { allOf, treeOf } from "../../src/cli/command-tree.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";

const root = resolve(import.meta.dir, "../..");
const FOLDER = "docs/contributing";
const PAGES = ["CONTRIBUTING.md", ...readdirSync(join(root, FOLDER)).map((name) => `${FOLDER}/${name}`)].sort();
const RECIPES = PAGES.filter((path) => path.startsWith(`${FOLDER}/add-`));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Text of a page without its code blocks, in one line. */
const proseOf = (page: string): string =>
  read(page)
    .replace(/^ *```[\s\S]*?^ *```$/gm, "")
    .replace(/\s+/g, " ");

type Anchor = { symbol: string; file: string };
/** Symbols that the page locates as `` `symbol` in [file](path) ``, also several at once. */
const anchorsOf = (page: string): Anchor[] =>
  [...proseOf(page).matchAll(/((?:`[^`]+`(?:, | and | of )?)+) in \[[^\]]+\]\(([^)#]+)\)/g)].flatMap(
    ([, symbols = "", path = ""]) =>
      [...symbols.matchAll(/`([^`]+)`/g)].map(([, symbol = ""]) => ({ symbol, file: join(dirname(page), path) })),
  );

/** Commands of a page: lines of its console blocks, and inline code that begins like one, without comments and settings. */
const commandsOf = (page: string): string[] =>
  [
    ...[...read(page).matchAll(/^ *\$ (.+)$/gm)].map(([, line = ""]) => line),
    ...[...proseOf(page).matchAll(/`((?:UPDATE=1 )?(?:npm|genrouter) [^`]+)`/g)].map(([, code = ""]) => code),
  ].map((line) => line.replace(/\s+#.*$/, "").replace(/^(?:[A-Z_]+=\S+ )+/, ""));

const SCRIPTS: Readonly<Record<string, string>> = packageJson.scripts;
const commands = allOf(treeOf(buildProgram({ terminal: createTerminal({}, () => undefined), env: {}, exit: 0 })));

/** Why a command of the service would not run; undefined when its words and flags exist. */
const faultOfService = (words: readonly string[]): string | undefined => {
  const found = commands
    .filter((node) => node.words.length > 0 && node.words.every((word, at) => words[at] === word))
    .sort((a, b) => b.words.length - a.words.length)[0];
  if (words[0]?.startsWith("--")) return undefined;
  if (!found || found.children.length > 0) return `no command ${words.join(" ")}`;
  const flags = words.filter((word) => /^--?[a-z]/.test(word));
  const unknown = flags.filter((flag) => !found.flags.some(({ names }) => names.includes(flag)));
  return unknown.length === 0 ? undefined : `${found.words.join(" ")} has no flag ${unknown.join(", ")}`;
};

const isTest = (path: string): boolean =>
  existsSync(join(root, path)) &&
  (statSync(join(root, path)).isFile()
    ? path.endsWith(".test.ts")
    : readdirSync(join(root, path), { recursive: true, encoding: "utf8" }).some((name) => name.endsWith(".test.ts")));

/** Why a command would not run; undefined when it would run. */
const faultOf = (command: string): string | undefined => {
  const [program, ...words] = command.split(" ");
  if (program === "genrouter") return faultOfService(words);
  if (program !== "npm") return program === "export" ? undefined : `no such program: ${command}`;
  if (words[0] === "start") return undefined;
  const args = words.slice(words[0] === "run" ? 1 : 0).filter((word) => word !== "-s");
  const [name = "", separator, ...rest] = args;
  const script = SCRIPTS[name];
  if (script === undefined) return `no script ${name}`;
  if (separator !== undefined && separator !== "--") return `arguments need --: ${command}`;
  if (name === "genrouter") return faultOfService(rest);
  if (name === "test")
    return rest.filter((word) => word.startsWith("test/") && !isTest(word)).map((word) => `no test ${word}`)[0];
  const source = script.split(" ").find((word) => /\.(ts|mjs)$/.test(word) && word !== "scripts/bun.mjs");
  const flags = rest.filter((word) => word.startsWith("--") && name !== "dev");
  return flags.filter((flag) => source && !read(source).includes(flag)).map((flag) => `${name} has no ${flag}`)[0];
};

test("every recipe has numbered steps, locates at least three symbols and contains at least two commands", () => {
  expect(RECIPES).toHaveLength(8);
  for (const page of RECIPES) {
    const steps = [...read(page).matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));
    expect([page, steps]).toEqual([page, steps.map((_, at) => at + 1)]);
    expect([page, steps.length >= 8, anchorsOf(page).length >= 3, commandsOf(page).length >= 2]).toEqual([
      page,
      true,
      true,
      true,
    ]);
  }
});

test("every symbol that a page locates is in the named file", () => {
  const anchors = PAGES.flatMap((page) => anchorsOf(page).map((anchor) => ({ page, ...anchor })));
  expect(anchors.length).toBeGreaterThan(80);
  const lacking = anchors.filter(({ symbol, file }) => {
    const pattern = new RegExp(`(?<![\\w$])${symbol.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w$])`);
    return !existsSync(join(root, file)) || !pattern.test(read(file));
  });
  expect(lacking.map(({ page, symbol, file }) => `${page}: ${symbol} is not in ${file}`)).toEqual([]);
});

test("every path in the inline code of the pages exists", () => {
  const paths = PAGES.flatMap((page) =>
    [...proseOf(page).matchAll(/`((?:actors|catalogue|client|deploy|docs|examples|scripts|src|test|web)(?:\/[\w./-]+)?)`/g)].map(
      ([, path = ""]) => `${page}: ${path}`,
    ),
  );
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((line) => !existsSync(join(root, line.split(": ")[1] ?? "")))).toEqual([]);
});

test("every command that a page names exists with its flags", () => {
  const named = PAGES.flatMap((page) => commandsOf(page).map((command) => ({ page, command })));
  expect(named.length).toBeGreaterThan(60);
  expect(named.flatMap(({ page, command }) => (faultOf(command) === undefined ? [] : `${page}: ${faultOf(command)}`))).toEqual(
    [],
  );
});

test("faultOf reports unknown scripts, tests, commands and flags", () => {
  expect(faultOf("npm run no-such-script")).toBe("no script no-such-script");
  expect(faultOf("npm test -- test/no-such")).toBe("no test test/no-such");
  expect(faultOf("npm run simulate -- --seedz 3")).toBe("simulate has no --seedz");
  expect(faultOf("genrouter routes paint")).toBe("no command routes paint");
  expect(faultOf("genrouter routes test a/b --bye")).toBe("routes test has no flag --bye");
});
