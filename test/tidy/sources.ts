// The source and test files of the code base, for the tests of its rules.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";

export const root = resolve(import.meta.dir, "../..");
/** Paths that match a glob, relative to the root, sorted. */
export const list = (pattern: string): string[] => [...new Glob(pattern).scanSync({ cwd: root })].sort();
export const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Every source file that is shipped or loaded by a browser, except the generated types of the client. */
export const SOURCES: readonly string[] = [
  ...["src", "actors", "catalogue"].flatMap((dir) => list(`${dir}/**/*.ts`)),
  ...list("web/**/*.{ts,tsx}"),
  ...list("client/src/*.ts").filter((path) => path !== "client/src/api.ts"),
];
export const TESTS: readonly string[] = list("test/**/*.ts");
