// Generates completion scripts for bash, zsh and fish from the command tree.
//
// The scripts are static text with every command, flag and choice. The ids of models are those that the program lists when they
// are completed, because services and catalogues differ.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shells' own variables.
import { allOf, type Flag, type Node, type Value } from "./command-tree.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const at = (node: Node): string => node.words.join(" ");
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** First line of the description of a command or flag. */
const brief = (text: string): string => text.split("\n")[0] ?? "";
const taking = (node: Node): Flag[] => node.flags.filter(({ value }) => value !== null);
/** Patterns of a `case`: the current command, and the next word. */
const patterns = (node: Node, names: readonly string[]): string => names.map((name) => quoted(`${at(node)}|${name}`)).join("|");

/** Shared part of bash and zsh: walks the words before the cursor and finds the command. */
const walk = (nodes: readonly Node[], first: string): string =>
  [
    `  for word in ${first}; do`,
    '    if [[ -n $skip ]]; then skip=""; continue; fi',
    '    case "$at|$word" in',
    ...nodes.flatMap((node) =>
      node.children.map((child) => `      ${quoted(`${at(node)}|${child.words.at(-1)}`)}) at=${quoted(at(child))} ;;`),
    ),
    ...nodes
      .filter((node) => taking(node).length > 0)
      .map(
        (node) =>
          `      ${patterns(
            node,
            taking(node).flatMap(({ names }) => names),
          )}) skip=1 ;;`,
      ),
    "    esac",
    "  done",
  ].join("\n");

/** Ids as the catalogue allows them. Shells expand the words of a completion, so nothing else that a service sends may be one. */
const MODEL_IDS = "NR > 1 && $1 ~ /^[a-z0-9][a-z0-9._-]*$/ { print $1 }";

/**
 * Function of bash and zsh that prints the ids of the models that the service offers. Without a service they are those of the
 * catalogue.
 */
const MODELS = `_genrouter_models() {
  { "$1" --quiet models || "$1" --quiet models --all; } 2>/dev/null | awk '${MODEL_IDS}'
}`;

const bashValue = ({ choices, kind }: Value): string => {
  if (choices.length > 0) return `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$cur"))`;
  if (kind === "model") return 'COMPREPLY=($(compgen -W "$(_genrouter_models "${COMP_WORDS[0]}")" -- "$cur"))';
  if (kind === "directory") return 'compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur"))';
  return kind === "file" ? 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur"))' : ":";
};

const bash = (
  nodes: readonly Node[],
): string => `# bash completion for genrouter: put it into ~/.local/share/bash-completion/completions/genrouter,
# or once: source <(genrouter completion bash)
${MODELS}
_genrouter() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} at="" word skip=""
  # --flag=value comes as three words.
  [[ $cur == = ]] && cur=""
  [[ $prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD - 2]}
${walk(nodes, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  case "$at|$prev" in
${nodes.flatMap((node) => taking(node).map((flag) => `    ${patterns(node, flag.names)}) ${bashValue(flag.value as Value)}; return ;;`)).join("\n")}
  esac
  case "$at|$cur" in
${nodes
  .map((node) => {
    const words = node.flags.flatMap(({ names }) => names).filter((name) => name.startsWith("--"));
    const first = node.arguments[0];
    const plain =
      node.children.length > 0
        ? { choices: node.children.map((child) => child.words.at(-1) ?? ""), name: "", kind: "other" as const }
        : first;
    return `    ${quoted(`${at(node)}|-`)}*) COMPREPLY=($(compgen -W ${quoted(words.join(" "))} -- "$cur")) ;;
    ${quoted(`${at(node)}|`)}*) ${plain ? bashValue(plain) : ":"} ;;`;
  })
  .join("\n")}
  esac
}
complete -F _genrouter genrouter
`;

const described = (entries: readonly [name: string, about: string][]): string =>
  entries.map(([name, about]) => quoted(`${name.replaceAll(":", "\\:")}:${brief(about)}`)).join(" ");

const zshValue = ({ name, choices, kind }: Value): string => {
  if (choices.length > 0) return `compadd -- ${choices.map(quoted).join(" ")}`;
  if (kind === "model") return 'compadd -- ${(f)"$(_genrouter_models "${words[1]}")"}';
  if (kind === "directory") return "_files -/";
  return kind === "file" ? "_files" : `_message ${quoted(name)}`;
};

