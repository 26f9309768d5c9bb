// `genrouter verify`: the twelve invariants, checked on a live or a copied data directory.
import type { Command } from "commander";
import type { CheckResult } from "../../store/store.ts";
import { askAbout } from "../control-client.ts";
import { CommandFault, EXITS, tell } from "../exits.ts";
import { withReads } from "../reads.ts";
import { type DirFlag, dirOf, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";

/** Exit 2: a check that could not be run says nothing, so it must not look like a pass nor like a violation. */
const couldNotRun = async (fault: unknown): Promise<never> => {
  const told = await tell(fault);
  throw new CommandFault(EXITS.usage, told.lines.join("; "), { code: told.code });
};

export const addVerify = (program: Command, session: Session): void => {
  const { terminal } = session;
  const verify = program
    .command("verify")
    .description("check the twelve invariants: exit 0 they hold, 1 with the rows that offend, 2 could not run")
    .action(async (flags: DirFlag & JsonFlag) => {
      const dir = dirOf(session, flags);
      const checks: CheckResult[] = await withReads(dir, async (reads) => {
        // Overdue deadlines mean something only while a service runs that should have met them.
        const running = await askAbout(dir);
        const show = (done: number, of: number) => terminal.progress(`verify: ${done} of ${of} checks`);
        return reads.verify(running ? Date.now() : null, terminal.isLive ? show : undefined);
      }).catch(couldNotRun);
      terminal.progress(null);
      const ok = checks.every((check) => check.ok);
      // Before a word of it is printed: a reader that stops listening (`| head`) does not change the verdict.
      if (!ok) session.exit = EXITS.failure;
      if (flags.json) terminal.print(JSON.stringify({ ok, checks }));
      else
        for (const check of checks) {
          const mark = check.ok ? terminal.paint("green", "✔") : terminal.paint("red", "✘");
          terminal.print(`${mark} ${String(check.invariant).padStart(2)}  ${check.name}`);
          for (const row of check.offending) terminal.print(`      ${JSON.stringify(row)}`);
        }
    });
  withExamples(withJson(withDir(verify)), "verify", "verify --data /var/backups/genrouter-copy --json | jq .ok");
};
