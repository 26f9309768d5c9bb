// Generates the manual page as roff: commands, settings, files and exit codes.
import { SettingsSchema } from "../config/schema.ts";
import { INTERFACE_VERSION } from "../domain/types.ts";
import { allOf, type Flag, type Node } from "./command-tree.ts";
import { EXIT_TABLE } from "./exit-codes.ts";
import { VERSION } from "./version.ts";

/** Escapes text for roff, so that it contains no escapes, no quote accents and no requests. */
const plain = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replace(/[^\n\x20-\x7e]/gu, (sign) => `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`)
    .replace(/^\./gm, "\\&.");

const LINE = 78;
/** Wraps prose to short source lines; roff fills them itself. */
const prose = (text: string): string => {
  const lines: string[] = [""];
  for (const word of plain(text.replace(/\s+/g, " ").trim()).split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length < LINE) lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
    // A leading dot would be a request.
    else lines.push(word.startsWith(".") ? `\\&${word}` : word);
  }
  return lines.join("\n");
};

const bold = (text: string): string => `\\fB${plain(text)}\\fR`;
const entry = (head: string, about: string): string => `.TP\n${head}\n${prose(about)}`;
const literal = (text: string): string => `.EX\n${plain(text.replace(/^\n+|\s+$/g, ""))}\n.EE`;

const flagEntry = ({ usage, about, value }: Flag): string =>
  entry(
    bold(usage),
    `${about}${value && value.choices.length > 0 ? ` (one of ${value.choices.join(", ")})` : ""}.`.replace(/\.+$/, "."),
  );

const OWN = new Set(["--quiet", "--no-color", "--debug", "--help", "--version"]);
const isOwn = ({ names }: Flag): boolean => !names.some((name) => OWN.has(name));

const section = (node: Node): string => {
  const name = ["genrouter", ...node.words].join(" ");
  // The text after the flags contains notes, which are filled, and then examples, which keep their lines.
  const [reported = "", examples = ""] = node.after.split(/^Examples:$/m);
  return [
    `.SS ${plain(name)}`,
    ".nh",
    `${bold(name)} ${plain(node.usage)}`,
    ".hy",
    ".PP",
    prose(`${node.about}.`),
    ...(reported.trim() === "" ? [] : [".PP", literal(reported)]),
    ...node.flags.filter(isOwn).map(flagEntry),
    ...(examples.trim() === "" ? [] : [".PP", "Examples:", ".PP", literal(examples)]),
  ].join("\n");
};

const settingEntries = (): string[] =>
  Object.entries(
    SettingsSchema.properties as Record<string, { properties?: Record<string, { default?: unknown; description?: string }> }>,
  ).flatMap(([name, { properties }]) =>
    Object.entries(properties ?? {}).map(([key, { default: standard, description = "" }]) =>
      entry(
        bold(`GENROUTER_${name.toUpperCase()}__${key.toUpperCase()}`),
        `${description}. Default: ${JSON.stringify(standard) ?? "none"}`,
      ),
    ),
  );

const FILES: [string, string][] = [
  ["/etc/genrouter/genrouter.toml", "settings, in tables named as the sections of the variables above: [server] port = 8080"],
  ["DIR/genrouter.db, genrouter.db-wal", "the state of a data directory; recent commits are in the -wal file: never delete it"],
  ["DIR/genrouter.db.before-N", "verified copy from before the migration to schema N"],
  ["DIR/provider-keys.master", "master key of the stored provider credentials; without it only these credentials are lost"],
  ["DIR/control.sock", "socket on which commands reach a running service"],
  ["DIR/files, DIR/spool", "result files, and files in transfer"],
];

/** The manual page for `man -l -`. */
export const manualPage = (root: Node): string => {
  const [, ...commands] = allOf(root);
  const parts = [
    `.TH GENROUTER 1 ${INTERFACE_VERSION} "genrouter ${VERSION}" "genrouter manual"`,
    ".SH NAME",
    plain("genrouter - prepaid-credit router for image, video and audio generation"),
    ".SH SYNOPSIS",
    `.B genrouter\n.I command\n[\\,\\fIflags\\fR\\/]`,
    ".SH DESCRIPTION",
    prose(root.about),
    ".SH OPTIONS",
    plain("Every command takes these."),
    ...root.flags.map(flagEntry),
    ".SH COMMANDS",
    ...commands.map(section),
    ".SH EXIT STATUS",
    literal(EXIT_TABLE.replace(/^Exit codes:\n/, "")),
    ".SH ENVIRONMENT",
    prose(
      "Precedence: flags; environment, files that it names (NAME_FILE) and credentials of the service manager; settings file; defaults.",
    ),
    ...settingEntries(),
    entry(
      bold("GENROUTER_PROVIDERS__<ID>__KEY"),
      "the credential of a provider; FAL_KEY and other common names are read as well",
    ),
    entry(bold("GENROUTER_CONFIG"), "the settings file, unless --config names it"),
    entry(bold("GENROUTER_URL, GENROUTER_API_KEY"), "address and API key for client commands"),
    ".SH FILES",
    ...FILES.map(([path, about]) => entry(bold(path), about)),
    ".SH EXAMPLES",
    literal((root.after.split(/^Examples:$/m)[1] ?? "").split("Exit codes:")[0] ?? ""),
  ];
  return `${parts.join("\n")}\n`;
};
