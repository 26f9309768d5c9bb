// The peers' packages: installed from the lock file beside this one the first time that a bench asks for them, and never by the product.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killAtTheEnd } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";

/** Beside the binary and not here, where every check of the repository would read them as its own files. */
export const PEERS = join(import.meta.dir, "../../../dist/peers");
const STAMP = join(PEERS, ".installed");
const LOCK = join(import.meta.dir, "package-lock.json");
const TELL_EACH_MS = 10_000;

const install = async (tell: (line: string) => void): Promise<void> => {
  const wanted = createHash("sha256").update(readFileSync(LOCK)).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  mkdirSync(PEERS, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(import.meta.dir, name), join(PEERS, name));
  const fromMono = performance.now();
  const elapsed = () => `${Math.round((performance.now() - fromMono) / 1000)} s`;
  tell("installing the peers' packages, once: about 280 MB …");
  const timer = setInterval(() => tell(`installing the peers' packages: ${elapsed()}`), TELL_EACH_MS);
  // Without scripts: none of the packages needs its own, and one of them would report home.
  const npm = Bun.spawn(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    ...{ cwd: PEERS, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  });
  killAtTheEnd(() => npm.kill("SIGKILL"));
  const said = await new Response(npm.stderr).text();
  clearInterval(timer);
  if ((await npm.exited) !== 0)
    throw new NoPeer(`the peers' packages cannot be installed: ${said.trim().split("\n").slice(0, 3).join(" ")}`);
  writeFileSync(STAMP, wanted);
  tell(`the peers' packages are there after ${elapsed()}`);
};

let installing: Promise<void> | undefined;
/** Installs the packages unless they are there. @throws NoPeer when they cannot be had. */
export const installPeers = (tell: (line: string) => void): Promise<void> => {
  installing ??= install(tell);
  return installing;
};

/** A package of the peers; `T` is as much of it as is used here. */
export const peerPackage = async <T>(name: string): Promise<T> => (await import(Bun.resolveSync(name, PEERS))) as T;

/** A directory of an installed package. @throws NoPeer where it does not exist for this kind of machine. */
export const packageDir = (name: string): string => {
  const dir = join(PEERS, "node_modules", name);
  if (!existsSync(dir)) throw new NoPeer(`${name} was not installed: there is none for ${process.platform} ${process.arch}`);
  return dir;
};
