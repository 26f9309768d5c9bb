// The commands as a plain tree, read from the program itself: what completion and the manual page are printed from.
import type { EventEmitter } from "node:events";
import type { Argument, Command, Option } from "commander";

export type Flag = {
  /** `-o`, `--output`: as they are typed. */
  names: string[];
  /** Both names and what follows, as `--help` writes them. */
  usage: string;
  about: string;
  /** What follows the flag: null where nothing does. */
  value: Value | null;
};
export type Value = { name: string; choices: readonly string[]; kind: "directory" | "file" | "other" };
export type Node = {
  /** The words after the program's name; none for the program itself. */
  words: string[];
  about: string;
  usage: string;
  flags: Flag[];
  arguments: Value[];
  /** What `--help` prints behind the flags: examples and more. */
  after: string;
  children: Node[];
};

const kindOf = (name: string): Value["kind"] => {
  if (/^(dir|directory)$/i.test(name)) return "directory";
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

/** Every command that `--help` lists, from the program down. */
export const treeOf = (command: Command, words: readonly string[] = []): Node => {
  const help = command.createHelp();
  let after = "";
  // A command is an emitter, which its types keep to themselves; `addHelpText` waits for this event.
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
    // `help` says what --help says.
    children: help
      .visibleCommands(command)
      .filter((child) => child.name() !== "help")
      .map((child) => treeOf(child, [...words, child.name()])),
  };
};

/** A tree as a list, each command before those below it. */
export const allOf = (node: Node): Node[] => [node, ...node.children.flatMap(allOf)];
