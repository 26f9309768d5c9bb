// Where settings come from: flags over environment, files that it names and credentials, over a TOML file, over defaults.
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

/** What the command line set, by section, e.g. `{ server: { port: 9000 } }`. */
export type Flags = Readonly<Record<string, Readonly<Record<string, string | number>>>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** One value and where it was said. `from` is how a person would name the place: a variable, a credential, a key of a file. */
export type Entry = { path: readonly string[]; value: unknown; from: string; isInFile?: true };

/**
 * What was read, and per setting (`server.port`) where it was said; what is not in it is a default. `ignored`: variables that are others'
 * although they begin like settings.
 */
export type ReadSettings = { settings: Settings; origins: ReadonlyMap<string, string>; ignored: readonly string[] };

type Schema = ValueSchema & { properties?: Record<string, Schema>; secret?: boolean };

const SECTIONS = Object.keys(SettingsSchema.properties);
/** Variables of this prefix that are no settings: clients of the service use them, or they say where the settings are. */
const OTHER_VARIABLES = new Set(["GENROUTER_URL", "GENROUTER_API_KEY", "GENROUTER_CONFIG"]);
const FILE_SUFFIX = "_file";

/** The settings beside one that a path names; undefined where there is no such section. */
const beside = ([section = "", ...rest]: readonly string[]): Record<string, Schema> | undefined => {
  if (section === "providers") return rest.length === 2 ? ProviderSettings.properties : undefined;
  return rest.length === 1 ? (SettingsSchema.properties as Record<string, Schema>)[section]?.properties : undefined;
};

const schemaAt = (path: readonly string[]): Schema | undefined => {
  const [settings, key] = [beside(path) ?? {}, path.at(-1) ?? ""];
  return Object.hasOwn(settings, key) ? settings[key] : undefined;
};

const isSetting = (path: readonly string[]): boolean => schemaAt(path) !== undefined;

/** The setting whose value a file has that a setting of this path names; undefined where it names none. */
const settingInFile = (path: readonly string[]): string[] | undefined => {
  const last = path.at(-1) ?? "";
  if (isSetting(path) || !last.endsWith(FILE_SUFFIX)) return undefined;
  const of = [...path.slice(0, -1), last.slice(0, -FILE_SUFFIX.length)];
  return isSetting(of) ? of : undefined;
};

/** Whether a setting is a credential. */
export const isSecret = (path: readonly string[]): boolean => schemaAt(path)?.secret === true;

/** Keys of providers under the names that others use for them too. */
const wellKnown = (env: Environment): Entry[] =>
  Object.entries(WELL_KNOWN_KEYS).flatMap(([provider, from]) => {
    const value = env[from];
    return value ? [{ path: ["providers", provider, "key"], value, from }] : [];
  });

/** `$CREDENTIALS_DIRECTORY/operator.token` and the like, as systemd hands them over; other names are other programs'. */
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
 * `GENROUTER_SECTION__KEY`, and `GENROUTER_SECTION__KEY_FILE` for a file with the value in it. Compose files set variables that they have
 * no value for: where no text is a value, an empty one is none.
 */
const variables = (env: Environment, note: Note): Entry[] =>
  Object.entries(env).flatMap(([from, value]): Entry[] => {
    if (value === undefined || !from.startsWith(PREFIX) || OTHER_VARIABLES.has(from) || isOfService(from, value)) return [];
    const path = from.slice(PREFIX.length).toLowerCase().split("__");
    // Ids of providers are written with hyphens, which no variable's name can hold.
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
    at[path.at(-1) ?? ""] = converted(schemaAt(path) ?? {}, value);
  }
  return tree;
};

/** Why an entry is no setting; undefined when it is one. */
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
  const known = Object.keys(beside(path) ?? {});
  if (!SECTIONS.includes(section)) return `${from} is not a setting; the sections are ${SECTIONS.join(", ")}`;
  return `${from} is not a setting; ${known.length > 0 ? `known here: ${known.map(spelt).join(", ")}` : "see the settings table"}`;
};

/** The line that tells a fault. Credentials, and whatever was put below `providers`, are never repeated. */
const faultLine = (fault: ValueError, said: ReadonlyMap<string, Entry>): string => {
  const parts = fault.path.slice(1).split("/");
  const name = parts.join(".");
  if (fault.type === ValueErrorType.ObjectAdditionalProperties) {
    const [, entry] = [...said].find(([each]) => each.startsWith(`${name}.`)) ?? [];
    return `${entry?.from ?? name} is not a setting; a provider's id is small letters, digits and hyphens, and begins with a letter`;
  }
  const from = said.get(name)?.from ?? PREFIX + parts.join("__").toUpperCase();
  return `${from}: ${misfit(fault, parts[0] === "providers" || isSecret(parts))}`;
};

