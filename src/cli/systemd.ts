// Files of an installed systemd service: unit, settings and credential.
import { randomBytes } from "node:crypto";
import settingsFile from "../../deploy/genrouter.toml" with { type: "text" };
import unit from "../../deploy/systemd/genrouter.service" with { type: "text" };

/** Path of the binary in the unit of the repository. */
const STANDARD_PROGRAM = "/usr/local/bin/genrouter";

/** One file to write. `isSecret`: a generated secret; an existing one is kept. */
export type Part = { path: string; mode: number; text: string; isSecret?: true };

/** A path as a word of `ExecStart`: quoted if necessary, and with `%` escaped. */
const execWord = (path: string): string => {
  const text = path.replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
};

/** The unit for a program at `path`. */
export const unitFor = (path: string): string =>
  unit.replace(`ExecStart=${STANDARD_PROGRAM} `, () => `ExecStart=${path === STANDARD_PROGRAM ? path : execWord(path)} `);

/** All files of the service, in the order of writing. */
export const partsOf = (program: string): Part[] => [
  { path: "/etc/systemd/system/genrouter.service", mode: 0o644, text: unitFor(program) },
  // Readable by the service itself, also at a reload, so it contains no secrets.
  { path: "/etc/genrouter/genrouter.toml", mode: 0o644, text: settingsFile },
  { path: "/etc/genrouter/operator.token", mode: 0o600, text: `${randomBytes(32).toString("base64url")}\n`, isSecret: true },
];
