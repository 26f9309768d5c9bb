// Where settings come from: flags over environment, files that it names and credentials, over a TOML file, over defaults.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { BadSetting, PREFIX, ProviderSettings, type Settings, SettingsSchema, WELL_KNOWN_KEYS } from "./config.ts";
import { entriesOfFile, type SettingsFile } from "./settings-file.ts";

/** What the command line set, by section, e.g. `{ server: { port: 9000 } }`. */
export type Flags = Readonly<Record<string, Readonly<Record<string, string | number>>>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** One value and where it was said. `from` is how a person would name the place: a variable, a credential, a key of a file. */
export type Entry = { path: readonly string[]; value: unknown; from: string; isInFile?: true };

/** What was read, and per setting (`server.port`) where it was said; what is not in it is a default. */
export type ReadSettings = { settings: Settings; origins: ReadonlyMap<string, string> };

type Schema = { properties?: Record<string, Schema>; default?: unknown; secret?: boolean };

const SECTIONS = Object.keys(SettingsSchema.properties);
/** Variables of this prefix that are no settings: clients of the service use them, or they say where the settings are. */
const OTHER_VARIABLES = new Set(["GENROUTER_URL", "GENROUTER_API_KEY", "GENROUTER_CONFIG"]);
const FILE_SUFFIX = "_file";

/** The settings beside one that a path names; undefined where there is no such section. */
const beside = ([section = "", ...rest]: readonly string[]): Record<string, Schema> | undefined => {
  if (section === "providers") return rest.length === 2 ? ProviderSettings.properties : undefined;
  return rest.length === 1 ? (SettingsSchema.properties as Record<string, Schema>)[section]?.properties : undefined;
};

const isSetting = (path: readonly string[]): boolean => Object.hasOwn(beside(path) ?? {}, path.at(-1) ?? "");

/** Whether a setting is a credential. */
export const isSecret = (path: readonly string[]): boolean => beside(path)?.[path.at(-1) ?? ""]?.secret === true;

const codeOf = (fault: unknown): string => (fault instanceof Error && "code" in fault ? ` (${String(fault.code)})` : "");

/** The one line in a file. @throws BadSetting */
const lineIn = (path: string, from: string): string => {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (fault) {
    throw new BadSetting(`${from}: ${path} cannot be read${codeOf(fault)}`);
  }
  if (text === "") throw new BadSetting(`${from}: ${path} is empty; put the value into it, and nothing else`);
  return text;
};

/** Keys of providers under the names that others use for them too. */
const wellKnown = (env: Environment): Entry[] =>
  Object.entries(WELL_KNOWN_KEYS).flatMap(([provider, from]) => {
    const value = env[from];
    return value ? [{ path: ["providers", provider, "key"], value, from }] : [];
  });

/** `$CREDENTIALS_DIRECTORY/operator.token` and the like, as systemd hands them over; other names are other programs'. */
const credentials = (env: Environment): Entry[] => {
  const dir = env.CREDENTIALS_DIRECTORY;
  if (!dir) return [];
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (fault) {
    throw new BadSetting(`CREDENTIALS_DIRECTORY: ${dir} cannot be read${codeOf(fault)}`);
  }
  return names
    .map((name) => ({ name, path: name.split(".") }))
    .filter(({ path }) => path.length > 1 && SECTIONS.includes(path[0] ?? ""))
    .map(({ name, path }) => {
      const from = `the credential ${name}`;
      return { path, value: isSetting(path) ? lineIn(join(dir, name), from) : "", from };
    });
};

/** `GENROUTER_SECTION__KEY`, and `GENROUTER_SECTION__KEY_FILE` for a file with the value in it. @throws BadSetting for what is no setting. */
const variables = (env: Environment): Entry[] =>
  Object.entries(env).flatMap(([from, value]) => {
    if (value === undefined || !from.startsWith(PREFIX) || OTHER_VARIABLES.has(from)) return [];
    const path = from.slice(PREFIX.length).toLowerCase().split("__");
    // Ids of providers are written with hyphens, which no variable's name can hold.
    if (path[0] === "providers" && path[1] !== undefined) path[1] = path[1].replaceAll("_", "-");
    if (path.length < 2 || !SECTIONS.includes(path[0] ?? ""))
      throw new BadSetting(
        `${from} is not a setting; settings are GENROUTER_<SECTION>__<KEY> with a section of ${SECTIONS.join(", ")}`,
      );
    const last = path.at(-1) ?? "";
    const inFile = [...path.slice(0, -1), last.slice(0, -FILE_SUFFIX.length)];
    if (isSetting(path) || !last.endsWith(FILE_SUFFIX) || !isSetting(inFile)) return [{ path, value, from }];
    const other = from.slice(0, -FILE_SUFFIX.length);
    if (env[other] !== undefined) throw new BadSetting(`${other} and ${from} are both set; set one of them`);
    return [{ path: inFile, value: lineIn(value, from), from }];
  });

const flagged = (flags: Flags): Entry[] =>
  Object.entries(flags).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]) => ({
      path: [section, key],
      value,
      from: `--${section === "data" || section === "catalogue" ? section : key}`,
    })),
  );

