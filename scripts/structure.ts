// `npm run structure`: prints figures of the source structure: lines, long functions, circles, and files behind one submission.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { Glob } from "bun";
import { cyclesOf } from "../test/tidy/cycles.ts";

const HELP = `Usage: npm run structure -- [--json]

Prints figures of the source structure:
  lines              lines of TypeScript in src, actors and catalogue, without the torture programs
  long functions     files that biome.json exempts from the limit of 60 lines
  module circles     circles of modules that load each other
  folder circles     circles of folders that import each other, types included
  composition roots  modules that construct components of several folders, and that a program or the test harness calls
  files to 202       files of which a submission executes lines, from its bytes to its response

Examples:
  $ npm run structure
  $ npm run -s structure -- --json | jq .lines
`;
const root = resolve(import.meta.dir, "..");
const words = process.argv.slice(2);
const unknown = words.find((word) => word !== "--json" && word !== "--help");
if (words.includes("--help") || unknown !== undefined) {
  process.stdout.write(unknown === undefined ? HELP : `${unknown}: is unknown; see --help\n`);
  process.exit(unknown === undefined ? 0 : 2);
}

const SOURCES = ["src", "actors", "catalogue"]
  .flatMap((dir) => [...new Glob(`${dir}/**/*.ts`).scanSync({ cwd: root })])
  .filter((path) => !path.startsWith("src/torture/"))
  .sort();
const TESTS = [...new Glob("test/**/*.ts").scanSync({ cwd: root })].sort();
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Imports between modules or, by `nameOf`, between their folders. */
const graphOf = (nameOf: (path: string) => string, withTypes: boolean): Map<string, Set<string>> => {
  const graph = new Map<string, Set<string>>();
  for (const path of SOURCES)
    for (const [, type, target = ""] of read(path).matchAll(/^\s*(?:import|export)\s(type\s)?[^;]*?from\s+"(\.[^"]+)"/gm)) {
      const to = nameOf(relative(root, resolve(root, dirname(path), target)));
      const from = nameOf(path);
      if (from === to || (type !== undefined && !withTypes)) continue;
      graph.set(from, (graph.get(from) ?? new Set()).add(to));
    }
  return graph;
};

/** A module that calls factories of this many other folders constructs components of several folders. */
const SEVERAL_FOLDERS = 3;
const folderOf = (path: string): string => /^(src\/[^/]+|[^/]+)/.exec(path)?.[0] ?? path;
/** Modules that a module loads, also later by `import()`, with the names that it imports from each. */
const loadsOf = (path: string, text: string): { to: string; names: string[] }[] =>
  [...text.matchAll(/^import (?!type)\{([^}]*)\} from "(\.[^"]+)"|import\("(\.[^"]+)"\)/gm)].map(
    ([, names = "", target, later = ""]) => ({
      to: relative(root, resolve(root, dirname(path), target ?? later)),
      names: names.split(",").map((name) => name.trim()),
    }),
  );
/**
 * Composition roots of the service. A module constructs the components of a folder if it calls a `create…` or `open…` function of
 * that folder, itself or through another module of its own folder. If these are several folders, it is a root when a module
 * of another folder or a test loads it; otherwise it is a group of the root that loads it. Not counted: the commands of src/cli, which
 * are programs of their own, and the simulation, which runs one group (the engine) in virtual time.
 */
const compositionRoots = (): string[] => {
  const modules = SOURCES.filter((path) => path.startsWith("src/") && !path.startsWith("src/cli/"));
  const loads = new Map([...SOURCES, ...TESTS].map((path) => [path, loadsOf(path, read(path))]));
  const foldersOf = (path: string, above: readonly string[] = []): string[] =>
    (loads.get(path) ?? []).flatMap(({ to, names }) => {
      if (folderOf(to) === folderOf(path)) return above.includes(to) ? [] : foldersOf(to, [...above, path]);
      return names.some((name) => /^(create|open)[A-Z]/.test(name)) ? [folderOf(to)] : [];
    });
  const loadedFromOutside = new Set(
    [...loads].flatMap(([path, all]) => all.flatMap(({ to }) => (folderOf(to) === folderOf(path) ? [] : [to]))),
  );
  return modules.filter((path) => loadedFromOutside.has(path) && new Set(foldersOf(path)).size >= SEVERAL_FOLDERS);
};

/** The executed lines of every file, from a coverage report in lcov format. */
const linesOf = (path: string): Map<string, number> => {
  const counts = new Map<string, number>();
  let file = "";
  for (const line of readFileSync(path, "utf8").split("\n"))
    if (line.startsWith("SF:")) file = line.slice(3);
    else if (line.startsWith("DA:")) {
      const [at = "", count = "0"] = line.slice(3).split(",");
      counts.set(`${file}:${at}`, Number(count));
    }
  return counts;
};
const SUBMISSION = "./test/structure/submission.test.ts";
const executed = (without: boolean): Map<string, number> => {
  const dir = mkdtempSync(join(tmpdir(), "structure-"));
  try {
    const command = [process.execPath, "test", "--coverage", "--coverage-reporter=lcov", `--coverage-dir=${dir}`, SUBMISSION];
    const env = { ...process.env, NODE_ENV: "test", ...(without ? { STRUCTURE_WITHOUT: "1" } : {}) };
    const { exitCode, stderr } = Bun.spawnSync(command, { cwd: root, env });
    const report = join(dir, "lcov.info");
    if (exitCode !== 0 || !existsSync(report)) throw new Error(`the submission failed:\n${stderr.toString()}`);
    return linesOf(report);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};
/** Files of the service with lines that are executed more often with the submission than without it. */
const filesOfSubmission = (): string[] => {
  const before = executed(true);
  const files = new Set<string>();
  for (const [line, count] of executed(false))
    if (count > (before.get(line) ?? 0)) files.add(line.slice(0, line.lastIndexOf(":")));
  // The harness verifies the store at its end, and the simulator is the provider.
  return [...files].filter((path) => /^(src|actors|catalogue)\//.test(path) && !/\/verify\/|^src\/simulator\//.test(path)).sort();
};

const exempt = (read("biome.json").match(/^ {8}"[^"]+\.tsx?",?$/gm) ?? []).length;
const figures = {
  files: SOURCES.length,
  lines: SOURCES.reduce((sum, path) => sum + read(path).split("\n").length - 1, 0),
  filesWithLongFunctions: exempt,
  moduleCircles: cyclesOf(graphOf((path) => path, false)),
  folderCircles: cyclesOf(graphOf(folderOf, true)),
  compositionRoots: compositionRoots(),
  filesOfSubmission: filesOfSubmission(),
};
if (words.includes("--json")) process.stdout.write(`${JSON.stringify(figures)}\n`);
else {
  const say = (name: string, value: number, more: readonly string[] = []) =>
    process.stdout.write(`${name.padEnd(17)} ${String(value).padStart(7)}\n${more.map((line) => `  ${line}\n`).join("")}`);
  say("files", figures.files);
  say("lines", figures.lines);
  say("long functions", figures.filesWithLongFunctions);
  say(
    "module circles",
    figures.moduleCircles.length,
    figures.moduleCircles.map((circle) => circle.join(" ")),
  );
  say(
    "folder circles",
    figures.folderCircles.length,
    figures.folderCircles.map((circle) => circle.join(" ")),
  );
  say("composition roots", figures.compositionRoots.length, figures.compositionRoots);
  say("files to 202", figures.filesOfSubmission.length, figures.filesOfSubmission);
}
