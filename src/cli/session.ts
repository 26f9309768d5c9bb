// Session of one command: terminal, environment and shared flags.
import type { Command } from "commander";
import { type Client, createClient } from "../../client/src/client.ts";
import { ignoredLine } from "../config/kubernetes-variables.ts";
import { type Flags, type ReadSettings, readAll } from "../config/load.ts";
import type { Settings } from "../config/schema.ts";
import { findSettingsFile } from "../config/toml-file.ts";
import { CommandError, EXITS, type Exit } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

export type Session = {
  terminal: Terminal;
  env: Record<string, string | undefined>;
  /** Settings file of `--config`. */
  config?: string;
  /** Exit code if the command does not throw. */
  exit: Exit;
  /** True if ignored variables have been printed or must not be, because with `--json` standard error is one line of JSON. */
  isIgnoredReported?: boolean;
};

export type DirFlag = { data?: string };
export type JsonFlag = { json?: true };
export type ClientFlags = DirFlag & { url?: string; key?: string };

/** `--data DIR` */
export const withDir = (command: Command): Command =>
  command.option("--data <dir>", "data directory (GENROUTER_DATA__DIR, else ./data)");
/** `--json` */
export const withJson = (command: Command): Command => command.option("--json", "print JSON, for scripts");
/** `--url`, `--key`, `--data`: the service and the credential. */
export const withClient = (command: Command): Command =>
  withDir(command)
    .option("--url <url>", "URL of the service (GENROUTER_URL, else the service of the data directory)")
    .option("--key <key>", "API key (prefer GENROUTER_API_KEY, which stays out of the shell history)");

/** Adds the examples at the end of a command's help. */
export const withExamples = (command: Command, ...lines: string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ genrouter ${line}`).join("\n")}`);

/** `--data` as a setting. */
export const dirFlags = ({ data }: DirFlag): Flags => (data === undefined ? {} : { data: { dir: data } });

/** Settings of a command, with its flags at the highest precedence. Ignored variables are printed once. @throws BadSetting */
export const settingsWith = (session: Session, flags: Flags): ReadSettings => {
  const read = readAll(session.env, flags, findSettingsFile(session.env, session.config));
  const ignored = ignoredLine(read.ignored);
  if (ignored !== undefined && !session.isIgnoredReported) session.terminal.warn(`warning: ${ignored}`);
  session.isIgnoredReported = true;
  return read;
};

/** Settings of a command whose only flag is `--data`. @throws BadSetting */
export const settingsOf = (session: Session, flags: DirFlag): Settings => settingsWith(session, dirFlags(flags)).settings;

/** Settings of the data directory. @throws BadSetting */
export const directoryOf = (session: Session, flags: DirFlag): Settings["data"] => settingsOf(session, flags).data;

export const dirOf = (session: Session, flags: DirFlag): string => directoryOf(session, flags).dir;

/** Tries of one page of a list: a list of many pages may meet the rate limit of its account. */
export const PAGE_TRIES = 4;

/** Parses a whole number. @throws CommandError (usage) */
export const parseWhole = (text: string, flag: string, least: number, most: number): number => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new CommandError(EXITS.usage, `${flag}: ${JSON.stringify(text)} is not a whole number from ${least} to ${most}`, {
      code: "bad_flag",
    });
  return value;
};

/** File with the demo account's key in a simulator directory. */
export const DEMO_KEY_FILE = "demo-key";

const DEFAULT_URL = "http://127.0.0.1:8080";

/**
 * API client of a command. URL and key come from flags, the environment, or the service that runs in the data directory (with the
 * simulator also its demo key), in this order.
 */
export const clientOf = async (session: Session, flags: ClientFlags): Promise<Client> => {
  let url = flags.url ?? session.env.GENROUTER_URL;
  let key = flags.key ?? session.env.GENROUTER_API_KEY ?? null;
  if (!url) {
    const dir = dirOf(session, flags);
    const { requestFor } = await import("./control-client.ts");
    const about = await requestFor(dir);
    url = about?.url ?? DEFAULT_URL;
    if (key === null && about?.mode === "test") {
      const file = Bun.file(`${dir}/${DEMO_KEY_FILE}`);
      if (await file.exists()) key = (await file.text()).trim();
    }
  }
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url))
    throw new CommandError(EXITS.usage, `${JSON.stringify(url)} is not a valid URL`, {
      fix: `--url and GENROUTER_URL expect a URL such as ${DEFAULT_URL}`,
      code: "bad_flag",
    });
  // The key is sent as a header. The error message never repeats it.
  if (key !== null && !/^[\x21-\x7e]*$/.test(key))
    throw new CommandError(EXITS.usage, "the API key is invalid; expected printable ASCII without spaces", {
      fix: "pass the key that genrouter keys create printed with --key or GENROUTER_API_KEY",
      code: "bad_flag",
    });
  return createClient({ url, ...(key === null ? {} : { key }) });
};

/** Runs work that Ctrl-C cancels: the signal aborts with a CommandError of exit code 130 (SIGTERM: 143). */
export const interruptible = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const controller = new AbortController();
  const stop = (exit: Exit) => () => controller.abort(new CommandError(exit, "stopped", { code: "interrupted" }));
  const onInt = stop(EXITS.interrupted);
  const onTerm = stop(EXITS.terminated);
  process.on("SIGINT", onInt);
  process.on("SIGTERM", onTerm);
  try {
    return await work(controller.signal);
  } finally {
    process.off("SIGINT", onInt);
    process.off("SIGTERM", onTerm);
  }
};
