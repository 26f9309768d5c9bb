// The command line program: all commands, shared flags and exit handling.
import { Command, CommanderError } from "commander";
import { addAccounts } from "./commands/accounts.ts";
import { addArchive } from "./commands/archive.ts";
import { addBackup } from "./commands/backup.ts";
import { addBalance } from "./commands/balance.ts";
import { addCapacity } from "./commands/capacity.ts";
import { addCatalogue } from "./commands/catalogue.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConfig } from "./commands/config.ts";
import { addCredits } from "./commands/credits.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExplain } from "./commands/explain.ts";
import { addFiles } from "./commands/files.ts";
import { addGenerate } from "./commands/generate.ts";
import { addGenerations } from "./commands/generations.ts";
import { addHealthcheck } from "./commands/healthcheck.ts";
import { addInspector } from "./commands/inspector.ts";
import { addInstall } from "./commands/install.ts";
import { addKeys } from "./commands/keys.ts";
import { addLicenses } from "./commands/licenses.ts";
import { addListen } from "./commands/listen.ts";
import { addMigrateStore } from "./commands/migrate-store.ts";
import { addModels } from "./commands/models.ts";
import { addNodes } from "./commands/nodes.ts";
import { addOrphans } from "./commands/orphans.ts";
import { addProviders } from "./commands/providers.ts";
import { addPurchases } from "./commands/purchases.ts";
import { addReconcile } from "./commands/reconcile.ts";
import { addResults } from "./commands/results.ts";
import { addRoutes } from "./commands/routes.ts";
import { addServe } from "./commands/serve.ts";
import { addSimulator } from "./commands/simulator.ts";
import { addMachine } from "./commands/statechart.ts";
import { addTorture } from "./commands/torture.ts";
import { addTrace } from "./commands/trace.ts";
import { addUsage } from "./commands/usage.ts";
import { addUsers } from "./commands/users.ts";
import { addVerify } from "./commands/verify.ts";
import { EXIT_TABLE, EXITS, type Exit, errorJson, messageOf } from "./exit-codes.ts";
import type { Session } from "./session.ts";
import type { Terminal } from "./terminal.ts";
import { versionLine } from "./version.ts";

type Addition = (program: Command, session: Session) => void;

const ADDITIONS: readonly Addition[] = [
  addServe,
  addConfig,
  addAccounts,
  addKeys,
  addCredits,
  addPurchases,
  addUsers,
  addProviders,
  addRoutes,
  addCatalogue,
  addModels,
  addExplain,
  addGenerate,
  addResults,
  addFiles,
  addBalance,
  addUsage,
  addListen,
  addTrace,
  addGenerations,
  addMachine,
  addInspector,
  addVerify,
  addBackup,
  addArchive,
  addMigrateStore,
  addCapacity,
  addDoctor,
  addHealthcheck,
  addNodes,
  addOrphans,
  addReconcile,
  addSimulator,
  addTorture,
  addInstall,
  addCompletion,
  addLicenses,
];

/** A start does not wait for the other commands. */
const additionsFor = ([first]: readonly string[]): readonly Addition[] => (first === "serve" ? [addServe] : ADDITIONS);

/**
 * The commands of the binary, ready to parse. `isJson`: the caller prints usage errors.
 * @param words a command line; only the commands that it may name are added. Default: all.
 */
export const buildProgram = (session: Session, isJson = false, words: readonly string[] = []): Command => {
  const { terminal } = session;
  const program = new Command("genrouter")
    .description("One key and one request shape for image, video and audio generation; the cheapest route first, charged once.")
    .version(versionLine(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .option(
      "--config <file>",
      "settings file (GENROUTER_CONFIG, else ~/.config/genrouter/genrouter.toml; root: /etc/genrouter/genrouter.toml)",
    )
    .option("--quiet", "no progress, warnings only")
    .option("--no-color", "no colours (also NO_COLOR)")
    .option("--debug", "print the stack trace of an error")
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => {
        if (!isJson) terminal.warn(text.trimEnd());
      },
      outputError: (text, write) => write(text),
    })
    .configureHelp({ showGlobalOptions: true })
    .hook("preAction", (root) => {
      const flags = root.opts<{ config?: string; quiet?: true; color: boolean }>();
      if (flags.config !== undefined) session.config = flags.config;
      terminal.quiet = flags.quiet === true;
      if (!flags.color) terminal.colour = false;
    });
  for (const add of additionsFor(words)) add(program, session);
  // Commands inherit these settings only when `command()` creates them, so they are applied to each command here.
  const settle = (command: Command): void => {
    command.exitOverride().copyInheritedSettings(program);
    for (const child of command.commands) settle(child);
  };
  for (const command of program.commands) settle(command);
  return program.addHelpText(
    "after",
    `
Examples:
  $ genrouter serve --simulate
  $ genrouter accounts create --name acme --credit-usd 25
  $ genrouter generate vidmodel-2.0-fast --prompt "a red kite over dunes" --duration 4 -o kite.mp4

${EXIT_TABLE}`,
  );
};

/** Former words of commands, by the words that replaced them. */
const RENAMED_COMMANDS: readonly (readonly [former: string, current: string])[] = [
  ["people", "users"],
  ["machine", "statechart"],
  ["backup adopt", "backup mark-restored"],
];

/** The words with a former command replaced by the current one, and the note about it. */
const currentWords = (words: readonly string[]): { words: readonly string[]; note: string | null } => {
  for (const [former, current] of RENAMED_COMMANDS) {
    const length = former.split(" ").length;
    if (words.slice(0, length).join(" ") !== former) continue;
    const note = `genrouter ${former} was renamed; use genrouter ${current}`;
    return { words: [...current.split(" "), ...words.slice(length)], note };
  }
  return { words, note: null };
};

/** A mistake in the words of a command line, as one line. */
const usageText = (fault: CommanderError): string =>
  fault.code === "commander.help"
    ? "a command is missing; --help lists them"
    : fault.message.replace(/^error: /, "").replaceAll("\n", " ");

/**
 * Runs one command line.
 * @param given the words after the program's name.
 * @returns the exit code; nothing is thrown; faults are printed on standard error.
 */
export const run = async (given: readonly string[], terminal: Terminal, env: Session["env"]): Promise<Exit> => {
  const { words, note } = currentWords(given);
  const isJson = words.includes("--json");
  const session: Session = { terminal, env, exit: EXITS.ok, isIgnoredReported: isJson };
  if (note !== null && !isJson) terminal.note(note);
  try {
    await buildProgram(session, isJson, words).parseAsync(words, { from: "user" });
    return session.exit;
  } catch (fault) {
    // Commander has already printed the error; requested help and version output are no fault.
    if (fault instanceof CommanderError) {
      if (fault.exitCode === 0) return EXITS.ok;
      if (isJson) terminal.warn(JSON.stringify({ error: { code: "usage", message: usageText(fault) } }));
      return EXITS.usage;
    }
    const message = await messageOf(fault);
    // A broken pipe is no verdict, so the exit code that was set before applies.
    if (message.code === "EPIPE") return session.exit;
    const debug = words.includes("--debug");
    terminal.progress(null);
    const [first, ...others] = message.lines;
    if (first !== undefined && isJson) terminal.warn(errorJson(message));
    else if (first !== undefined) terminal.warn([`${terminal.paint("red", "error:")} ${first}`, ...others].join("\n  "));
    if (debug && fault instanceof Error) terminal.warn(fault.stack ?? "");
    else if (!message.expected) terminal.warn("  run again with --debug to see where");
    return message.exit;
  }
};
