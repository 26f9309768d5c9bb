// promtool, which checks what is meant for Prometheus: an installed one, or Debian's, unpacked beside the packages without installing it.
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const CACHE = join(import.meta.dir, "../node_modules/.cache");
const KEPT = join(CACHE, "promtool");

/** A mirror that does not answer is no reason to wait for ever. */
const LONGEST_MS = 90_000;

const run = (command: string[], cwd?: string): { ok: boolean; said: string } => {
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { ...(cwd ? { cwd } : {}), timeout: LONGEST_MS });
    return { ok: exitCode === 0, said: `${stdout}${stderr}` };
  } catch (fault) {
    return { ok: false, said: String(fault) };
  }
};

/** Fetches Debian's package of Prometheus and unpacks it; nothing is installed and nobody has to be root. */
const unpack = (): string | null => {
  const aside = join(CACHE, `promtool-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    if (!run(["apt-get", "download", "prometheus"], aside).ok) return null;
    const deb = readdirSync(aside).find((name) => name.endsWith(".deb"));
    if (deb === undefined || !run(["dpkg", "-x", deb, aside], aside).ok) return null;
    renameSync(join(aside, "usr/bin/promtool"), KEPT);
    return KEPT;
  } catch {
    return null;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
};

const find = (): string | null => {
  for (const path of [Bun.which("promtool"), KEPT]) if (path && run([path, "--version"]).ok) return path;
  return unpack();
};

const path = find();
if (path === null)
  console.warn("promtool is not here, and apt-get download prometheus did not bring it: what it would check is skipped");

/** Whether there is one; tests that need it are skipped where there is none, which was said. */
export const hasPromtool = path !== null;

/** Runs promtool. @returns whether it was content, and what it said. */
export const promtool = (words: string[], more: { cwd?: string; input?: string } = {}): { ok: boolean; said: string } => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([path ?? "promtool", ...words], {
    ...(more.cwd ? { cwd: more.cwd } : {}),
    stdin: Buffer.from(more.input ?? ""),
  });
  return { ok: exitCode === 0, said: `${stdout}${stderr}` };
};
