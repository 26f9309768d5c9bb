// Compiles one target: runtime, code, catalogue and workers in one file, reproducibly.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { runtimeOf, suffixOf, TARGETS } from "./runtimes.mjs";

/** No build uses cached pages for longer than this. */
const STALE_MS = 86_400_000;

/** Workers are not reached by imports, so each is a separate entry point; their names end in `worker.ts`. */
const workersOf = (root) =>
  readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(^|\.)worker\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();

/** Commit of the build, marked if files differ from it; "unknown" without a repository. */
export const revisionOf = (root) => {
  const git = (...words) => spawnSync("git", words, { cwd: root, encoding: "utf8" });
  const commit = git("rev-parse", "--short=7", "HEAD");
  if (commit.status !== 0) return "unknown";
  const isClean = git("diff", "--quiet", "HEAD").status === 0;
  return `${commit.stdout.trim().slice(0, 7)}${isClean ? "" : "-dirty"}`;
};

/**
 * Builds the pages, which are embedded in the binary as they are served.
 * @returns their files, in a directory below the checkout that is named by the hash of their content. The compiler's chunk names
 * depend on the relative location of each file, and several builds may run in parallel.
 * @throws Error if the build fails.
 */
const pagesOf = (root, aside) => {
  const packed = spawnSync(
    process.execPath,
    [join(root, "scripts", "bun.mjs"), "--production", join(root, "scripts", "web-files.ts"), aside],
    {
      cwd: root,
      stdio: ["ignore", process.stderr, process.stderr],
    },
  );
  if (packed.status !== 0) throw new Error(`the web pages were not built: ${packed.status ?? packed.signal}`);
  const names = readdirSync(aside).sort();
  const digest = createHash("sha256");
  for (const name of names) digest.update(`${name}\n`).update(readFileSync(join(aside, name)));
  const cache = join(root, "node_modules", ".cache", "web");
  mkdirSync(cache, { recursive: true });
  for (const old of readdirSync(cache))
    if (Date.now() - statSync(join(cache, old)).mtimeMs > STALE_MS) rmSync(join(cache, old), { recursive: true, force: true });
  const home = join(cache, digest.digest("hex").slice(0, 16));
  if (!existsSync(home)) {
    const mine = `${home}.${process.pid}`;
    cpSync(aside, mine, { recursive: true });
    try {
      renameSync(mine, home);
    } catch (fault) {
      // A parallel build has already created the directory.
      rmSync(mine, { recursive: true, force: true });
      if (!existsSync(home)) throw fault;
    }
  }
  utimesSync(home, new Date(), new Date());
  return names.map((name) => join(home, name));
};

/**
 * Compiles into the empty directory `place`.
 * @returns paths of the binary and of its source maps.
 * @throws Error if the compiler fails.
 */
export const compile = ({ root, target, place, revision, runtime = runtimeOf(root, target) }) => {
  const workers = workersOf(root);
  const names = workers.map((path) => basename(path));
  if (new Set(names).size < names.length) throw new Error(`two workers have one name: ${names.join(", ")}`);
  mkdirSync(place, { recursive: true });
  const pages = pagesOf(root, join(place, "web"));
  // The binary contains its own file name many times. Every build uses the same name, and the file is renamed afterwards.
  const binary = join(place, "genrouter");
  const built = spawnSync(
    process.execPath,
    [
      join(root, "scripts", "bun.mjs"),
      "--production",
      "build",
      "--compile",
      `--target=${TARGETS[target].compiler}`,
      `--compile-executable-path=${runtime}`,
      // Minifies. Without it NODE_ENV is fixed as "development", and the development builds of packages are used.
      "--production",
      "--sourcemap",
      // Halves the time to the first response; a top-level `import.meta` then requires the ESM format.
      "--bytecode",
      "--format=esm",
      // Dynamic imports are loaded on demand, so that a start reads only a fifth of the code before it begins.
      "--splitting",
      "--chunk-naming=[name]-[hash].[ext]",
      // `debug` uses it if installed, as for the development tools; the binary contains production packages only.
      "--external=supports-color",
      // The binary must not read a .env or bunfig.toml of its working directory.
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      // All chunks are placed beside the entry points, so `new URL("./worker.ts", import.meta.url)` finds a worker there.
      "--entry-naming=[name].[ext]",
      "--asset-naming=[name].[ext]",
      // Packages that read their own path would embed the path of this checkout.
      '--define=__dirname="/"',
      '--define=__filename="/"',
      `--define=BUILD_REVISION=${JSON.stringify(revision)}`,
      `--define=BUILD_TARGET=${JSON.stringify(target)}`,
      `--outfile=${binary}${suffixOf(target)}`,
      join(root, "src", "main.ts"),
      ...workers,
      ...pages,
    ],
    { cwd: root, stdio: ["ignore", process.stderr, process.stderr] },
  );
  if (built.status !== 0) throw new Error(`the compiler ended with ${built.status ?? built.signal}`);
  const maps = readdirSync(place).filter((name) => name.endsWith(".map"));
  return { binary: `${binary}${suffixOf(target)}`, maps: maps.map((name) => join(place, name)) };
};

/** Renames a built file, and moves its source maps, one per chunk, into a directory beside it: `NAME.maps`. */
export const settle = ({ binary, maps }, name) => {
  renameSync(binary, name);
  rmSync(`${name}.maps`, { recursive: true, force: true });
  mkdirSync(`${name}.maps`);
  for (const map of maps) renameSync(map, join(`${name}.maps`, basename(map)));
};
