// Builds `dist/genrouter`: one file with the runtime, the code, the catalogue and the workers; then proves that it starts.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const suffix = process.platform === "win32" ? ".exe" : "";
const target = join(root, "dist", `genrouter${suffix}`);
/** Built and proved under a name of its own: several may build at once, and others run what is there meanwhile. */
const aside = join(root, "dist", `genrouter-${process.pid}${suffix}`);
/** The map that the compiler may put beside it. */
const mapOf = (path) => `${path}.map`;

/** A worker is not reached by imports, so each is an entry point of its own; their names end in `worker.ts`. */
const workers = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /(^|\.)worker\.ts$/.test(entry.name))
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  .sort();

const dropAside = () => {
  for (const path of [aside, mapOf(aside)]) rmSync(path, { force: true });
};
const stop = (why) => {
  dropAside();
  process.stderr.write(`build failed: ${why}\n`);
  process.exit(1);
};

// Heard only once the compiler, which the same Ctrl-C reaches, has ended: what it left is taken away.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop(`ended by ${signal}`));

const names = workers.map((path) => basename(path));
if (new Set(names).size < names.length) stop(`two workers have one name: ${names.join(", ")}`);

mkdirSync(dirname(target), { recursive: true });
const built = spawnSync(
  process.execPath,
  [
    join(root, "scripts", "bun.mjs"),
    "build",
    "--compile",
    // Without it NODE_ENV is frozen as "development", and packages' development builds are taken.
    "--production",
    "--sourcemap",
    // Halves the time to the first answer; top-level `import.meta` needs the format with it.
    "--bytecode",
    "--format=esm",
    // A binary must not read a stray .env or bunfig.toml of the directory it is started in.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    // All code ends up in one file beside the entry points, so `new URL("./worker.ts", import.meta.url)` looks there for a worker.
    "--entry-naming=[name].[ext]",
    `--outfile=${aside}`,
    join(root, "src", "main.ts"),
    ...workers,
  ],
  { cwd: root, stdio: ["ignore", process.stderr, process.stderr] },
);
if (built.status !== 0) stop(`the compiler ended with ${built.status ?? built.signal}`);

// Started from an empty directory: nothing of the checkout may be needed.
const empty = mkdtempSync(join(tmpdir(), "genrouter-build-"));
const start = (...words) => spawnSync(aside, words, { cwd: empty, encoding: "utf8", env: { PATH: process.env.PATH ?? "" } });
const said = start("--version");
// Writes through the store's worker, which a build can lose without a word.
const wrote = start("accounts", "create", "--name", "build", "--data", "proof", "--json");
rmSync(empty, { recursive: true, force: true });
if (said.status !== 0 || !said.stdout.startsWith("genrouter ")) stop(`the binary: --version said: ${said.stdout}${said.stderr}`);
if (wrote.status !== 0 || !wrote.stdout.startsWith('{"id":"acc_'))
  stop(`the binary cannot write: ${wrote.stdout}${wrote.stderr}`);
renameSync(aside, target);
if (existsSync(mapOf(aside))) renameSync(mapOf(aside), mapOf(target));
dropAside();
process.stdout.write(`${target}  ${Math.round(statSync(target).size / 1e6)} MB  ${said.stdout}`);
