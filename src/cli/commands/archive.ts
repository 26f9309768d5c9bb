// `genrouter archive`: copies old settled rows to a directory or the bucket and verifies the copy.
//
// The store keeps all rows.
import type { Command } from "commander";
import type { Manifest } from "../../store/archive/format.ts";
import { type ArchiveLocation, archiveLocationOf, withArchiveErrors } from "../archive-location.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { sinceMs } from "../parse-time.ts";
import { readsOf, storeLocationOf } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";
import { showUsd, usdNumber } from "../usd.ts";
import { checkLines } from "./verify.ts";

type Flags = DirFlag & JsonFlag & { before: string; to: string };

const jsonOf = (place: ArchiveLocation["json"], { n, totals, segments, beforeMs }: Manifest) => ({
  ...{ archived: true, ...place, manifest: n, before: new Date(beforeMs).toISOString() },
  ...{ generations: totals.generations, movements: totals.transfers, segments: segments.length },
  charged_usd: usdNumber(totals.capturedCredits),
  bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** Effect of a retry after an archive could not be completed. */
const AGAIN = "run the same command again when the archive is available; archived rows are not sent again";

export const addArchive = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program
    .command("archive")
    .description("write settled generations with transfers, attempts and events to an archive; the database keeps them")
    .requiredOption("--before <time>", "generations settled before: 90d, or a date like 2026-10-19")
    .requiredOption(
      "--to <place>",
      "archive location: a directory, or bucket for the bucket of the configuration (s3.*); new data is appended",
    )
    .action((flags: Flags) =>
      withArchiveErrors(AGAIN, async () => {
        const nowMs = Date.now();
        const beforeMs = sinceMs(flags.before, nowMs, "--before");
        if (beforeMs >= nowMs)
          throw new CommandError(EXITS.usage, `--before: ${JSON.stringify(flags.before)} is not in the past`, {
            code: "bad_flag",
          });
        const [{ archive }, { checkArchive }] = await Promise.all([
          import("../../store/archive/write.ts"),
          import("../../store/archive/check.ts"),
        ]);
        const { archiveStorage, json } = await archiveLocationOf(session, flags, { flag: "--to", text: flags.to, byStore: true });
        const { manifest } = await archive(await readsOf(storeLocationOf(session, flags)), archiveStorage, beforeMs, nowMs);
        if (!manifest) {
          if (flags.json) terminal.print(JSON.stringify({ archived: false, ...json }));
          else terminal.print("nothing to archive: all settled generations of that age are archived");
          return;
        }
        const { checks } = await checkArchive(archiveStorage);
        const ok = checks.every((check) => check.ok);
        if (!ok) session.exit = EXITS.failure;
        if (flags.json) return terminal.print(JSON.stringify({ ...jsonOf(json, manifest), ok, checks }));
        for (const line of checkLines(terminal, checks)) terminal.print(line);
        const { generations, transfers, capturedCredits } = manifest.totals;
        terminal.print(
          `archived ${generations} generations and ${transfers} transfers, ${showUsd(capturedCredits)} charged, as manifest ${manifest.n} in ${archiveStorage.describe()}`,
        );
      }),
    );
  withExamples(
    withJson(withDir(command)),
    "archive --before 90d --to /var/archives/genrouter",
    "archive --before 2026-07-01 --to /var/archives/genrouter --json | jq .generations",
    "archive --before 90d --to bucket   # the bucket of s3.*, below <s3.prefix>archive/",
    "verify --archive /var/archives/genrouter   # that it is complete, and that the database continues where it ends",
  );
};