/**
 * Why a service may not listen where the settings say; undefined when it may. Only a start asks: the credential may be there for the
 * service alone.
 */
export const listeningFault = ({ settings: { server, operator }, origins }: ReadSettings): string | undefined => {
  if (isLoopback(server.host) || operator.token !== "") return undefined;
  return `${origins.get("server.host")}: ${server.host} can be reached from other machines; first set operator.token, the credential of the operator's pages (GENROUTER_OPERATOR__TOKEN_FILE names a file with it; openssl rand -hex 32 makes one)`;
};

/** What two settings that are right by themselves come to together. */
const faultOfBoth = ({ settings: { store }, origins }: ReadSettings): string[] => {
  const why = databaseFault(store.url, store.insecure);
  return why === undefined ? [] : [`${origins.get("store.url")}: ${why}`];
};

/**
 * `url_file = "…"` in the settings file names a file with the value in it, as a variable of that name does. It is not opened where a stronger
 * place says the value: a credential of the service may be a file that its user cannot read.
 */
const withFileRead = (all: readonly Entry[], stronger: readonly Entry[], note: Note): Entry[] => {
  const isSaidIn = (entries: readonly Entry[], name: string) => entries.some(({ path }) => path.join(".") === name);
  return all.flatMap((entry): Entry[] => {
    const of = settingInFile(entry.path);
    if (of === undefined) return [entry];
    const { value, from } = entry;
    const name = of.join(".");
    if (isSaidIn(all, name)) note(`${name} and ${from} are both set; set one of them`);
    else if (typeof value !== "string" || value === "") note(`${from}: must be the path of a file with the value in it`);
    else if (!isSaidIn(stronger, name)) return entryIn(value, of, from, note);
    return [];
  });
};

/** The file's entries; none, and a note, for what is not TOML. */
const entriesIn = (file: SettingsFile, note: Note): Entry[] => {
  try {
    return entriesOfFile(file);
  } catch (fault) {
    if (!(fault instanceof BadSetting)) throw fault;
    note(fault.message, fault.isPassing);
    return [];
  }
};

const readOf = (said: ReadonlyMap<string, Entry>, ignored: readonly string[]): ReadSettings => ({
  settings: Value.Default(SettingsSchema, treeOf(said.values())) as Settings,
  origins: new Map([...said].map(([name, { from }]) => [name, from])),
  ignored,
});

/**
 * Reads all that was said.
 * @returns the settings with their origins, or every fault that was found, a line each, with what is left without them; `passing` is the
 * first of those that a later start may not find: what else is wrong may come of it.
 */
export const examine = (
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
  const said = laid(entries.filter(({ path }) => isSetting(path)));
  const read = readOf(said, ignored);
  // Of a choice every alternative complains too: the first line of a path says it all.
  const byPath = new Map([...Value.Errors(SettingsSchema, read.settings)].reverse().map((fault) => [fault.path, fault]));
  const misfits = [...byPath.values()].reverse();
  faults.push(...misfits.map((fault) => faultLine(fault, said)));
  const bad = misfits.map(({ path }) => path.slice(1).replaceAll("/", "."));
  if (misfits.length === 0) {
    const both = faultOfBoth(read);
    faults.push(...both);
    if (both.length > 0) bad.push("store.url");
  }
  if (faults.length === 0) return { ...read, faults: [] };
  const good = [...said].filter(([name]) => !bad.some((each) => name === each || name.startsWith(`${each}.`)));
  return { faults, passing, rest: readOf(new Map(good), ignored) };
};

/**
 * The settings of a run, and where each was said.
 * @throws BadSetting one line naming the setting and what is allowed.
 */
export const readAll = (env: Environment, flags: Flags = {}, file?: SettingsFile): ReadSettings => {
  const read = examine(env, flags, file);
  if ("settings" in read) return read;
  throw read.passing === undefined
    ? new BadSetting(read.faults[0] ?? "the settings cannot be used")
    : new BadSetting(read.passing, { isPassing: true });
};

/** The settings of a run. @throws BadSetting like `readAll` */
export const readSettings = (env: Environment, flags: Flags = {}, file?: SettingsFile): Settings =>
  readAll(env, flags, file).settings;
