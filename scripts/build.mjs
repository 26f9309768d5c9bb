// Builds `dist/genrouter`: one file with the runtime, the code, the catalogue and the workers; then proves that it starts.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, "dist", process.platform === "win32" ? "genrouter.exe" : "genrouter");

/** A worker is not reached by imports, so each is an entry point of its own; their names end in `worker.ts`. */
const workers = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /(^|\.)worker\.ts$/.test(entry.name))
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  .sort();

const stop = (why) => {
  process.stderr.write(`build failed: ${why}\n`);
  process.exit(1);
};

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
    // The binary's own paths mirror the checkout's, so that `new URL("./worker.ts", import.meta.url)` finds its entry point.
    `--root=${root}`,
    `--outfile=${target}`,
    join(root, "src", "main.ts"),
    ...workers,
  ],
  { cwd: root, stdio: ["ignore", process.stderr, process.stderr] },
);
if (built.status !== 0) stop(`the compiler ended with ${built.status ?? built.signal}`);

// Started from an empty directory: nothing of the checkout may be needed.
const empty = mkdtempSync(join(tmpdir(), "genrouter-build-"));
const started = spawnSync(target, ["--version"], { cwd: empty, encoding: "utf8", env: { PATH: process.env.PATH ?? "" } });
rmSync(empty, { recursive: true, force: true });
if (started.status !== 0 || !started.stdout.startsWith("genrouter "))
  stop(`${target} --version said: ${started.stdout}${started.stderr}`);
process.stdout.write(`${target}  ${Math.round(statSync(target).size / 1e6)} MB  ${started.stdout}`);
