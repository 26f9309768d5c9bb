// The binary that programs and tests start, built when it is missing or older than its sources.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { BINARY, FROM_SOURCES, type Genrouter, start } from "../src/torture/crash/processes.ts";

const root = join(import.meta.dir, "..");
const SOURCES = [
  "{src,actors,catalogue,proof}/**/*.{ts,json,js,css,gz}",
  // A slash inside the braces would match no file.
  "client/src/**/*.ts",
  "web/**/*.{ts,tsx,css}",
  "deploy/**/*",
  "docs/guides/*.md",
  "scripts/{build,compile}.mjs",
  "scripts/web-files.ts",
  "package-lock.json",
];

/** @throws Error for a pattern without a match, because its sources would not be compared. */
const filesOf = (pattern: string): string[] => {
  const found = [...new Glob(pattern).scanSync(root)];
  if (found.length === 0) throw new Error(`no source matches ${pattern}: an outdated binary would count as current`);
  return found;
};

const newestMs = (): number => Math.max(...SOURCES.flatMap(filesOf).map((path) => statSync(join(root, path)).mtimeMs));

/** The binary, if it exists and is newer than the sources. */
export const currentBinary = (): Genrouter | null => {
  const path = BINARY[0] ?? "";
  return existsSync(path) && statSync(path).mtimeMs >= newestMs() ? BINARY : null;
};

/** The program that tests start: the current binary, which starts in a third of the time, or else the sources. */
export const PROGRAM: Genrouter = currentBinary() ?? FROM_SOURCES;

/** Builds the binary when it is not current. @throws Error with the output of the build, when it fails */
export const builtBinary = async (say: (line: string) => void): Promise<Genrouter> => {
  const path = BINARY[0] ?? "";
  const isThere = existsSync(path);
  const current = currentBinary();
  if (current) return current;
  say(`${isThere ? "dist/genrouter is older than the sources" : "dist/genrouter is not there"}: building it …`);
  // The build script of the package runs on Node and finds its Bun.
  const building = start(["node", join(root, "scripts/build.mjs")]);
  const { code } = await building.ended;
  if (code !== 0) throw new Error(`the build failed:\n${building.output()}`);
  return BINARY;
};
