// The binary that programs and tests start: built when it is missing or older than what it is built from.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { BINARY, FROM_SOURCES, type Genrouter, start } from "../src/torture/crash/processes.ts";

const root = join(import.meta.dir, "..");
const SOURCES = [
  "{src,actors,catalogue,proof}/**/*.{ts,json,js,css,gz}",
  // A slash between the braces would match nothing.
  "client/src/**/*.ts",
  "web/**/*.{ts,tsx,css}",
  "deploy/**/*",
  "scripts/{build,compile}.mjs",
  "scripts/web-files.ts",
  "package-lock.json",
];

/** @throws Error for a pattern that has nothing: what it was for would not count. */
const filesOf = (pattern: string): string[] => {
  const found = [...new Glob(pattern).scanSync(root)];
  if (found.length === 0) throw new Error(`no source is like ${pattern}: a binary that is older than them would pass for new`);
  return found;
};

const newestMs = (): number => Math.max(...SOURCES.flatMap(filesOf).map((path) => statSync(join(root, path)).mtimeMs));

/** The binary where it is there and of these sources. */
export const currentBinary = (): Genrouter | null => {
  const path = BINARY[0] ?? "";
  return existsSync(path) && statSync(path).mtimeMs >= newestMs() ? BINARY : null;
};

/** What tests start as a process: the binary where it is of these sources, because it starts in a third of the time; else the sources. */
export const PROGRAM: Genrouter = currentBinary() ?? FROM_SOURCES;

/** @throws Error with what the build said, when it fails. */
export const builtBinary = async (say: (line: string) => void): Promise<Genrouter> => {
  const path = BINARY[0] ?? "";
  const isThere = existsSync(path);
  const current = currentBinary();
  if (current) return current;
  say(`${isThere ? "dist/genrouter is older than the sources" : "dist/genrouter is not there"}: building it …`);
  // The build is the package's own, which runs on Node and finds its Bun by itself.
  const building = start(["node", join(root, "scripts/build.mjs")]);
  const { code } = await building.ended;
  if (code !== 0) throw new Error(`the build failed:\n${building.output()}`);
  return BINARY;
};
