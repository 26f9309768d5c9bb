// `genrouter config`: validates the settings and prints them with their sources.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { MASTER_KEY_FILE } from "../../backup/manifest.ts";
import { ignoredLine } from "../../config/kubernetes-variables.ts";
import { checkSettings, isSecret, listeningFault, type ReadSettings } from "../../config/load.ts";
import { BadSetting, SettingsSchema } from "../../config/schema.ts";
import { findSettingsFile, type SettingsFile } from "../../config/toml-file.ts";
import type { Json } from "../../domain/types.ts";
import { NO_KEY } from "../../providers/credentials.ts";
import { CommandError, EXITS, messageOf } from "../exit-codes.ts";
import {
  DEMO_KEY_FILE,
  type DirFlag,
  dirFlags,
  type JsonFlag,
  type Session,
  withDir,
  withExamples,
  withJson,
} from "../session.ts";

/**
 * Written by `genrouter install systemd` and passed to its unit only. A start of the unit has the token; this command does not.
 */
const CREDENTIAL = "/etc/genrouter/operator.token";
const HIDDEN = "(hidden)";
const DEFAULT = "default";

type Line = { path: string[]; value: Json; from: string };

/** Hides credentials in a URL. */
const withoutUser = (value: string): string => value.replace(/^(https?:\/\/)[^/@]*@/, `$1${HIDDEN}@`);

/** True if a value may reveal names of machines or places: free text does; a choice, a number or a default does not. */
const isShown = (path: readonly string[], value: Json, from: string): boolean => {
  if (typeof value !== "string" || from === DEFAULT) return false;
  const [section = "", key = ""] = path;
  const sections = SettingsSchema.properties as unknown as Record<string, { properties?: Record<string, { anyOf?: unknown }> }>;
  return sections[section]?.properties?.[key]?.anyOf === undefined;
};

const shown = (path: readonly string[], value: Json, from: string, redact: boolean): Json => {
  if (value === "") return value;
  if (isSecret(path) || (redact && isShown(path, value, from))) return HIDDEN;
  return typeof value === "string" ? withoutUser(value) : value;
};

/** Every setting in the order of the table, providers last. */
const linesOf = ({ settings, origins }: ReadSettings, redact: boolean): Line[] => {
  const { providers, ...sections } = settings;
  const line = (path: string[], value: Json): Line => {
    const from = origins.get(path.join(".")) ?? DEFAULT;
    // The source is reduced to the file, because the name of the setting is printed beside it.
    const [, file] = from.split(" in ");
    return { path, value: shown(path, value, from, redact), from: file === undefined ? from : redact ? "settings file" : file };
  };
  const inTable = Object.keys(SettingsSchema.properties).filter((name): name is keyof typeof sections => name in sections);
  const both: [string[], object][] = [
    ...inTable.map((name): [string[], object] => [[name], sections[name]]),
    ...Object.entries(providers).map(([id, section]): [string[], object] => [["providers", id], section]),
  ];
  return both.flatMap(([above, section]) => Object.entries(section).map(([key, value]) => line([...above, key], value as Json)));
};

/** Formats the settings as TOML with their sources as comments. */
const asToml = (lines: readonly Line[]): string[] => {
  const out: string[] = [];
  let section = "";
  for (const { path, value, from } of lines) {
    const now = path.slice(0, -1).join(".");
    if (now !== section) out.push(...(section === "" ? [] : [""]), `[${now}]`);
    section = now;
    out.push(`${`${path.at(-1)} = ${JSON.stringify(value)}`.padEnd(40)} # ${from}`);
  }
  return out;
};

/** Faults that prevent a start although each setting is valid. */
const deeperFaults = async ({ settings, origins }: ReadSettings): Promise<string[]> => {
  const { startChecks } = await import("../../app/preflight-checks.ts");
  const faults: string[] = [];
  for (const check of startChecks(settings, null, origins))
    try {
      await check();
    } catch (fault) {
      const message = await messageOf(fault);
      if (!message.expected) throw fault;
      faults.push(message.lines.join(" "));
    }
  return faults;
};

/** Invalid provider keys, and key files that cannot be read. */
const keyFaults = async ({ settings, origins }: ReadSettings): Promise<string[]> => {
  const { withKeys } = await import("../../providers/credentials.ts");
  const { usableKey } = await import("../../providers/provider-client.ts");
  const { createVault } = await import("../../providers/vault.ts");
  const vault = createVault(settings.data.dir, settings.store.url !== "");
  return Object.entries(settings.providers).flatMap(([id, section]) => {
    try {
      usableKey(id, withKeys({ ...settings, providers: { [id]: section } }, [], vault).providers[id]?.key);
      return [];
    } catch (fault) {
      // The message starts with the default name of the setting; it is replaced by the actual source.
      const line = fault instanceof Error ? fault.message : String(fault);
      const from = origins.get(`providers.${id}.key`) ?? origins.get(`providers.${id}.key_file`);
      return [from === undefined ? line : line.replace(/^[^:]*/, () => from)];
    }
  });
};

