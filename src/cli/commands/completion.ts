// `genrouter completion` and `genrouter man`: print shell completion and the manual page.
//
// Both are generated from the commands.
import { Argument, type Command } from "commander";
import { treeOf } from "../command-tree.ts";
import { SHELLS, type Shell } from "../completion.ts";
import { type Session, withExamples } from "../session.ts";

export const addCompletion = (program: Command, session: Session): void => {
  const { terminal } = session;
  const completion = program
    .command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "the shell").choices([...SHELLS]))
    .action(async (shell: Shell) => {
      const { completionFor } = await import("../completion.ts");
      terminal.print(completionFor(shell, treeOf(program)).trimEnd());
    });
  withExamples(
    completion,
    "completion bash > ~/.local/share/bash-completion/completions/genrouter",
    "completion zsh > ~/.zfunc/_genrouter   # with fpath=(~/.zfunc $fpath) before compinit",
    "completion fish > ~/.config/fish/completions/genrouter.fish",
  );
  const man = program
    .command("man")
    .description("print the manual page")
    .action(async () => {
      const { manualPage } = await import("../manual.ts");
      terminal.print(manualPage(treeOf(program)).trimEnd());
    });
  withExamples(man, "man | man -l -", "man > /usr/local/share/man/man1/genrouter.1");
};
