// Runs Bun with the arguments given, installing the locked packages first where they are missing or out of date.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, "node_modules", ".genrouter-lock");
const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

const findBun = () => {
  const exe = process.platform === "win32" ? "bun.exe" : "bun";
  const isMusl = process.platform === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
  const names = ["", "-baseline"].map(
    (kind) => `bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : "x64"}${isMusl ? "-musl" : ""}${kind}`,
  );
  const candidates = [
    ...names.map((name) => join(root, "node_modules", "@oven", name, "bin", exe)),
    join(root, "node_modules", "bun", "bin", "bun.exe"),
  ];
  return candidates.find((path) => existsSync(path) && spawnSync(path, ["--version"], { encoding: "utf8" }).status === 0);
};

const isCurrent = existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash;
let bun = isCurrent ? findBun() : undefined;
if (!bun) {
  process.stderr.write("installing the locked packages (once per lock file) …\n");
  const npm = spawnSync(process.platform === "win32" ? "npm.cmd" : "npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr],
    shell: process.platform === "win32",
  });
  if (npm.status !== 0) {
    process.stderr.write("npm ci failed; fix what it says above and run the same command again\n");
    process.exit(npm.status ?? 1);
  }
  bun = findBun();
  if (!bun) {
    process.stderr.write("Bun did not arrive with the packages; run: node node_modules/bun/install.js\n");
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
}

// Read once, when Bun starts: requests in flight over all hosts (256 without it).
const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "4096", ...process.env };
const child = spawn(bun, process.argv.slice(2), { stdio: "inherit", cwd: process.cwd(), env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const parent = process.ppid;
// A package manager that is told to end does not tell its child; without it nobody is left to wait for.
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  child.kill("SIGTERM");
}, 500);
child.on("exit", (code, signal) => {
  clearInterval(watch);
  process.exit(code ?? (signal === "SIGINT" ? 130 : 143));
});
