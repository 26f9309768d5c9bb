// Rules of vocabulary: words that no name, comment, message, document or setting uses.
//
// Every text file of the repository is read. A name counts as the words that it is composed of.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import type { Command } from "commander";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { root } from "./sources.ts";

/** Words that names and prose do not use, from docs/glossary.md. A space stands for any space, line break or comment sign. */
const NOT_USED = [
  ...["told", "tells?", "telling", "whoever", "nobody", "somebody", "anew", "for ever"],
  ...[
    "(?:go|goes|going|went|gone) on",
    "(?:hold|holds|held|holding) up(?! to)",
    "look(?:s|ed|ing)? on",
    "(?:come|comes|came|coming) to",
  ],
  ...[
    "journeys?",
    "away",
    "mend(?:s|ed|ing)?",
    "programmes?",
    "houses?",
    "halls?",
    "rooms?",
    "corridors?",
    "doors?",
    "desks?",
    "offices?",
  ],
  ...["deeds?", "errands?"],
];
/** Between two words: spaces, underscores, and the sign with which a comment continues on the next line. */
const GAP = "(?:[\\s_]+(?:(?:\\*|#|--|//+)[ \\t]+)?)";
const pattern = new RegExp(`(?<![A-Za-z])(?:${NOT_USED.map((word) => word.replaceAll(" ", GAP)).join("|")})(?![A-Za-z])`, "gi");
/** Separates the words of a name such as `isToldBy` or `URLDoor`. */
const separated = (text: string): string => text.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, " ");

const inText = (where: string, text: string): string[] => {
  const words = separated(text);
  return [...words.matchAll(pattern)].map(
    ({ 0: word, index }) => `${where}:${words.slice(0, index).split("\n").length}: ${word}`,
  );
};

test("the check finds rejected words in prose, over a line break and inside names", () => {
  expect(inText("here", "Nobody is told anew.")).toEqual(["here:1: Nobody", "here:1: told", "here:1: anew"]);
  expect(
    inText("here", "openCorridor-house.ts, isTold, told_at, NO_ROOM, mendedBytes, URLDoor, away12, whoTellsIt"),
  ).toHaveLength(9);
  expect(inText("here", "// It goes\n  // on. It came\n * to an end. It looks\non, GOES_ON")).toHaveLength(4);
  expect(inText("here", "A household metaphor, an officer, a segment holds up to 64 kB, doorway, recommend, Rooming")).toEqual(
    [],
  );
});

/** Parts that are not checked: the paths, the exact texts there (all text if absent), and the reason. */
const EXEMPT: readonly { paths: RegExp; texts?: readonly string[]; why: string }[] = [
  { paths: /^docs\/glossary\.md$/, why: "lists the words" },
  { paths: /^test\/tidy\/words\.test\.ts$/, why: "lists the words" },
  { paths: /^src\/store\/(sqlite|postgres)\/schema\/pre-release\//, why: "schemas of earlier builds, with their checksums" },
  { paths: /^src\/store\/sql\/pre-release-schema\.ts$/, why: "names of earlier builds, for the conversion" },
  { paths: /^test\/long-runs\/.*\.jsonl$/, why: "recorded results" },
  { paths: /^test\/bench\/(nodes\/|ten\/)?results\.json$/, why: "recorded results" },
  {
    paths: /^test\/bench\/(README\.md|memory\.ts|(ten\/)?targets\.svg)$/,
    texts: ["put away"],
    why: "the name of a recorded result",
  },
  {
    paths: /^src\/store\/postgres\/schema\/0001\.sql$/,
    texts: ["leaves room on each page"],
    why: "a change of the file changes its checksum, and databases of earlier builds would be rejected",
  },
  {
    paths: /./,
    texts: ["no_room", "database_away", "mended_texts", "deeds_each"],
    why: "error codes and JSON members that scripts read",
  },
  {
    paths: /^(CHANGELOG\.md|src\/cli\/replay-text\.ts|test\/cli\/statechart\.test\.ts)$/,
    texts: ["`told`", "told: step", "step.told"],
    why: "a JSON member of `statechart replay` that scripts read",
  },
  {
    paths: /^test\/(regressions\/as-user|outages\/pooler)\.ts$/,
    texts: ["`nobody`", '"nobody"'],
    why: "a user of the operating system",
  },
  {
    paths: /^(src\/store\/postgres\/previous-lease|test\/postgres\/outage\.test)\.ts$/,
    texts: ["awaySinceMs"],
    why: "a JSON member of builds before the first release",
  },
  { paths: /^CHANGELOG\.md$/, texts: ["`told_within_s`"], why: "a field of dialects before the first release" },
  { paths: /^examples\/python\/generate\.py$/, texts: [".tell()"], why: "a method of Python files" },
  { paths: /^test\/bench\/upstream\.ts$/, texts: ["mending a net"], why: "a prompt" },
];
const isExempt = (path: string): boolean => EXEMPT.some(({ paths, texts }) => texts === undefined && paths.test(path));
const checked = (path: string, text: string): string =>
  EXEMPT.filter(({ paths }) => paths.test(path))
    .flatMap(({ texts }) => texts ?? [])
    .reduce((left, exempt) => left.replaceAll(exempt, "-"), text);

/** All files of the repository. Directories and files that git ignores are left out. */
const IGNORED = /(^|\/)(\.git|node_modules|dist|data|\.bun|genrouter-torture-[^/]*)(\/|$)|\.(log|tgz|bun-build)$|\.DS_Store$/;
const PATHS: readonly string[] = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !IGNORED.test(name))
  .flatMap((entry) =>
    entry.isDirectory()
      ? [...new Glob("**/*").scanSync({ cwd: join(root, entry.name), dot: true })].map((path) => `${entry.name}/${path}`)
      : [entry.name],
  )
  .filter((path) => !IGNORED.test(path))
  .sort();

test("no file and no file name contains a rejected word", () => {
  let files = 0;
  const found = PATHS.filter((path) => !isExempt(path)).flatMap((path) => {
    const bytes = readFileSync(join(root, path));
    // Media files contain NUL bytes.
    const isText = !bytes.includes(0);
    files += isText ? 1 : 0;
    return [
      ...inText("file name", path).map((fault) => `${path}: ${fault}`),
      ...(isText ? inText(path, checked(path, bytes.toString())) : []),
    ];
  });
  expect(found).toEqual([]);
  expect(files).toBeGreaterThan(2_000);
});

test("every exemption is still needed", () => {
  const unused = EXEMPT.flatMap(({ paths, texts }) => {
    const contents = PATHS.filter((path) => paths.test(path)).map((path) => readFileSync(join(root, path), "utf8"));
    if (texts === undefined) return contents.some((content) => inText("", content).length > 0) ? [] : [String(paths)];
    return texts.filter((text) => !contents.some((content) => content.includes(text)));
  });
  expect(unused).toEqual([]);
});

test("the help of every command contains no rejected word", () => {
  const session = { terminal: createTerminal({}), env: {}, exit: 0, isIgnoredReported: false } as const;
  const found = (command: Command, name: string): string[] => [
    ...inText(name, [command.description(), ...command.options.map(({ description }) => description)].join("\n")),
    ...command.commands.flatMap((child) => found(child, `${name} ${child.name()}`)),
  ];
  expect(found(buildProgram(session as Parameters<typeof buildProgram>[0], false), "genrouter")).toEqual([]);
});
