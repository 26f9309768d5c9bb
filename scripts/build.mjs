// Builds `dist/genrouter` for this machine, or all release targets with `--all`.
//
// Each binary that can start on this machine is then started as a check.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile, revisionOf, settle } from "./compile.mjs";
import { reproduce } from "./reproduce.mjs";
import { HERE, suffixOf, TARGETS } from "./runtimes.mjs";

const HELP = `npm run build               dist/genrouter for this machine
npm run release             every target as dist/genrouter-VERSION-TARGET, with SHA256SUMS, the notices and an SBOM
  --all                     the same
  --target NAME             one target: ${Object.keys(TARGETS).join(", ")}; may be given several times
  --out DIR                 into another directory than dist
  --rev TEXT                the commit that --version prints, for sources without a repository
  --check                   builds nothing to keep: builds twice, from another directory with other times, and compares
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    target: { type: "string", multiple: true, default: [] },
    out: { type: "string", default: join(root, "dist") },
    rev: { type: "string", default: revisionOf(root) },
    check: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
// The packages are installed first. The runtime is one of them, and a later installation would remove runtimes fetched in the
// meantime.
const ready = spawnSync(process.execPath, [join(root, "scripts", "bun.mjs"), "--production", "--version"], {
  stdio: ["ignore", "ignore", "inherit"],
});
if (ready.status !== 0) process.exit(ready.status ?? 1);
if (values.check) {
  const target = values.target[0] ?? HERE;
  const { hashes, isSame } = reproduce({ root, target, revision: values.rev });
  for (const hash of hashes) process.stdout.write(`${hash}  genrouter for ${target}\n`);
  process.stdout.write(
    isSame ? "two builds, one file\n" : "two builds, two files: something of the place or the time is inside\n",
  );
  process.exit(isSame ? 0 : 1);
}
const out = resolve(values.out);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/**
 * Built and checked in a separate directory, because builds may run in parallel and other programs may run the existing binary.
 */
mkdirSync(out, { recursive: true });
const aside = mkdtempSync(join(out, ".build-"));

const stop = (why) => {
  rmSync(aside, { recursive: true, force: true });
  process.stderr.write(`build failed: ${why}\n`);
  process.exit(1);
};
// Handled after the compiler, which receives the same Ctrl-C, has ended; its incomplete output is removed.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop(`ended by ${signal}`));

/** Starts the binary in an empty directory, so that it cannot depend on the checkout. @returns output of --version */
const prove = (binary) => {
  const empty = mkdtempSync(join(tmpdir(), "genrouter-build-"));
  const start = (...words) => spawnSync(binary, words, { cwd: empty, encoding: "utf8", env: { PATH: process.env.PATH ?? "" } });
  const said = start("--version");
  // Writes through the store's worker, because a build can omit the worker without an error.
  const wrote = start("accounts", "create", "--name", "build", "--data", "proof", "--json");
  rmSync(empty, { recursive: true, force: true });
  if (said.status !== 0 || !said.stdout.includes(`rev ${values.rev},`))
    throw new Error(`--version said: ${said.stdout}${said.stderr}`);
  if (wrote.status !== 0 || !wrote.stdout.startsWith('{"id":"acc_'))
    throw new Error(`the binary cannot write: ${wrote.stdout}${wrote.stderr}`);
  return said.stdout.trim();
};

const writeSbom = (path) => {
  const words = [join(root, "scripts", "bun.mjs"), "--production", join(root, "scripts", "sbom.ts"), path];
  const ended = spawnSync(process.execPath, words, { cwd: root, encoding: "utf8" });
  if (ended.status !== 0) throw new Error(`scripts/sbom.ts: ${ended.stderr || ended.error?.message}`);
};

const wanted = values.all ? Object.keys(TARGETS) : values.target;
const stranger = wanted.find((target) => !(target in TARGETS));
if (stranger) stop(`there is no target ${stranger}; there are ${Object.keys(TARGETS).join(", ")}`);
if (!(HERE in TARGETS) && wanted.length === 0) stop(`there is no runtime for ${HERE}`);
try {
  const files = [];
  for (const target of wanted.length > 0 ? wanted : [HERE]) {
    const built = compile({ root, target, place: join(aside, target), revision: values.rev });
    const said = target === HERE ? prove(built.binary) : `for ${target}, not started here`;
    const name = wanted.length > 0 ? `genrouter-${version}-${target}` : "genrouter";
    const path = join(out, `${name}${suffixOf(target)}`);
    settle(built, path);
    files.push(path);
    process.stdout.write(`${path}  ${Math.round(statSync(path).size / 1e6)} MB  ${said}\n`);
  }
  if (wanted.length > 0) {
    const notices = join(out, `genrouter-${version}-NOTICES.txt`);
    copyFileSync(join(root, "THIRD_PARTY_NOTICES.txt"), notices);
    const sbom = join(out, `genrouter-${version}-sbom.json`);
    writeSbom(sbom);
    const sums = [...files, notices, sbom].map(
      (path) => `${createHash("sha256").update(readFileSync(path)).digest("hex")}  ${basename(path)}\n`,
    );
    writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
    process.stdout.write(sums.join(""));
  }
} catch (fault) {
  stop(fault instanceof Error ? fault.message : String(fault));
}
rmSync(aside, { recursive: true, force: true });
