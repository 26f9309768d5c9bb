// `-o` of `generate` and `download`: validates the destination and reports saved files.
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import type { Command } from "commander";
import { type Generation, GenrouterError, type SavedFile } from "../../client/src/client.ts";
import { checkPlace, descriptorOf, namesOf as destinationsOf, placeAt } from "../../client/src/destinations.ts";
import { endingOf } from "../../client/src/extensions.ts";
import { CommandError, EXITS } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

const OUTPUT_HELP = "output file or directory; further files get -2, -3, …; - is standard output; FIFOs and devices are allowed";
/** `-o` and `--force` */
export const withOutput = (command: Command): Command =>
  command.option("-o, --output <file>", OUTPUT_HELP).option("-f, --force", "with -o: replace existing files");

const STDOUT = "/dev/stdout";
const STDOUT_FD = 1;

/** `-` means standard output; a file of that name is `./-`. */
export const outputPathOf = (wanted: string | undefined): string | undefined => (wanted === "-" ? STDOUT : wanted);

/** True if results are written to standard output, so that all notes go to standard error. */
export const takesStdout = (wanted: string | undefined): boolean => descriptorOf(outputPathOf(wanted) ?? "") === STDOUT_FD;

const badOutput = (message: string, fix?: string): CommandError =>
  new CommandError(EXITS.usage, message, { ...(fix === undefined ? {} : { fix }), code: "bad_flag" });

/** `mkdir -p …` if only the directory is missing. */
const missingDirectory = async (wanted: string): Promise<string | undefined> => {
  const dir = wanted.endsWith("/") ? wanted : dirname(wanted);
  return (await stat(dir).then(
    () => false,
    (fault: unknown) => fault instanceof Error && "code" in fault && fault.code === "ENOENT",
  ))
    ? `mkdir -p ${dir}`
    : undefined;
};

/** Files with the names that results get in `output`. Names in a directory contain the id of the generation. */
const existingAt = async (output: string): Promise<string[]> => {
  const { dir, name } = await destinationsOf(output);
  if (name === null || (await placeAt(output)).kind !== "file") return [];
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  const isNumbered = (one: string) =>
    one.startsWith(`${stem}-`) &&
    one.endsWith(ending) &&
    /^[1-9]\d*$/.test(one.slice(stem.length + 1, one.length - ending.length));
  const names = (await readdir(dir)).filter((one) => one === name || isNumbered(one));
  // A link to a file that does not exist is followed, and nothing is replaced.
  return names.map((one) => join(dir, one)).filter(existsSync);
};

/** `force`: replace existing files. */
export type OutputFlags = { output?: string; force?: true };

/** Rejects an unusable destination before the generation is submitted and charged. @throws CommandError (usage) */
export const checkOutput = async ({ output, force, json }: OutputFlags & { json?: true }): Promise<void> => {
  if (json && takesStdout(output)) throw badOutput(`--json and -o ${output} both write to standard output; omit one of them`);
  try {
    await checkPlace(outputPathOf(output));
  } catch (fault) {
    if (!(fault instanceof GenrouterError)) throw fault;
    const shown = output === "-" ? fault.message.replace(STDOUT, "standard output") : fault.message;
    throw badOutput(`-o: ${shown}`, output ? await missingDirectory(output) : undefined);
  }
  const [existing] = output === undefined || force || takesStdout(output) ? [] : await existingAt(output);
  if (existing !== undefined) throw badOutput(`-o: ${existing} exists`, "choose another name, or replace it with --force");
};

/** Extensions of the same type. */
const SAME: Readonly<Record<string, string>> = {
  ".jpeg": ".jpg",
  ".tif": ".tiff",
  ".m4v": ".mp4",
  ".oga": ".ogg",
  ".opus": ".ogg",
};

/** Warns if the type of a file differs from its extension, because some results are neither MP4 nor PNG. */
const printType = (terminal: Terminal, { path, type }: SavedFile): void => {
  const [named, usual] = [extname(path).toLowerCase(), endingOf(type)];
  if (named === "" || usual === undefined || (SAME[named] ?? named) === usual) return;
  terminal.warn(`${path} is ${type}; such files usually end in ${usual}`);
};

/** Warns about types of saved files, and about files that were not written to a stream. */
export const printFiles = (terminal: Terminal, { id, output }: Generation, files: readonly SavedFile[]): void => {
  for (const file of files) printType(terminal, file);
  const count = output?.urls.length ?? 0;
  if (files.length < count)
    terminal.warn(`only file 1 of ${count} was written; genrouter download ${id} -o DIRECTORY/ saves all of them`);
};

/** `→ kite.mp4, kite-2.mp4` */
export const namesOf = (files: readonly SavedFile[]): string =>
  files.map(({ path }) => (descriptorOf(path) === STDOUT_FD ? "standard output" : path)).join(", ");
