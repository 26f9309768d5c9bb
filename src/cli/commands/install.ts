// `genrouter install systemd`: writes the files of a service on this machine.
//
// It overwrites no file and starts nothing.
import { closeSync, fchmodSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type Session, withExamples } from "../session.ts";
import type { Part } from "../systemd.ts";

type Flags = { root: string; dryRun?: true };
type Outcome = "written" | "already exists" | "kept: it differs from the file of this release";

const codeOf = (fault: unknown): string => (fault instanceof Error && "code" in fault ? String(fault.code) : "");

const textAt = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (fault) {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw fault;
  }
};

/** Writes a file completely or not at all, and never replaces an existing file. */
const writeNew = (path: string, text: string, mode: number): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const aside = `${path}.${process.pid}`;
  rmSync(aside, { force: true });
  const file = openSync(aside, "wx", mode);
  try {
    fchmodSync(file, mode);
    writeSync(file, text);
    fsyncSync(file);
    linkSync(aside, path);
  } finally {
    closeSync(file);
    rmSync(aside, { force: true });
  }
};

const put = ({ text, mode, isSecret }: Part, path: string, isDry: boolean): Outcome => {
  const there = textAt(path);
  if (there !== undefined)
    return isSecret || there === text ? "already exists" : "kept: it differs from the file of this release";
  if (!isDry) writeNew(path, text, mode);
  return "written";
};

/** Path of this binary for the unit. @throws CommandError if the program runs from source */
const ownPath = (): string => {
  if (!/^(\/\$bunfs|[a-z]:[\\/]~bun)/i.test(import.meta.dir))
    throw new CommandError(EXITS.usage, "a service requires the built binary, and this program runs from source", {
      fix: "npm run build, copy dist/genrouter to /usr/local/bin, and run: genrouter install systemd",
      code: "not_built",
    });
  return process.execPath;
};

export const addInstall = (program: Command, session: Session): void => {
  const { terminal } = session;
  const install = program.command("install").description("install genrouter as a system service");
  const systemd = install
    .command("systemd")
    .description("write a systemd unit, its configuration and its credential; nothing is started or overwritten")
    .option("--root <dir>", "write below another root directory, for images and packages", "/")
    .option("--program <path>", "program that the unit starts (default: this one)")
    .option("--dry-run", "print the files without writing them")
    .action(async (flags: Flags & { program?: string }) => {
      const { partsOf } = await import("../systemd.ts");
      const path = resolve(flags.program ?? ownPath());
      const isDry = flags.dryRun === true;
      for (const part of partsOf(path)) {
        const place = join(resolve(flags.root), part.path);
        try {
          const outcome = put(part, place, isDry);
          terminal.print(`${place}  ${isDry && outcome === "written" ? "would be written" : outcome}`);
        } catch (fault) {
          throw new CommandError(EXITS.unwritable, `${place} cannot be written (${codeOf(fault) || String(fault)})`, {
            fix: "run it as root (sudo genrouter install systemd), or name another place with --root",
            code: "not_writable",
          });
        }
      }
      if (/^\/(home|root|run\/user|tmp|var\/tmp)\//.test(path))
        terminal.warn(
          `the service cannot read ${path}: it has no access to home and temporary directories; sudo install -m 755 ${path} /usr/local/bin/genrouter, and add --program /usr/local/bin/genrouter`,
        );
      terminal.note("\nNothing was started. Next:");
      for (const line of [
        "sudoedit /etc/genrouter/genrouter.toml",
        "sudo genrouter config check",
        "sudo genrouter providers set-key fal < fal.key   # or LoadCredential in the unit",
        "sudo systemctl daemon-reload",
        "sudo systemctl enable --now genrouter",
        "sudo genrouter accounts create --name acme --credit-usd 50",
      ])
        terminal.note(`  ${line}`);
    });
  withExamples(install, "install systemd");
  withExamples(
    systemd,
    "install systemd --dry-run",
    "install systemd",
    "install systemd --root ./image --program /usr/bin/genrouter",
  );
};
