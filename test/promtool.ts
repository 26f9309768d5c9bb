// promtool, which checks what is meant for Prometheus, and the server itself: installed ones, or Debian's, unpacked beside the packages without
// installing them.
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const CACHE = join(import.meta.dir, "../node_modules/.cache");
const KEPT = join(CACHE, "prometheus");

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

/** Fetches Debian's package of Prometheus and unpacks its programs; nothing is installed and nobody has to be root. */
const unpack = (): void => {
  const aside = join(CACHE, `prometheus-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    if (!run(["apt-get", "download", "prometheus"], aside).ok) return;
    const deb = readdirSync(aside).find((name) => name.endsWith(".deb"));
    if (deb === undefined || !run(["dpkg", "-x", deb, aside], aside).ok) return;
    renameSync(join(aside, "usr/bin"), KEPT);
  } catch {
    // Another process was first: what it has unpacked is looked for next.
  } finally {
    rmSync(aside, { recursive: true, force: true });
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
  console.warn("promtool is not here, and apt-get download prometheus did not bring it: what it would check is skipped");

/** Whether there is one; tests that need it are skipped where there is none, which was said. */
export const hasPromtool = path !== null;

/** The server; null where there is none. */
export const prometheusPath = (): string | null => find("prometheus");

/** Runs promtool. @returns whether it was content, and what it said. */
export const promtool = (words: string[], more: { cwd?: string; input?: string } = {}): { ok: boolean; said: string } => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([path ?? "promtool", ...words], {
    ...(more.cwd ? { cwd: more.cwd } : {}),
    stdin: Buffer.from(more.input ?? ""),
  });
  return { ok: exitCode === 0, said: `${stdout}${stderr}` };
};

/** Runs promtool beside what else this process does. @returns as `promtool` */
export const promtoolBeside = async (words: string[]): Promise<{ ok: boolean; said: string }> => {
  const child = Bun.spawn([path ?? "promtool", ...words], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { ok: (await child.exited) === 0, said: `${out}${err}` };
};
