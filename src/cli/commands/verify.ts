// `genrouter verify`: checks the thirteen invariants of a live or copied data directory.
import type { Command } from "commander";
import type { CheckResult } from "../../store/store.ts";
import { archiveLocationOf, withArchiveErrors } from "../archive-location.ts";
import { fetchSettings } from "../control-client.ts";
import { CommandError, EXITS, messageOf } from "../exit-codes.ts";
import { type FileSearch, findMissingFiles } from "../missing-files.ts";
import { readsOf, storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import type { Terminal } from "../terminal.ts";

/** Exit 2 or 78: a check that could not run must look neither like success nor like a violation. */
const couldNotRun = async (fault: unknown): Promise<never> => {
  const { exit, lines, code } = await messageOf(fault);
  throw new CommandError(exit === EXITS.unwritable ? exit : EXITS.usage, lines.join("; "), { code });
};

type Flags = DirFlag & JsonFlag & { archive?: string; alone?: true };

/** One line per invariant, followed by the violating rows. */
export const checkLines = ({ paint }: Terminal, checks: readonly CheckResult[]): string[] =>
  checks.flatMap(({ ok, invariant, name, offending, note }) => [
    `${ok ? paint("green", "✔") : paint("red", "✘")} ${String(invariant).padStart(2)}  ${name}`,
    ...(note === undefined ? [] : [`      ${note}`]),
    ...offending.map((row) => `      ${JSON.stringify(row)}`),
  ]);

/** Missing result files belong to the invariant that nothing acknowledged is lost. */
const NOTHING_LOST = 5;
const withFiles = (checks: readonly CheckResult[], { missing, note }: Pick<FileSearch, "missing" | "note">): CheckResult[] =>
  checks.map((check) => {
    if (check.invariant !== NOTHING_LOST) return check;
    const notes = [check.note, note].filter((one) => one !== undefined);
    return {
      ...check,
      ok: check.ok && missing.length === 0,
      offending: [
        ...check.offending,
        ...missing.map(({ generation_id, n, why }) => ({ fault: why, generation: generation_id, n })),
      ],
      ...(notes.length > 0 ? { note: notes.join("; ") } : {}),
    };
  });

/** Verifies an archive, and that the store continues where the archive ends. */
const verifyArchive = async (session: Session, flags: Flags, text: string): Promise<CheckResult[]> => {
  const [{ checkArchive }, { checkJoin }] = await Promise.all([
    import("../../store/archive/check.ts"),
    import("../../store/archive/continuity-check.ts"),
  ]);
  return withArchiveErrors("run the same command again when the archive is available", async () => {
    const { archiveStorage } = await archiveLocationOf(session, flags, {
      flag: "--archive",
      text,
      byStore: flags.alone === undefined,
    });
    const { checks, walked, manifests } = await checkArchive(archiveStorage);
    if (flags.alone) return checks;
    return [...checks, await checkJoin(await readsOf(storeLocationOf(session, flags)), archiveStorage, walked, manifests)];
  });
};

export const addVerify = (program: Command, session: Session): void => {
  const { terminal } = session;
  const verify = program
    .command("verify")
    .description("check the thirteen invariants; exit 0 if they hold, 1 with the violating rows, 2 or 78 if the check cannot run")
    .option(
      "--archive <place>",
      "verify an archive instead, in a directory or in the configured bucket (bucket), and that the database continues where the archive ends",
    )
    .option("--alone", "with --archive: verify the archive without the database")
    .action(async (flags: Flags) => {
      if (flags.alone && flags.archive === undefined)
        throw new CommandError(EXITS.usage, "--alone: requires --archive", { code: "bad_flag" });
      const verifyStore = (): Promise<CheckResult[]> =>
        withReads(storeLocationOf(session, flags), async (reads, isServed) => {
          // Overdue deadlines are a violation only while a service runs.
          const running = await isServed();
          const show = (done: number, of: number) => terminal.progress(`verify: ${done} of ${of} checks`);
          const checks = await reads.verify(running ? Date.now() : null, terminal.isLive ? show : undefined);
          const own = settingsOf(session, flags);
          const { dir } = own.data;
          const settings = (running && (await fetchSettings(dir).catch(() => undefined))) || own;
          const search = await findMissingFiles(reads, { settings, dir, nowMs: Date.now() }).catch((fault: unknown) => ({
            missing: [],
            note: `not all result files could be checked: ${fault instanceof Error ? fault.message : String(fault)}`,
          }));
          return withFiles(checks, search);
        });
      const { archive } = flags;
      const checks = await (archive === undefined ? verifyStore() : verifyArchive(session, flags, archive)).catch(couldNotRun);
      terminal.progress(null);
      const ok = checks.every((check) => check.ok);
      // Set before any output, so that a closed pipe (`| head`) does not change the verdict.
      if (!ok) session.exit = EXITS.failure;
      if (flags.json) terminal.print(JSON.stringify({ ok, checks }));
      else for (const line of checkLines(terminal, checks)) terminal.print(line);
    });
  withExamples(
    withJson(withDir(verify)),
    "verify",
    "verify --data /var/backups/genrouter-copy --json | jq .ok",
    "verify --archive /var/archives/genrouter",
    "verify --archive bucket --alone   # without the database; bucket:ID if the bucket has archives of several services",
  );
};
