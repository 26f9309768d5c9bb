// `genrouter doctor`: checks everything that a service needs and prints a remedy for each fault.
import type { Command } from "commander";
import { BadSetting } from "../../config/schema.ts";
import { type Finding, fault } from "../doctor/finding.ts";
import { EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";

type Flags = DirFlag & JsonFlag & { deep?: true };

const WIDEST = "directory".length;

/** If the settings cannot be read, no other check runs. */
const findingsOf = async (session: Session, flags: Flags): Promise<Finding[]> => {
  try {
    const { runChecks } = await import("../doctor/run-checks.ts");
    return await runChecks(settingsOf(session, flags), flags.deep === true, session.env);
  } catch (thrown) {
    if (thrown instanceof BadSetting) return [fault("settings", thrown.message, "correct the variable or the flag")];
    throw thrown;
  }
};

export const addDoctor = (program: Command, session: Session): void => {
  const { terminal } = session;
  const marks = {
    ok: terminal.paint("green", "✔"),
    warning: terminal.paint("yellow", "!"),
    fault: terminal.paint("red", "✘"),
  };
  const doctor = program
    .command("doctor")
    .description("check settings, directory, disk, clock, database, ledger, backups, keys and routes; exit 1 if a check fails")
    .option("--deep", "also check every page of the database and all thirteen invariants (slower)")
    .action(async (flags: Flags) => {
      const findings = await findingsOf(session, flags);
      const isWell = findings.every(({ level }) => level !== "fault");
      if (!isWell) session.exit = EXITS.failure;
      if (flags.json) return terminal.print(JSON.stringify({ ok: isWell, findings }));
      for (const { area, level, says, fix } of findings) {
        terminal.print(`${marks[level]} ${area.padEnd(WIDEST)}  ${says}`);
        if (fix !== null) terminal.print(`  ${" ".repeat(WIDEST)}  → ${fix}`);
      }
    });
  withExamples(
    withJson(withDir(doctor)),
    "doctor",
    "doctor --deep --data /var/lib/genrouter",
    "doctor --json | jq -r '.findings[] | select(.level != \"ok\") | .fix'",
  );
};