/** Two ways of saying the same: the one that was said in the stronger place counts. */
const RIVALS: Readonly<Record<string, string>> = { key: "key_file", key_file: "key" };

/** Lays entries over each other, the strongest last. */
const laid = (entries: readonly Entry[]): Map<string, Entry> => {
  const strongest = new Map<string, Entry>();
  for (const entry of entries) {
    const name = entry.path.join(".");
    strongest.delete(name);
    strongest.set(name, entry);
    const rival = entry.path[0] === "providers" ? RIVALS[entry.path.at(-1) ?? ""] : undefined;
    if (rival !== undefined) strongest.delete([...entry.path.slice(0, -1), rival].join("."));
  }
  return strongest;
};

type Tree = { [key: string]: unknown };

const treeOf = (entries: Iterable<Entry>): Tree => {
  const tree: Tree = {};
  for (const { path, value } of entries) {
    let at = tree;
    for (const part of path.slice(0, -1)) {
      const below = Object.hasOwn(at, part) ? (at[part] as Tree) : {};
      at[part] = below;
      at = below;
    }
    at[path.at(-1) ?? ""] = value;
  }
  return tree;
};

/** Why an entry is no setting; undefined when it is one. */
const strangeLine = ({ path, from, isInFile }: Entry): string | undefined => {
  if (isSetting(path)) return undefined;
  const [section = ""] = path;
  const spelt = (key: string) => (isInFile ? key : key.toUpperCase());
  const known = Object.keys(beside(path) ?? {});
  if (!SECTIONS.includes(section)) return `${from} is not a setting; the sections are ${SECTIONS.join(", ")}`;
  return `${from} is not a setting; ${known.length > 0 ? `known here: ${known.map(spelt).join(", ")}` : "see the settings table"}`;
};

/** The line that tells a fault. Credentials, and whatever was put below `providers`, are never repeated. */
const faultLine = ({ path, schema, value, message, type }: ValueError, said: ReadonlyMap<string, Entry>): string => {
  const parts = path.slice(1).split("/");
  const from = said.get(parts.join("."))?.from ?? PREFIX + parts.join("__").toUpperCase();
  if (type === ValueErrorType.ObjectAdditionalProperties) return `${from} is not a setting; see the settings table`;
  const shown = parts[0] === "providers" || isSecret(parts) ? "" : `, not ${JSON.stringify(value)}`;
  const meaning = typeof schema.description === "string" ? ` (${schema.description})` : "";
  const choices = Array.isArray(schema.anyOf) ? schema.anyOf.map((choice: { const?: unknown }) => choice.const) : [];
  const expected = choices.length > 0 ? `expected one of ${choices.join(", ")}` : message.toLowerCase();
  return `${from}: ${expected}${shown}${meaning}`;
};

/** Addresses that only this machine reaches. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/**
 * Why a service may not listen where the settings say; undefined when it may. Only a start asks: the credential may be there for the
 * service alone.
 */
export const listeningFault = ({ settings: { server, operator }, origins }: ReadSettings): string | undefined => {
  if (LOOPBACK.test(server.host) || operator.token !== "") return undefined;
  return `${origins.get("server.host")}: ${server.host} can be reached from other machines; first set operator.token, the credential of the operator's pages (GENROUTER_OPERATOR__TOKEN_FILE names a file with it; openssl rand -hex 32 makes one)`;
};

/**
 * Reads all that was said.
 * @returns the settings with their origins, or every fault that was found, a line each.
 */
export const examine = (
  env: Environment,
  flags: Flags = {},
  file?: SettingsFile,
): (ReadSettings & { faults: [] }) | { faults: string[] } => {
  let entries: Entry[];
  try {
    entries = [
      ...(file ? entriesOfFile(file) : []),
      ...wellKnown(env),
      ...credentials(env),
      ...variables(env),
      ...flagged(flags),
    ];
  } catch (fault) {
    if (fault instanceof BadSetting) return { faults: [fault.message] };
    throw fault;
  }
  const strange = entries.map(strangeLine).filter((line) => line !== undefined);
  if (strange.length > 0) return { faults: strange };
  const said = laid(entries);
  const settings = Value.Default(SettingsSchema, Value.Convert(SettingsSchema, treeOf(said.values())));
  // Of a choice every alternative complains too: the first line of a path says it all.
  const byPath = new Map([...Value.Errors(SettingsSchema, settings)].reverse().map((fault) => [fault.path, fault]));
  const faults = [...byPath.values()].reverse().map((fault) => faultLine(fault, said));
  if (faults.length > 0) return { faults };
  return { settings: settings as Settings, origins: new Map([...said].map(([name, { from }]) => [name, from])), faults: [] };
};

/**
 * The settings of a run, and where each was said.
 * @throws BadSetting one line naming the setting and what is allowed.
 */
export const readAll = (env: Environment, flags: Flags = {}, file?: SettingsFile): ReadSettings => {
  const read = examine(env, flags, file);
  if ("settings" in read) return read;
  throw new BadSetting(read.faults[0] ?? "the settings cannot be used");
};

/** The settings of a run. @throws BadSetting like `readAll` */
export const readSettings = (env: Environment, flags: Flags = {}, file?: SettingsFile): Settings =>
  readAll(env, flags, file).settings;
