// `genrouter migrate-store`: moves a data directory into PostgreSQL and its result files into the bucket.
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { databaseFault } from "../../config/database-url.ts";
import type { Settings } from "../../config/schema.ts";
import type { MigrateRequest, Outcome } from "../../store/migrate-to-postgres/migrate.ts";
import { chownTree } from "../chown-files.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { createProgressText, type MigrationStep, outcomeLines } from "../migration-text.ts";
import {
  type DirFlag,
  interruptible,
  type JsonFlag,
  type Session,
  settingsOf,
  withDir,
  withExamples,
  withJson,
} from "../session.ts";

/** True if an address names a PostgreSQL server and a database. */
const isDatabaseAddress = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, pathname } = new URL(url);
  return /^postgres(ql)?:$/.test(protocol) && hostname !== "" && pathname.length > 1;
};

type Flags = DirFlag & JsonFlag & { to?: string; undo?: true };

/** @throws CommandError (usage) if neither the flag nor the settings name a database, or its connection would be unencrypted. */
const addressOf = (flags: Flags, settings: Settings): string => {
  const url = flags.to ?? settings.store.url;
  const why = databaseFault(url, settings.store.insecure);
  const named = flags.to === undefined ? "GENROUTER_STORE__URL" : "--to";
  if (why !== undefined) throw new CommandError(EXITS.usage, `${named}: ${why}`, { code: "bad_flag" });
  if (url !== "") {
    if (isDatabaseAddress(url)) return url;
    const example = "postgres://user@host:5432/genrouter";
    throw new CommandError(EXITS.usage, `${named}: expected a postgres:// address, for example ${example}`, {
      code: "move_bad_address",
    });
  }
  throw new CommandError(EXITS.usage, "no target database; name one with --to, or set GENROUTER_STORE__URL", {
    code: "bad_flag",
  });
};

/** Uploads result files and uploaded files to the configured bucket. @throws CommandError if the bucket is not available. */
const createFileCopy =
  (settings: Settings, signal: AbortSignal, report: (going: MigrationStep) => void): NonNullable<MigrateRequest["bringFiles"]> =>
  async ({ before, of, next, brought }, place) => {
    const [{ bulkUpload }, { BucketError }, { systemClock }] = await Promise.all([
      import("../../files/s3/bulk-upload.ts"),
      import("../../files/s3/errors.ts"),
      import("../../domain/clock.ts"),
    ]);
    try {
      return await bulkUpload({
        settings: place === "files" ? settings.s3 : { ...settings.s3, prefix: `${settings.s3.prefix}uploads/` },
        ...{ dir: join(settings.data.dir, place), clock: systemClock(), signal, next, brought },
        report: (files, bytes) => report({ step: "files", done: before + files, of, bytes }),
      });
    } catch (fault) {
      if (!(fault instanceof BucketError)) throw fault;
      throw new CommandError(
        fault.kind === "unavailable" ? EXITS.tryAgain : EXITS.failure,
        `the result files: ${fault.message}`,
        {
          fix: "all rows are in the database; when the bucket is available, run the same command to finish the migration",
          code: "bucket_fault",
        },
      );
    }
  };

const outcomeJson = ({ isMoved, isResumed, to, rows, replaced, source, target, files, leftHere }: Outcome, tookMs: number) => ({
  ...{ moved: isMoved, resumed: isResumed, to, rows },
  took_s: Math.round(tookMs / 100) / 10,
  mended_texts: replaced,
  source: source && { ok: source.every(({ ok }) => ok), checks: source },
  target: target && { ok: target.every(({ ok }) => ok), checks: target },
  files: files && { in_bucket: files.files, missing: files.missing },
  spooled_parts: leftHere.spooled,
  sealed_provider_keys: leftHere.sealedKeys,
});

export const addMigrateStore = (program: Command, session: Session): void => {
  const { terminal } = session;

  const move = async (flags: Flags, settings: Settings, signal: AbortSignal): Promise<void> => {
    const [{ migrateStore }, { requireBucket }] = await Promise.all([
      import("../../store/migrate-to-postgres/migrate.ts"),
      import("../../files/create-storage.ts"),
    ]);
    await requireBucket(settings);
    const { dir, network_disk: networkDisk } = settings.data;
    const isLocal = settings.files.store === "local";
    const startMs = performance.now();
    const report = createProgressText(terminal);
    const copyFiles = isLocal ? null : createFileCopy(settings, signal, report);
    const outcome = await migrateStore(
      { dir, networkDisk, url: addressOf(flags, settings), signal, bringFiles: copyFiles },
      report,
    );
    terminal.progress(null);
    chownTree(dir);
    if (!outcome.isMoved) session.exit = EXITS.failure;
    const tookMs = performance.now() - startMs;
    if (flags.json) terminal.print(JSON.stringify(outcomeJson(outcome, tookMs)));
    else for (const line of outcomeLines(terminal, outcome, { dir: resolve(dir), isLocal, tookMs })) terminal.print(line);
  };

  const undo = async (flags: Flags, settings: Settings, signal: AbortSignal): Promise<void> => {
    const { undoMigration } = await import("../../store/migrate-to-postgres/migrate.ts");
    const { dir, network_disk: networkDisk } = settings.data;
    await undoMigration({ dir, networkDisk, url: addressOf(flags, settings), signal });
    chownTree(dir);
    if (flags.json) terminal.print(JSON.stringify({ undone: true }));
    else terminal.print(`${resolve(dir)} is unchanged: start the service on it without GENROUTER_STORE__URL`);
  };

  const command = program
    .command("migrate-store")
    .description(
      "migrate a data directory to an empty PostgreSQL database and its result files to the bucket; run it again to resume",
    )
    .option(
      "--to <url>",
      "the database, as postgres://user@host/name (GENROUTER_STORE__URL is better for a password: it stays out of the list of processes)",
    )
    .option("--undo", "undo the migration; possible until a service has opened the database")
    .action((flags: Flags) =>
      interruptible(async (signal) => {
        const settings = settingsOf(session, flags);
        try {
          await (flags.undo ? undo : move)(flags, settings, signal);
        } catch (fault) {
          if (!signal.aborted || !(fault instanceof CommandError)) throw fault;
          throw new CommandError(fault.exit, "stopped; run the same command to resume", { code: fault.code });
        } finally {
          terminal.progress(null);
        }
      }),
    );
  withExamples(
    withJson(withDir(command)),
    "migrate-store --data /var/lib/genrouter --to postgres://genrouter@db.example.com/genrouter",
    "migrate-store --json | jq .moved   # with GENROUTER_STORE__URL_FILE",
  );
};
