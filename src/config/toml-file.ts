// Locates the settings file and reads its TOML as entries.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { Entry } from "./load.ts";
import { BadSetting } from "./schema.ts";
import { codeOf, isPassing } from "./value-files.ts";

/** A settings file that was read. */
export type SettingsFile = { path: string; text: string };

const SYSTEM_FILE = "/etc/genrouter/genrouter.toml";

/**
 * Default location of the settings file: the system's file for root, whose commands manage the installed service; for other users
 * a file below the XDG directory.
 */
const usualPlace = (env: Readonly<Record<string, string | undefined>>, isRoot: boolean): string | undefined => {
  if (isRoot) return SYSTEM_FILE;
  const home = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : "");
  return home ? join(home, "genrouter", "genrouter.toml") : undefined;
};

/**
 * Finds and reads the settings file. The flag has precedence over GENROUTER_CONFIG, and both over the default location, which may
 * be absent.
 * @throws BadSetting if the file is named or exists, and cannot be read.
 */
export const findSettingsFile = (
  env: Readonly<Record<string, string | undefined>>,
  named: string | undefined,
  isRoot: boolean = process.getuid?.() === 0,
): SettingsFile | undefined => {
  const requested = named ?? (env.GENROUTER_CONFIG || undefined);
  const path = requested ?? usualPlace(env, isRoot);
  if (path === undefined || (requested === undefined && !existsSync(path))) return undefined;
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (fault) {
    const from = named !== undefined ? "--config: " : requested !== undefined ? "GENROUTER_CONFIG: " : "";
    throw new BadSetting(`${from}${path} cannot be read${codeOf(fault)}`, { isPassing: isPassing(fault) });
  }
};

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** All values of a file: `[server] port = 1` is `server.port`. @throws BadSetting if it is not TOML, with line and column. */
export const entriesOfFile = ({ path: file, text }: SettingsFile): Entry[] => {
  let root: Record<string, unknown>;
  try {
    root = parse(text);
  } catch (fault) {
    if (!(fault instanceof TomlError)) throw fault;
    // The remainder of the message quotes lines of the file, which may contain credentials.
    const [what = ""] = fault.message.split("\n");
    const where = `${file}:${fault.line}:${fault.column}`;
    // A file that is being written is invalid TOML too and cannot be distinguished from a mistake.
    throw new BadSetting(`${where}: ${what.replace(/^Invalid TOML document: /, "")}`, { isPassing: true });
  }
  const walk = (table: Record<string, unknown>, above: string[]): Entry[] =>
    Object.entries(table).flatMap(([key, value]) => {
      const path = [...above, key];
      return isTable(value) ? walk(value, path) : [{ path, value, from: `${path.join(".")} in ${file}`, isInFile: true }];
    });
  return walk(root, []);
};
