// Release targets and their runtimes, from the npm registry and verified by the lock file.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Name of each target, with the compiler's name and the package of its runtime. */
export const TARGETS = {
  "linux-x64": { compiler: "bun-linux-x64", runtime: "@oven/bun-linux-x64" },
  "linux-arm64": { compiler: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64" },
  "linux-x64-musl": { compiler: "bun-linux-x64-musl", runtime: "@oven/bun-linux-x64-musl" },
  "linux-arm64-musl": { compiler: "bun-linux-arm64-musl", runtime: "@oven/bun-linux-aarch64-musl" },
  "darwin-arm64": { compiler: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64" },
  "darwin-x64": { compiler: "bun-darwin-x64", runtime: "@oven/bun-darwin-x64" },
  "windows-x64": { compiler: "bun-windows-x64", runtime: "@oven/bun-windows-x64" },
};

/** Every runtime is larger. */
const LEAST_BYTES = 10_000_000;

const isMusl = process.platform === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
/** The target that this machine can start. */
export const HERE = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;

/** File extension of a target. */
export const suffixOf = (target) => (target.startsWith("windows") ? ".exe" : "");

const binaryOf = (dir, target) => join(dir, "bin", target.startsWith("windows") ? "bun.exe" : "bun");

/**
 * Path of a target's runtime: the one that npm installed for this machine, else one that is fetched once and kept below
 * node_modules.
 * @throws Error if it is not available or does not match the lock file.
 */
export const runtimeOf = (root, target) => {
  const { runtime } = TARGETS[target];
  const installed = binaryOf(join(root, "node_modules", runtime), target);
  if (existsSync(installed)) return installed;
  // The package's own installation may have moved the runtime here; otherwise this file is a short script that prints
  // instructions.
  const moved = join(root, "node_modules", "bun", "bin", "bun.exe");
  if (target === HERE && (statSync(moved, { throwIfNoEntry: false })?.size ?? 0) > LEAST_BYTES) return moved;
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages[`node_modules/${runtime}`];
  if (!locked?.integrity)
    throw new Error(`package-lock.json has no ${runtime}: it is an optional package of bun; npm install bun`);
  const cache = join(root, "node_modules", ".cache", "genrouter");
  const kept = join(cache, `${runtime.replace("/", "-")}-${locked.version}`);
  const binary = binaryOf(join(kept, "package"), target);
  if (existsSync(binary)) return binary;
  mkdirSync(cache, { recursive: true });
  const aside = mkdtempSync(join(cache, "fetching-"));
  try {
    process.stderr.write(`fetching ${runtime}@${locked.version} …\n`);
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const packed = spawnSync(npm, ["pack", "--silent", "--pack-destination", aside, `${runtime}@${locked.version}`], {
      cwd: root,
      encoding: "utf8",
      shell: process.platform === "win32",
    });
    const [archive] = readdirSync(aside);
    if (packed.status !== 0 || !archive)
      throw new Error(`npm could not fetch ${runtime}@${locked.version}: ${packed.stderr || packed.error?.message || "no file"}`);
    const [algorithm, digest] = locked.integrity.split("-");
    const found = createHash(algorithm)
      .update(readFileSync(join(aside, archive)))
      .digest("base64");
    if (found !== digest)
      throw new Error(`${runtime}@${locked.version} is not the package of package-lock.json: its ${algorithm} differs`);
    const unpacked = spawnSync("tar", ["-xzf", archive], { cwd: aside, encoding: "utf8" });
    if (unpacked.status !== 0) throw new Error(`${archive} cannot be unpacked: ${unpacked.stderr || unpacked.error?.message}`);
    rmSync(join(aside, archive));
    rmSync(kept, { recursive: true, force: true });
    renameSync(aside, kept);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return binary;
};