/**
 * Warns that the service of a data directory has no provider key; undefined if it may have one. Simulator directories need none.
 * If a master key exists, a credential has been stored; the database is not opened to check whether it still exists.
 */
const keylessLine = async ({ settings }: ReadSettings): Promise<string | undefined> => {
  const { DATABASE_FILE } = await import("../../store/sqlite/open.ts");
  const isSet = Object.values(settings.providers).some(({ key, key_file }) => key !== undefined || key_file !== undefined);
  const holds = (name: string) => existsSync(join(settings.data.dir, name));
  return isSet || !holds(DATABASE_FILE) || holds(MASTER_KEY_FILE) || holds(DEMO_KEY_FILE) ? undefined : NO_KEY;
};

/** Warns about credentials in a file that other users can read; undefined if there are none. */
const exposedLine = (file: SettingsFile | undefined, origins: ReadonlyMap<string, string>): string | undefined => {
  if (file === undefined || (statSync(file.path).mode & 0o004) === 0) return undefined;
  const exposed = [...origins].filter(([name, from]) => from.endsWith(` in ${file.path}`) && isSecret(name.split(".")));
  if (exposed.length === 0) return undefined;
  return `${file.path} holds credentials (${exposed.map(([name]) => name).join(", ")}) and all users of this machine can read it: chmod o-r ${file.path}`;
};

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

const usedLine = (file: SettingsFile | undefined, origins: ReadonlyMap<string, string>): string => {
  const all = [...origins.values()];
  const inFile = all.filter((from) => file !== undefined && from.endsWith(` in ${file.path}`)).length;
  const elsewhere = all.length - inFile;
  const parts = [file === undefined ? "no settings file" : `${plural(inFile, "setting")} of ${file.path}`];
  if (elsewhere > 0) parts.push(`${elsewhere} of the environment and flags`);
  return `${parts.join(", ")}, the others are defaults`;
};

export const addConfig = (program: Command, session: Session): void => {
  const { terminal } = session;
  const config = withExamples(
    program.command("config").description("check and show the settings"),
    "config check",
    "config print --redact",
  );

  const read = (flags: DirFlag) => {
    const file = findSettingsFile(session.env, session.config);
    return { file, read: checkSettings(session.env, dirFlags(flags), file) };
  };

  const check = config
    .command("check")
    .description("print every configuration error with its source; exit 2 if there is one")
    .action(async (flags: DirFlag & JsonFlag) => {
      const { file, read: found } = read(flags);
      const isRead = "settings" in found;
      const unsafe = "settings" in found ? listeningFault(found) : undefined;
      const isInCredentials = existsSync(CREDENTIAL);
      const faults = [
        ...(isRead ? await deeperFaults(found) : found.faults),
        ...(unsafe === undefined || isInCredentials ? [] : [unsafe]),
        ...(await keyFaults(isRead ? found : found.rest)),
      ];
      const exposed = "settings" in found ? exposedLine(file, found.origins) : undefined;
      const keyless = "settings" in found ? await keylessLine(found) : undefined;
      const ignored = ignoredLine(("settings" in found ? found : found.rest).ignored);
      const warnings = [
        ...(unsafe === undefined || !isInCredentials ? [] : [`${unsafe}; the systemd unit passes ${CREDENTIAL}`]),
        ...(exposed === undefined ? [] : [exposed]),
        ...(ignored === undefined ? [] : [ignored]),
        ...(keyless === undefined ? [] : [keyless]),
      ];
      if (flags.json) terminal.print(JSON.stringify({ ok: faults.length === 0, file: file?.path ?? null, faults, warnings }));
      else {
        for (const line of faults) terminal.print(`${terminal.paint("red", "✘")} ${line}`);
        for (const line of warnings) terminal.print(`${terminal.paint("yellow", "!")} ${line}`);
        if ("settings" in found && faults.length === 0)
          terminal.print(`${terminal.paint("green", "✔")} the settings can be used: ${usedLine(file, found.origins)}`);
      }
      if (faults.length > 0) session.exit = EXITS.usage;
    });
  withExamples(withJson(withDir(check)), "config check", "config check --config /etc/genrouter/genrouter.toml");

  const print = config
    .command("print")
    .description("print the effective configuration and the source of each value; credentials are redacted")
    .option("--redact", "hide addresses and paths as well, to share the output")
    .action((flags: DirFlag & JsonFlag & { redact?: true }) => {
      const { read: found } = read(flags);
      if (!("settings" in found)) {
        if (found.faults.length === 1) throw new BadSetting(found.faults[0], { isPassing: found.passing !== undefined });
        throw new CommandError(EXITS.usage, found.faults[0] ?? "", {
          fix: "genrouter config check prints all errors",
          code: "bad_setting",
        });
      }
      const lines = linesOf(found, flags.redact === true);
      if (flags.json)
        for (const { path, value, from } of lines) terminal.print(JSON.stringify({ setting: path.join("."), value, from }));
      else for (const line of asToml(lines)) terminal.print(line);
    });
  withExamples(withJson(withDir(print)), "config print", "config print --redact > settings.txt");
};
