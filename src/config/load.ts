// Loads settings from flags, environment, credentials, the TOML file and defaults.
//
// Precedence, highest first: flags, environment variables and the files that they name, systemd credentials, well-known
// variables, the TOML file, defaults.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { isLoopback } from "./cidr-list.ts";
import { databaseFault } from "./database-url.ts";
import { isOfService } from "./kubernetes-variables.ts";
import { converted, isText, misfit, type ValueSchema } from "./parse-value.ts";
import { RENAMED_SETTINGS } from "./renamed-settings.ts";
import { BadSetting, PREFIX, ProviderSettings, type Settings, SettingsSchema } from "./schema.ts";
import { entriesOfFile, type SettingsFile } from "./toml-file.ts";
import { codeOf, entryIn, isPassing, type Note } from "./value-files.ts";
import { WELL_KNOWN_KEYS } from "./well-known-variables.ts";

/** Values of the command line by section, e.g. `{ server: { port: 9000 } }`. */
export type Flags = Readonly<Record<string, Readonly<Record<string, string | number>>>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** One value and its source. `from` is the readable name of the source: a variable, a credential, a key of a file. */
export type Entry = { path: readonly string[]; value: unknown; from: string; isInFile?: true };

/**
 * The settings, and the source of each (`server.port`); a setting without a source has its default. `ignored` lists variables
 * with the prefix of settings that belong to other programs.
 */
export type ReadSettings = { settings: Settings; origins: ReadonlyMap<string, string>; ignored: readonly string[] };

type Schema = ValueSchema & { properties?: Record<string, Schema>; secret?: boolean };

const SECTIONS = Object.keys(SettingsSchema.properties);
/** Variables with the prefix of settings that are none: clients of the service use them, or they locate the settings file. */
const OTHER_VARIABLES = new Set(["GENROUTER_URL", "GENROUTER_API_KEY", "GENROUTER_CONFIG"]);
const FILE_SUFFIX = "_file";

/** The settings in the section of a path; undefined if the section does not exist. */
const beside = ([section = "", ...rest]: readonly string[]): Record<string, Schema> | undefined => {
  if (section === "providers") return rest.length === 2 ? ProviderSettings.properties : undefined;
  return rest.length === 1 ? (SettingsSchema.properties as Record<string, Schema>)[section]?.properties : undefined;
};

const schemaAt = (path: readonly string[]): Schema | undefined => {
  const [settings, key] = [beside(path) ?? {}, path.at(-1) ?? ""];
  return Object.hasOwn(settings, key) ? settings[key] : undefined;
};

const isSetting = (path: readonly string[]): boolean => schemaAt(path) !== undefined;

/**
 * Path of the setting whose value is in the file that this path names (suffix `_file`); undefined if there is no such setting.
 */
const settingInFile = (path: readonly string[]): string[] | undefined => {
  const last = path.at(-1) ?? "";
  if (isSetting(path) || !last.endsWith(FILE_SUFFIX)) return undefined;
  const of = [...path.slice(0, -1), last.slice(0, -FILE_SUFFIX.length)];
  return isSetting(of) ? of : undefined;
};

/** True if a setting is a credential. */
export const isSecret = (path: readonly string[]): boolean => schemaAt(path)?.secret === true;

/** Provider keys in the variables that other programs use too. */
const wellKnown = (env: Environment): Entry[] =>
  Object.entries(WELL_KNOWN_KEYS).flatMap(([provider, from]) => {
    const value = env[from];
    return value ? [{ path: ["providers", provider, "key"], value, from }] : [];
  });

/**
 * Credentials from systemd, such as `$CREDENTIALS_DIRECTORY/operator.token`. Other names belong to other programs and are
 * skipped.
 */
const credentials = (env: Environment, note: Note): Entry[] => {
  const dir = env.CREDENTIALS_DIRECTORY;
  if (!dir) return [];
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (fault) {
    note(`CREDENTIALS_DIRECTORY: ${dir} cannot be read${codeOf(fault)}`, isPassing(fault));
    return [];
  }
  return names
    .map((name) => ({ name, path: name.split(".") }))
    .filter(({ path }) => path.length > 1 && SECTIONS.includes(path[0] ?? ""))
    .flatMap(({ name, path }) => {
      const from = `the credential ${name}`;
      return isSetting(path) ? entryIn(join(dir, name), path, from, note) : [{ path, value: "", from }];
    });
};

/**
 * `GENROUTER_SECTION__KEY`, and `GENROUTER_SECTION__KEY_FILE` for a file that contains the value. Compose files set variables
 * without a value to the empty string, so an empty variable is ignored unless the setting is a text.
 */