const zsh = (nodes: readonly Node[]): string => `#compdef genrouter
# zsh completion for genrouter: put it into a directory of $fpath as _genrouter, or once: source <(genrouter completion zsh)
${MODELS}
_genrouter() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} at="" word skip=""
  local -a found
${walk(nodes, '"${(@)words[2,CURRENT-1]}"')}
  case "$at|$prev" in
${nodes.flatMap((node) => taking(node).map((flag) => `    ${patterns(node, flag.names)}) ${zshValue(flag.value as Value)}; return ;;`)).join("\n")}
  esac
  case "$at|$cur" in
${nodes
  .map((node) => {
    const flags = node.flags.flatMap(({ names, about }) => names.map((name): [string, string] => [name, about]));
    const first = node.arguments[0];
    const children = node.children.map((child): [string, string] => [child.words.at(-1) ?? "", child.about]);
    const below = first ? zshValue(first) : ":";
    return `    ${quoted(`${at(node)}|-`)}*) found=(${described(flags)}); _describe -o flag found ;;
    ${quoted(`${at(node)}|`)}*) ${children.length > 0 ? `found=(${described(children)}); _describe command found` : below} ;;`;
  })
  .join("\n")}
  esac
}
if [[ \${funcstack[1]} == _genrouter ]]; then _genrouter "$@"; else compdef _genrouter genrouter; fi
`;

/** Calls the function of fish that prints the ids of models. */
const FISH_MODELS = "'(__genrouter_models)'";
/** What is completed for the first argument of a command, besides its choices. */
const fishArgument = (node: Node): string[] => {
  const kind = node.arguments[0]?.kind ?? "other";
  if (kind === "other") return [];
  return [`complete -c genrouter -n '__genrouter_at "${at(node)}"' ${kind === "model" ? `-a ${FISH_MODELS}` : "-F"}`];
};

const fishFlag = (node: Node, { names, about, value }: Flag): string => {
  const words = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const after = value === null ? [] : [value.kind === "file" ? "-r" : "-x"];
  if (value && value.choices.length > 0) after.push(`-a ${quoted(value.choices.join(" "))}`);
  else if (value?.kind === "model") after.push(`-a ${FISH_MODELS}`);
  else if (value?.kind === "directory") after.push("-a '(__fish_complete_directories)'");
  else if (value?.kind === "file") after.push("-F");
  return `complete -c genrouter -n '__genrouter_at "${at(node)}"' ${[...words, ...after].join(" ")} -d ${fishQuoted(brief(about))}`;
};

const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const fish = (
  nodes: readonly Node[],
): string => `# fish completion for genrouter: put it into ~/.config/fish/completions/genrouter.fish, or once: genrouter completion fish | source
function __genrouter_models
  set -l program (commandline -opc)[1]
  begin
    $program --quiet models; or $program --quiet models --all
  end 2>/dev/null | awk '${MODEL_IDS}'
end
function __genrouter_at
  set -l at ""
  set -l skip ""
  for word in (commandline -opc)[2..-1]
    if test -n "$skip"
      set skip ""
      continue
    end
    switch "$at|$word"
${nodes.flatMap((node) => node.children.map((child) => `      case ${quoted(`${at(node)}|${child.words.at(-1)}`)}\n        set at ${quoted(at(child))}`)).join("\n")}
${nodes
  .filter((node) => taking(node).length > 0)
  .map(
    (node) =>
      `      case ${taking(node)
        .flatMap(({ names }) => names)
        .map((name) => quoted(`${at(node)}|${name}`))
        .join(" ")}\n        set skip 1`,
  )
  .join("\n")}
    end
  end
  test "$at" = "$argv[1]"
end
complete -c genrouter -f
${nodes
  .flatMap((node) => [
    ...node.children.map(
      (child) =>
        `complete -c genrouter -n '__genrouter_at "${at(node)}"' -a ${child.words.at(-1)} -d ${fishQuoted(brief(child.about))}`,
    ),
    ...(node.arguments[0]?.choices ?? []).map(
      (choice) => `complete -c genrouter -n '__genrouter_at "${at(node)}"' -a ${fishQuoted(choice)}`,
    ),
    ...fishArgument(node),
    ...node.flags.map((flag) => fishFlag(node, flag)),
  ])
  .join("\n")}
`;

const PRINTERS: Record<Shell, (nodes: readonly Node[]) => string> = { bash, zsh, fish };

/** Completion script for a shell. */
export const completionFor = (shell: Shell, root: Node): string => PRINTERS[shell](allOf(root));
