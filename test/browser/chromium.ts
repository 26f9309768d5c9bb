// The browser of the tests: the machine's own Chromium, else one from an npm package kept in node_modules/.cache, else a reason why there is none.
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

/** Where Debian, Ubuntu, Fedora and others have it. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** A Chromium whose program is inside its npm package: nothing is fetched from anywhere but the registry. */
const PACKED = {
  name: "@sparticuz/chromium@153.0.0",
  sha512: "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
};
const CACHE = resolve(import.meta.dir, "../../node_modules/.cache/chromium-153.0.0");

/** Nothing of its own chatter, and no name is looked up: only this machine can be reached. */
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
  // What it needs beside the C library comes along.
  env: { LD_LIBRARY_PATH: join(dir, "lib"), FONTCONFIG_FILE: join(dir, "fonts.conf") },
});

/** Fetches the packed browser. @throws Error that says why it cannot be had. */
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
    // Copied to where it stays, then named in one step: another test may look for it meanwhile, or bring its own.
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

/** Fetches the browser if there is none. @returns where it is. @throws Error that says why it cannot be had. */
export const fetchBrowser = (): string => {
  const found = find();
  if (typeof found === "string") throw new Error(found);
  return found.path;
};

/** The browser, or why there is none. @param flags more of them */
export const openBrowser = async (flags: readonly string[] = []): Promise<Browser | string> => {
  refuseInQuickSet("a browser");
  const found = find();
  if (typeof found === "string") return found;
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: found.path,
    args: [...FLAGS, ...flags, ...(isRoot ? ["--no-sandbox"] : [])],
    // A machine without a language has Chromium speak `en-US@posix`, which is no language tag.
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? tmpdir(), LANG: "en_US.UTF-8", ...found.env },
  });
};