const variables = (env: Environment, note: Note): Entry[] =>
  Object.entries(env).flatMap(([from, value]): Entry[] => {
    if (value === undefined || !from.startsWith(PREFIX) || OTHER_VARIABLES.has(from) || isOfService(from, value)) return [];
    const path = from.slice(PREFIX.length).toLowerCase().split("__");
    // Provider ids contain hyphens, which are not allowed in names of variables.
    if (path[0] === "providers" && path[1] !== undefined) path[1] = path[1].replaceAll("_", "-");
    if (path.length < 2 || !SECTIONS.includes(path[0] ?? "")) {
      note(`${from} is not a setting; settings are GENROUTER_<SECTION>__<KEY> with a section of ${SECTIONS.join(", ")}`);
      return [];
    }
    const isUnset = (text: string | undefined, schema: Schema) => text === undefined || (text === "" && !isText(schema));
    const own = schemaAt(path);
    if (own !== undefined) return isUnset(value, own) ? [] : [{ path, value, from }];
    const inFile = settingInFile(path);
    const schema = inFile && schemaAt(inFile);
    if (inFile === undefined || schema === undefined) return [{ path, value, from }];
    if (isUnset(value, schema)) return [];
    const other = from.slice(0, -FILE_SUFFIX.length);
    if (isUnset(env[other], schema)) return entryIn(value, inFile, from, note);
    note(`${other} and ${from} are both set; set one of them`);
    return [];
  });

const flagged = (flags: Flags): Entry[] =>
  Object.entries(flags).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]) => ({
      path: [section, key],
      value,
      from: `--${section === "data" || section === "catalogue" ? section : key}`,
    })),
  );

/** Alternative names of one value. The value from the source of higher precedence applies. */
const RIVALS: Readonly<Record<string, string>> = { key: "key_file", key_file: "key" };

/** Merges entries; a later entry overrides an earlier one. */
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
    at[path.at(-1) ?? ""] = converted(schemaAt(path) ?? {}, value);
  }
  return tree;
};

/** Header of the table that a path names; undefined if the path names a setting or nothing. */
const tableOf = (path: readonly string[]): string | undefined => {
  const [section = ""] = path;
  if (section === "providers") return path.length > 2 ? undefined : `providers.${path[1] ?? "fal"}`;
  return path.length === 1 && SECTIONS.includes(section) ? section : undefined;
};

/** Reason why an entry is not a setting; undefined if it is one. */
const strangeLine = ({ path, from, isInFile }: Entry): string | undefined => {
  if (isSetting(path)) return undefined;
  const [section = ""] = path;
  const spelt = (key: string) => (isInFile ? key : key.toUpperCase());
  const isFile = (path.at(-1) ?? "").endsWith(FILE_SUFFIX);
  const former = isFile ? path.join(".").slice(0, -FILE_SUFFIX.length) : path.join(".");
  const current = Object.hasOwn(RENAMED_SETTINGS, former) ? RENAMED_SETTINGS[former] : undefined;
  if (current !== undefined) {
    const name = `${current}${isFile ? FILE_SUFFIX : ""}`;
    return `${from} was renamed; set ${isInFile ? name : PREFIX + name.toUpperCase().replaceAll(".", "__")} instead`;
  }
  const table = tableOf(path);
  if (isInFile && table !== undefined) return `${from}: expected a table, for example [${table}]`;
  const known = Object.keys(beside(path) ?? {});
  if (!SECTIONS.includes(section)) return `${from} is not a setting; the sections are ${SECTIONS.join(", ")}`;
  return `${from} is not a setting; ${known.length > 0 ? `known here: ${known.map(spelt).join(", ")}` : "see the settings table"}`;
};

/** The message of a fault. It never repeats credentials or any value below `providers`. */
const faultLine = (fault: ValueError, settings: ReadonlyMap<string, Entry>): string => {
  const parts = fault.path.slice(1).split("/");
  const name = parts.join(".");
  if (fault.type === ValueErrorType.ObjectAdditionalProperties) {
    const [, entry] = [...settings].find(([each]) => each.startsWith(`${name}.`)) ?? [];
    return `${entry?.from ?? name} is not a setting; a provider's id consists of lower-case letters, digits and hyphens, and begins with a letter`;
  }
  const from = settings.get(name)?.from ?? PREFIX + parts.join("__").toUpperCase();
  return `${from}: ${misfit(fault, parts[0] === "providers" || isSecret(parts))}`;
};

/**
 * Reason why the service may not listen on the configured address; undefined if it may. Only `serve` and `config check` call
 * this, because the credential may be available to the service alone.
 */
export const listeningFault = ({ settings: { server, operator }, origins }: ReadSettings): string | undefined => {
  if (isLoopback(server.host) || operator.token !== "") return undefined;
  return `${origins.get("server.host")}: ${server.host} can be reached from other machines; set operator.token first (GENROUTER_OPERATOR__TOKEN_FILE names a file with it; openssl rand -hex 32 creates one)`;
};

