// promtool and the Prometheus server for tests: installed programs, or Debian's, unpacked into node_modules/.cache.

import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { dropScratch } from "./scratch.ts";

const CACHE = join(import.meta.dir, "../node_modules/.cache");
const KEPT = join(CACHE, "prometheus");

/** Limit for a package mirror that does not respond. */
const LONGEST_MS = 90_000;

const run = (command: string[], cwd?: string): { ok: boolean; said: string } => {
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { ...(cwd ? { cwd } : {}), timeout: LONGEST_MS });
    return { ok: exitCode === 0, said: `${stdout}${stderr}` };
  } catch (fault) {
    return { ok: false, said: String(fault) };
  }
};

/** Downloads Debian's package of Prometheus and unpacks its programs, without installation and without root. */
const unpack = (): void => {
  const aside = join(CACHE, `prometheus-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    if (!run(["apt-get", "download", "prometheus"], aside).ok) return;
    const deb = readdirSync(aside).find((name) => name.endsWith(".deb"));
    if (deb === undefined || !run(["dpkg", "-x", deb, aside], aside).ok) return;
    renameSync(join(aside, "usr/bin"), KEPT);
  } catch {
    // Another process was first; the next search finds the programs that it unpacked.
  } finally {
    dropScratch(aside);
  }
};

const installed = (program: string): string | null =>
  [Bun.which(program), join(KEPT, program)].find((path) => path !== null && run([path, "--version"]).ok) ?? null;
const find = (program: string): string | null => {
  const there = installed(program);
  if (there !== null) return there;
  unpack();
  return installed(program);
};

const path = find("promtool");
if (path === null)
  console.warn("skipped: the checks with promtool (it is not installed, and apt-get download prometheus failed)");

/** Whether promtool is available; tests that need it are skipped otherwise, which is printed. */
export const hasPromtool = path !== null;

/** Path of the Prometheus server; null when it is not available. */
export const prometheusPath = (): string | null => find("prometheus");

/** Runs promtool. @returns whether it succeeded, and its output */
export const promtool = (words: string[], more: { cwd?: string; input?: string } = {}): { ok: boolean; said: string } => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([path ?? "promtool", ...words], {
    ...(more.cwd ? { cwd: more.cwd } : {}),
    stdin: Buffer.from(more.input ?? ""),
  });
  return { ok: exitCode === 0, said: `${stdout}${stderr}` };
};

/** Runs promtool without blocking this process. @returns as `promtool` */
export const promtoolBeside = async (words: string[]): Promise<{ ok: boolean; said: string }> => {
  const child = Bun.spawn([path ?? "promtool", ...words], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { ok: (await child.exited) === 0, said: `${out}${err}` };
};
