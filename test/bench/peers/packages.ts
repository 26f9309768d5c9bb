// Installs the peers' packages from the lock file in this directory when a bench first needs them; the product never does.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killAtTheEnd } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";

/** Beside the binary and not here, where the repository's checks would read them. */
export const PEERS = join(import.meta.dir, "../../../dist/peers");
const STAMP = join(PEERS, ".installed");
const LOCK = join(import.meta.dir, "package-lock.json");
const REPORT_EACH_MS = 10_000;

const install = async (report: (line: string) => void): Promise<void> => {
  const wanted = createHash("sha256").update(readFileSync(LOCK)).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  mkdirSync(PEERS, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(import.meta.dir, name), join(PEERS, name));
  const fromMono = performance.now();
  const elapsed = () => `${Math.round((performance.now() - fromMono) / 1000)} s`;
  report("installing the peers' packages, once: about 280 MB …");
  const timer = setInterval(() => report(`installing the peers' packages: ${elapsed()}`), REPORT_EACH_MS);
  // Without install scripts: no package needs them, and one sends telemetry.
  const npm = Bun.spawn(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    ...{ cwd: PEERS, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  });
  killAtTheEnd(() => npm.kill("SIGKILL"));
  const said = await new Response(npm.stderr).text();
  clearInterval(timer);
  if ((await npm.exited) !== 0)
    throw new NoPeer(`the peers' packages cannot be installed: ${said.trim().split("\n").slice(0, 3).join(" ")}`);
  writeFileSync(STAMP, wanted);
  report(`the peers' packages are there after ${elapsed()}`);
};

let installing: Promise<void> | undefined;
/** Installs the packages unless they exist. @throws NoPeer if they are unavailable. */
export const installPeers = (report: (line: string) => void): Promise<void> => {
  installing ??= install(report);
  return installing;
};

/** A package of the peers; `T` is the used part of its interface. */
export const peerPackage = async <T>(name: string): Promise<T> => (await import(Bun.resolveSync(name, PEERS))) as T;

/** The directory of an installed package. @throws NoPeer if it does not exist for this platform. */
export const packageDir = (name: string): string => {
  const dir = join(PEERS, "node_modules", name);
  if (!existsSync(dir)) throw new NoPeer(`${name} was not installed: there is none for ${process.platform} ${process.arch}`);
  return dir;
};
