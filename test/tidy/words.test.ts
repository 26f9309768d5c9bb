// Rules of vocabulary: words that file names, exported identifiers, messages, log events, metrics and settings do not use.
import { expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import type { Command } from "commander";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { SettingsSchema } from "../../src/config/schema.ts";
import { EVENTS } from "../../src/logging/events.ts";
import { METRICS, type Metric } from "../../src/telemetry/metrics.ts";
import { list, read, SOURCES } from "./sources.ts";

/** Words that prose does not use, from docs/glossary.md. */
const NOT_USED = [
  ...["told", "tells?", "whoever", "nobody", "somebody", "anew", "for ever", "goes on", "holds up", "looks on", "comes to"],
  ...["journeys?", "away", "mended", "programmes?", "houses?", "halls?", "rooms?", "corridors?", "doors?", "desks?", "offices?"],
  ...["deeds?", "errands?"],
];
const inProse = new RegExp(`\\b(${NOT_USED.join("|")})\\b`, "gi");
/** The same words inside identifiers and file names. */
const inNames = new RegExp(`^(${NOT_USED.filter((word) => !word.includes(" ")).join("|")})$`, "i");
const wordsOf = (name: string): string[] => name.split(/[^A-Za-z]|(?<=[a-z])(?=[A-Z])/);

const inText = (where: string, text: string): string[] => [...text.matchAll(inProse)].map(([word]) => `${where}: ${word}`);
const inName = (where: string, name: string): string[] =>
  wordsOf(name)
    .filter((word) => inNames.test(word))
    .map((word) => `${where}: ${name} (${word})`);

test("the check finds a rejected word in prose and inside a name", () => {
  expect(inText("here", "Nobody is told anew.")).toEqual(["here: Nobody", "here: told", "here: anew"]);
  expect(inName("here", "openCorridor-house.ts")).toHaveLength(2);
  expect(inText("here", "A household metaphor, an officer.")).toEqual([]);
});

test("file names contain no rejected word", () => {
  const paths = [...SOURCES, ...list("{test,scripts,docs,deploy,examples}/**/*.{ts,mjs,js,py,sh,md,yml,yaml,toml}")];
  expect(paths.flatMap((path) => inName(path, path.split("/").slice(-2).join("/")))).toEqual([]);
});

test("exported identifiers contain no rejected word", () => {
  const exported = /^export (?:async )?(?:const|let|function|class|type|interface|enum)\s+([A-Za-z_$][\w$]*)/gm;
  const found = SOURCES.flatMap((path) => [...read(path).matchAll(exported)].flatMap(([, name = ""]) => inName(path, name)));
  expect(found).toEqual([]);
});

test("log events, metrics and settings contain no rejected word", () => {
  const metrics = Object.entries<Metric>(METRICS).flatMap(([name, { help }]) => [...inName(name, name), ...inText(name, help)]);
  const settings = Object.entries(SettingsSchema.properties as Record<string, TSchema>).flatMap(([section, schema]) =>
    Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([key, { description, expects }]) => {
      const name = `${section}.${key}`;
      return [...inName(name, key), ...inText(name, `${description ?? ""} ${expects ?? ""}`)];
    }),
  );
  expect([...Object.keys(EVENTS).flatMap((event) => inText("event", event)), ...metrics, ...settings]).toEqual([]);
});

test("the help of every command contains no rejected word", () => {
  const session = { terminal: createTerminal({}), env: {}, exit: 0, isIgnoredTold: false } as const;
  const found = (command: Command, name: string): string[] => [
    ...inText(name, [command.description(), ...command.options.map(({ description }) => description)].join("\n")),
    ...command.commands.flatMap((child) => found(child, `${name} ${child.name()}`)),
  ];
  expect(found(buildProgram(session as Parameters<typeof buildProgram>[0], false), "genrouter")).toEqual([]);
});

/** String literals and JSX text with at least two words, without comments, interpolations, SQL and `jq` filters. */
const sentencesOf = (path: string): string[] => {
  const code = read(path)
    .replace(/^\s*(\/\/|\*|\/\*).*$/gm, "")
    .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "");
  const literals = code.match(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  const jsx = path.endsWith(".tsx") ? (code.match(/>[^<>{}()=;]+</g) ?? []) : [];
  return [...literals, ...jsx].filter(
    (text) => /[a-z] [a-z]/i.test(text) && !/\b(SELECT|INSERT|UPDATE|CREATE|DELETE|jq)\b/.test(text),
  );
};

test("messages and pages contain no rejected word", () => {
  // The torture runs are for developers and have their own terms.
  const shipped = SOURCES.filter((path) => !path.startsWith("src/torture/"));
  const texts = shipped.flatMap((path) => sentencesOf(path).flatMap((text) => inText(`${path}: ${text.slice(0, 80)}`, text)));
  expect(texts).toEqual([]);
});

test("documents contain no rejected word", () => {
  // Exempt: facts of providers, earlier printed results, and the glossary, which lists the words.
  const left = ["docs/glossary.md", "catalogue/ROUTES.md", "test/bench/README.md"];
  const pages = [...list("*.md"), ...list("{actors,catalogue,client,deploy,docs,examples,src,test}/**/*.md")].filter(
    (path) => !left.includes(path) && !path.includes("node_modules"),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.flatMap((path) => inText(path, read(path).replace(/`[^`\n]*`/g, "")))).toEqual([]);
});
