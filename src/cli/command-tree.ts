// Reads the commands as a plain tree for shell completion and the manual page.
import type { EventEmitter } from "node:events";
import type { Argument, Command, Option } from "commander";

export type Flag = {
  /** `-o`, `--output`: as typed on the command line. */
  names: string[];
  /** Names and value as `--help` prints them. */
  usage: string;
  about: string;
  /** Value of the flag; null if it has none. */
  value: Value | null;
};
export type Value = { name: string; choices: readonly string[]; kind: "directory" | "file" | "model" | "other" };
export type Node = {
  /** Words after the program name; empty for the program itself. */
  words: string[];
  about: string;
  usage: string;
  flags: Flag[];
  arguments: Value[];
  /** Text that `--help` prints after the flags: examples and notes. */
  after: string;
  children: Node[];
};

const kindOf = (name: string): Value["kind"] => {
  if (/^(dir|directory)$/i.test(name)) return "directory";
  if (name === "model") return "model";
  return /^(file|path|files|output)$/i.test(name) ? "file" : "other";
};

const flagOf = (option: Option): Flag => {
  const name = /[<[]([^>\].]+)/.exec(option.flags)?.[1];
  return {
    names: [option.short, option.long].filter((one) => one !== undefined),
    usage: option.flags,
    about: option.description,
    value: name === undefined ? null : { name, choices: option.argChoices ?? [], kind: kindOf(name) },
  };
};

const argumentOf = (argument: Argument): Value => ({
  name: argument.name(),
  choices: argument.argChoices ?? [],
  kind: kindOf(argument.name()),
});

/** All commands that `--help` lists, starting at the given one. */
export const treeOf = (command: Command, words: readonly string[] = []): Node => {
  const help = command.createHelp();
  let after = "";
  // A command is an event emitter, although its types do not declare it; `addHelpText` listens to this event.
  (command as Command & Pick<EventEmitter, "emit">).emit("afterHelp", {
    command,
    error: false,
    write: (text: string) => {
      after += text;
    },
  });
  return {
    words: [...words],
    about: command.description(),
    usage: command.usage(),
    flags: [...help.visibleOptions(command), ...(words.length > 0 ? help.visibleGlobalOptions(command) : [])].map(flagOf),
    arguments: command.registeredArguments.map(argumentOf),
    after,
    // `help` prints the same text as --help.
    children: help
      .visibleCommands(command)
      .filter((child) => child.name() !== "help")
      .map((child) => treeOf(child, [...words, child.name()])),
  };
};

/** A tree as a list, each command before its subcommands. */
export const allOf = (node: Node): Node[] => [node, ...node.children.flatMap(allOf)];
