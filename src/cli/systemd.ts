// What an installed service consists of: its unit, its settings and its credential, as texts and where they go.
import { randomBytes } from "node:crypto";
import settingsFile from "../../deploy/genrouter.toml" with { type: "text" };
import unit from "../../deploy/systemd/genrouter.service" with { type: "text" };

/** The unit as it is in the repository starts the binary from here. */
const STANDARD_PROGRAM = "/usr/local/bin/genrouter";

/** One file to be there. `isSecret`: made once, with what nobody knows; one that is there already is right as it is. */
export type Part = { path: string; mode: number; text: string; isSecret?: true };

/** A path as a word of `ExecStart`: quoted where it must be, and `%` is not a specifier. */
const execWord = (path: string): string => {
  const text = path.replaceAll("%", "%%");
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
};

/** The unit for a program at `path`. */
export const unitFor = (path: string): string =>
  unit.replace(`ExecStart=${STANDARD_PROGRAM} `, () => `ExecStart=${path === STANDARD_PROGRAM ? path : execWord(path)} `);

/** Everything that the service needs, in the order it is written. */
export const partsOf = (program: string): Part[] => [
  { path: "/etc/systemd/system/genrouter.service", mode: 0o644, text: unitFor(program) },
  // Read by the service itself, at a reload too: what is secret stands elsewhere.
  { path: "/etc/genrouter/genrouter.toml", mode: 0o644, text: settingsFile },
  { path: "/etc/genrouter/operator.token", mode: 0o600, text: `${randomBytes(32).toString("base64url")}\n`, isSecret: true },
];
