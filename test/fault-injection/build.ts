// Builds the shims: small C libraries that are preloaded into the binary and intercept its disk calls.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { findCompiler } from "./compiler.ts";

const SOURCES = import.meta.dir;
const BUILT = join(SOURCES, "../../dist/shim");

/** `powerfs` keeps only synced data; `faultfs` injects errors. The head of each source lists its settings. */
export type ShimName = "powerfs" | "faultfs";

/** Builds a shim unless it exists. @returns its path. @throws if it cannot be built, with the reason. */
export const buildShim = (name: ShimName, say: (line: string) => void): string => {
  if (process.platform !== "linux")
    throw new Error(`the disk tests preload a library, which works on Linux alone, not on ${process.platform}`);
  const source = join(SOURCES, `${name}.c`);
  const hash = createHash("sha256")
    .update(readFileSync(source))
    .update(readFileSync(join(SOURCES, "under.h")))
    .update(process.arch);
  const path = join(BUILT, `${name}-${hash.digest("hex").slice(0, 12)}.so`);
  if (existsSync(path)) return path;
  mkdirSync(BUILT, { recursive: true });
  const { words, env } = findCompiler(BUILT, say);
  const aside = `${path}.${process.pid}`;
  const flags = ["-std=gnu99", "-O2", "-shared", "-fPIC", "-o", aside, source, "-ldl", "-lpthread"];
  const built = spawnSync(words[0] ?? "", [...words.slice(1), ...flags], { encoding: "utf8", env: { ...process.env, ...env } });
  if (built.status !== 0) throw new Error(`${name}.c does not compile: ${built.stderr}`);
  renameSync(aside, path);
  say(`built ${name} with ${words.join(" ")}`);
  return path;
};
