// Compiles one target: the runtime, the code, the catalogue and the workers in one file, the same bytes wherever and whenever it is built.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { runtimeOf, suffixOf, TARGETS } from "./runtimes.mjs";

/** Nobody builds for so long from pages that others have built. */
const STALE_MS = 86_400_000;

/** A worker is not reached by imports, so each is an entry point of its own; their names end in `worker.ts`. */
const workersOf = (root) =>
  readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(^|\.)worker\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();

/** The commit that is built, marked when files differ from it; "unknown" where there is none. */
export const revisionOf = (root) => {
  const git = (...words) => spawnSync("git", words, { cwd: root, encoding: "utf8" });
  const commit = git("rev-parse", "--short=7", "HEAD");
  if (commit.status !== 0) return "unknown";
  const isClean = git("diff", "--quiet", "HEAD").status === 0;
  return `${commit.stdout.trim().slice(0, 7)}${isClean ? "" : "-dirty"}`;
};

/**
 * Builds the pages, which lie in the binary as they leave.
 * @returns their files, in a place below the checkout that has its name from what is in them: the compiler's names for parts of the
 * code depend on where each file lies beside the others, and several may build at once.
 * @throws Error when they do not build.
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
      // Another build was faster.
      rmSync(mine, { recursive: true, force: true });
      if (!existsSync(home)) throw fault;
    }
  }
  utimesSync(home, new Date(), new Date());
  return names.map((name) => join(home, name));
};

/**
 * Compiles into the empty directory `place`.
 * @returns the path of the binary, and those of the maps that the compiler put beside it.
 * @throws Error when the compiler fails.
 */
export const compile = ({ root, target, place, revision, runtime = runtimeOf(root, target) }) => {
  const workers = workersOf(root);
  const names = workers.map((path) => basename(path));
  if (new Set(names).size < names.length) throw new Error(`two workers have one name: ${names.join(", ")}`);
  mkdirSync(place, { recursive: true });
  const pages = pagesOf(root, join(place, "web"));
  // The name of this file is inside it, many times: it is the same for every build, and the file is named when it is done.
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
      // Minified. Without it NODE_ENV is frozen as "development", and packages' development builds are taken.
      "--production",
      "--sourcemap",
      // Halves the time to the first answer; top-level `import.meta` needs the format with it.
      "--bytecode",
      "--format=esm",
      // What is imported when it is wanted is loaded then: a start reads a fifth of the code before it does anything.
      "--splitting",
      "--chunk-naming=[name]-[hash].[ext]",
      // `debug` takes it where it is there, as it is for our tools; the binary has only what production has.
      "--external=supports-color",
      // A binary must not read a stray .env or bunfig.toml of the directory it is started in.
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      // All parts of the code end up beside the entry points, so `new URL("./worker.ts", import.meta.url)` looks there for a worker.
      "--entry-naming=[name].[ext]",
      "--asset-naming=[name].[ext]",
      // Packages that ask where they lie would be told the place of this checkout; in the binary they lie nowhere.
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

/** Moves a built file to its name, and its maps, one for each part of the code, into a directory beside it: `NAME.maps`. */
export const settle = ({ binary, maps }, name) => {
  renameSync(binary, name);
  rmSync(`${name}.maps`, { recursive: true, force: true });
  mkdirSync(`${name}.maps`);
  for (const map of maps) renameSync(map, join(`${name}.maps`, basename(map)));
};
