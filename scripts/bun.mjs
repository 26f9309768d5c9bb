// Runs Bun with the given arguments; first installs missing or stale locked packages.
//
// `--at-caller` runs in the directory in which npm was called, so that relative paths are those of the user; the data directory
// stays that of `npm start`. `--production` before the arguments needs the packages of production only. Install scripts of packages never run. The runtime
// is the optional package @oven/bun-* of this platform, and npm checks its hash as it does for every other package.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const OWN_FLAGS = ["--production", "--at-caller"];
const firstOther = process.argv.findIndex((word, at) => at > 1 && !OWN_FLAGS.includes(word));
const [ownFlags, bunArguments] = [process.argv.slice(2, firstOther), process.argv.slice(firstOther)];
const isProduction = ownFlags.includes("--production");
/** Undefined unless npm was called in another directory, for example with `--prefix`. */
const callerDir = ownFlags.includes("--at-caller") && process.env.INIT_CWD !== root ? process.env.INIT_CWD : undefined;

const stamp = join(root, "node_modules", ".genrouter-lock");
const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
/** Content of the stamp file: the installed set and the hash of the lock file. */
const STAMPS = { all: lockHash, production: `${lockHash} production` };

/** Name of the runtime package of this platform: `@oven/bun-OS-CPU`, with a suffix for another C library. */
const runtimePackage = () => {
  const os = { win32: "windows", android: "linux" }[process.platform] ?? process.platform;
  const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
  const isMusl = process.platform === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
  return `@oven/bun-${os}-${cpu}${isMusl ? "-musl" : ""}${process.platform === "android" ? "-android" : ""}`;
};

const findBun = () => {
  const exe = process.platform === "win32" ? "bun.exe" : "bun";
  const candidates = [
    join(root, "node_modules", runtimePackage(), "bin", exe),
    // Bun's install script, if a user ran it, moves the runtime here.
    join(root, "node_modules", "bun", "bin", "bun.exe"),
  ];
  return candidates.find((path) => existsSync(path) && spawnSync(path, ["--version"], { encoding: "utf8" }).status === 0);
};

const isCurrent = () => {
  const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  return installed === STAMPS.all || (isProduction && installed === STAMPS.production);
};

let bun = isCurrent() ? findBun() : undefined;
if (!bun) {
  process.stderr.write(`installing the locked packages${isProduction ? " of production" : ""} (once per lock file) …\n`);
  const npm = spawnSync(
    process.platform === "win32" ? "npm.cmd" : "npm",
    ["ci", "--ignore-scripts", ...(isProduction ? ["--omit=dev"] : []), "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd: root, stdio: ["ignore", process.stderr, process.stderr], shell: process.platform === "win32" },
  );
  if (npm.status !== 0) {
    process.stderr.write("npm ci failed; correct the error above and run the same command again\n");
    process.exit(npm.status ?? 1);
  }
  bun = findBun();
  if (!bun) {
    process.stderr.write(
      `${runtimePackage()} is missing or does not start on this processor; node node_modules/bun/install.js fetches another build of Bun\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, isProduction ? STAMPS.production : STAMPS.all);
}

// Maximum number of concurrent requests over all hosts, read once at the start of Bun (default 256).
const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "4096", ...process.env };
if (callerDir !== undefined) {
  bunArguments[0] = join(root, bunArguments[0]);
  env.GENROUTER_DATA__DIR ??= join(root, "data");
}
const child = spawn(bun, bunArguments, { stdio: "inherit", cwd: callerDir ?? process.cwd(), env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const parent = process.ppid;
// A package manager does not forward a signal to its child. If the parent process is gone, the child is ended too.
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  child.kill("SIGTERM");
}, 500);
child.on("exit", (code, signal) => {
  clearInterval(watch);
  process.exit(code ?? (signal === "SIGINT" ? 130 : 143));
});
