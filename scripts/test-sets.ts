// Divides the test files into two sets: those that need a browser, PostgreSQL or crashes under load, and the others.
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Glob } from "bun";

const root = resolve(import.meta.dir, "..");

/**
 * A test file needs what it imports, directly or through other modules of test/: a module that starts Chromium, one that starts a PostgreSQL
 * server, or one that kills a loaded service again and again, which keeps both cores busy for as long as a tenth of all other tests.
 */
export const NEEDS = {
  browser: ["test/browser/chromium.ts"],
  postgres: ["test/postgres/server.ts"],
  crashes: ["src/torture/crash/random.ts", "src/cli/commands/torture.ts"],
} as const satisfies Record<string, readonly string[]>;
const MODULES: readonly string[] = Object.values(NEEDS).flat();
export type Need = keyof typeof NEEDS;

/** `quick`: what `npm test` runs. `rest`: what `npm run test:rest` runs. */
export type TestSet = "quick" | "rest";
/** Names the set to the tests, so that neither server can start in the quick one. */
export const SET_VARIABLE = "TEST_SET";

const transpiler = new Bun.Transpiler({ loader: "ts" });
const imports = new Map<string, string[]>();
/** The modules of test/ that are loaded together with a module; `import()` is not, it loads only when it is reached. */
const importsOf = (path: string): string[] => {
  const known = imports.get(path);
  if (known) return known;
  const found = transpiler
    .scanImports(readFileSync(join(root, path), "utf8"))
    .filter((each) => each.kind !== "dynamic-import" && each.path.startsWith("."))
    .map((each) => relative(root, resolve(root, path, "..", each.path)).replaceAll("\\", "/"))
    .filter((each) => /^test\/.*\.ts$/.test(each) || MODULES.includes(each));
  imports.set(path, found);
  return found;
};

/** What a test file needs, by everything it loads. */
export const needsOf = (file: string): Need[] => {
  const reached = new Set([file]);
  for (const path of reached) if (path.startsWith("test/")) for (const next of importsOf(path)) reached.add(next);
  return (Object.keys(NEEDS) as Need[]).filter((need) => NEEDS[need].some((path) => reached.has(path)));
};

export const setOf = (file: string): TestSet => (needsOf(file).length > 0 ? "rest" : "quick");

/** Every test file, sorted. */
export const testFiles = (): string[] =>
  [...new Glob("test/**/*.test.{ts,tsx}").scanSync({ cwd: root })].map((path) => path.replaceAll("\\", "/")).sort();

/** @throws in the quick set, for a test that reaches what no import of its file shows: by `import()`, or by a process of its own. */
export const refuseInQuickSet = (what: string): void => {
  if (process.env[SET_VARIABLE] === ("quick" satisfies TestSet))
    throw new Error(
      `${what} is started in \`npm test\`: import ${[...NEEDS.browser, ...NEEDS.postgres].join(" or ")} where the test file loads it`,
    );
};