/** Faults of combinations of settings that are valid individually. */
const faultOfBoth = ({ settings: { store }, origins }: ReadSettings): string[] => {
  const why = databaseFault(store.url, store.insecure);
  return why === undefined ? [] : [`${origins.get("store.url")}: ${why}`];
};

/**
 * `url_file = "…"` in the settings file names a file that contains the value, like a variable with this suffix. The file is not
 * read if a source of higher precedence has the value. The current user may not be allowed to read a credential of the service.
 */
const withFileRead = (all: readonly Entry[], stronger: readonly Entry[], note: Note): Entry[] => {
  const isSetIn = (entries: readonly Entry[], name: string) => entries.some(({ path }) => path.join(".") === name);
  return all.flatMap((entry): Entry[] => {
    const of = settingInFile(entry.path);
    if (of === undefined) return [entry];
    const { value, from } = entry;
    const name = of.join(".");
    if (isSetIn(all, name)) note(`${name} and ${from} are both set; set one of them`);
    else if (typeof value !== "string" || value === "") note(`${from}: expected the path of a file that contains the value`);
    else if (!isSetIn(stronger, name)) return entryIn(value, of, from, note);
    return [];
  });
};

/** Entries of the file; if it is not TOML, none and a noted fault. */
const entriesIn = (file: SettingsFile, note: Note): Entry[] => {
  try {
    return entriesOfFile(file);
  } catch (fault) {
    if (!(fault instanceof BadSetting)) throw fault;
    note(fault.message, fault.isPassing);
    return [];
  }
};

const readOf = (settings: ReadonlyMap<string, Entry>, ignored: readonly string[]): ReadSettings => ({
  settings: Value.Default(SettingsSchema, treeOf(settings.values())) as Settings,
  origins: new Map([...settings].map(([name, { from }]) => [name, from])),
  ignored,
});

/**
 * Reads all sources.
 * @returns the settings with their sources, or all faults, a line each, with the settings that remain without the faulty values;
 * `passing` is the first fault that may be absent at a later start and may cause the other faults.
 */
export const checkSettings = (
  env: Environment,
  flags: Flags = {},
  file?: SettingsFile,
): (ReadSettings & { faults: [] }) | { faults: string[]; passing: string | undefined; rest: ReadSettings } => {
  const faults: string[] = [];
  let passing: string | undefined;
  const note: Note = (line, mayPass = false) => {
    faults.push(line);
    if (mayPass) passing ??= line;
  };
  const ignored = Object.keys(env).filter((name) => isOfService(name, env[name] ?? ""));
  const ofFile = file ? entriesIn(file, note) : [];
  const stronger = [...wellKnown(env), ...credentials(env, note), ...variables(env, note), ...flagged(flags)];
  const entries = [...withFileRead(ofFile, stronger, note), ...stronger];
  faults.push(...entries.map(strangeLine).filter((line) => line !== undefined));
  const settings = laid(entries.filter(({ path }) => isSetting(path)));
  const read = readOf(settings, ignored);
  // For a union, every alternative reports an error. Only the first error of a path is kept. A search for errors takes longer
  // than a check.
  const errors = Value.Check(SettingsSchema, read.settings) ? [] : [...Value.Errors(SettingsSchema, read.settings)];
  const byPath = new Map(errors.reverse().map((fault) => [fault.path, fault]));
  const misfits = [...byPath.values()].reverse();
  faults.push(...misfits.map((fault) => faultLine(fault, settings)));
  const bad = misfits.map(({ path }) => path.slice(1).replaceAll("/", "."));
  if (misfits.length === 0) {
    const both = faultOfBoth(read);
    faults.push(...both);
    if (both.length > 0) bad.push("store.url");
  }
  if (faults.length === 0) return { ...read, faults: [] };
  const good = [...settings].filter(([name]) => !bad.some((each) => name === each || name.startsWith(`${each}.`)));
  return { faults, passing, rest: readOf(new Map(good), ignored) };
};

/**
 * The settings of a run and their sources.
 * @throws BadSetting one line that names the setting and the allowed values.
 */
export const readAll = (env: Environment, flags: Flags = {}, file?: SettingsFile): ReadSettings => {
  const read = checkSettings(env, flags, file);
  if ("settings" in read) return read;
  throw read.passing === undefined
    ? new BadSetting(read.faults[0] ?? "the settings cannot be used")
    : new BadSetting(read.passing, { isPassing: true });
};

/** The settings of a run. @throws BadSetting like `readAll` */
export const readSettings = (env: Environment, flags: Flags = {}, file?: SettingsFile): Settings =>
  readAll(env, flags, file).settings;
