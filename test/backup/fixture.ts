// Fixture of backup tests: a data directory with real generations and files, and backups of it in one line.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type CreatedBackup, type CreateRequest, createBackup } from "../../src/backup/create.ts";
import type { Progress } from "../../src/backup/errors.ts";
import { type Harness, openHarness } from "../harness.ts";

export const quiet: Progress = { report: () => undefined, throwIfStopped: () => undefined };

/** The clock of the harness starts on a fixed day; each backup is one second after the one before. */
const STARTED_MS = Date.UTC(2026, 9, 19, 13);
let turns = 0;
export const askFor = (dataDir: string, dir: string, more: Partial<CreateRequest> = {}): CreateRequest => ({
  ...{ dataDir, dir, madeBy: "command", version: "0.1.0", filesStore: "local", withMasterKey: false, keep: null },
  aheadMs: STARTED_MS + ++turns * 1000 - Date.now(),
  ...more,
});
export const backUp = (dataDir: string, dir: string, more: Partial<CreateRequest> = {}): CreatedBackup =>
  createBackup(askFor(dataDir, dir, more), quiet);

/** A service on a data directory, with the writing thread. */
export const openOn = (dir: string, more: Parameters<typeof openHarness>[0] = {}): Promise<Harness> =>
  openHarness({ dir, writer: "thread", ...more });

/**
 * Completes some images and leaves one job unfinished, then stops the service. @returns ids of the succeeded generations and of
 * the unfinished one.
 */
export const play = async (dir: string, pictures = 2): Promise<{ done: string[]; open: string }> => {
  const harness = await openOn(dir);
  const done: string[] = [];
  for (let n = 0; n < pictures; n += 1) {
    const { id } = await harness.submit("sim-image-1", { prompt: `kite ${n}` });
    await harness.until(id);
    done.push(id);
  }
  const { id: open } = await harness.submit("sim-image-1", { prompt: "[sim:stuck]" });
  await harness.until(open, ({ status }) => status === "running");
  await harness.eventually(
    async () => (await harness.store.attemptsOf(Number((await harness.store.unfinished(0, 1))[0]?.seq)))[0]?.job,
  );
  await harness.crash();
  return { done, open };
};

/** Every file below a directory, with its bytes. */
export const filesBelow = (dir: string): Map<string, string> =>
  new Map(
    readdirSync(dir, { recursive: true })
      .map(String)
      .filter((path) => statSync(join(dir, path)).isFile())
      .map((path) => [path, readFileSync(join(dir, path)).toString("base64")]),
  );

/** Names in a directory without the hidden ones, which are locks and system files. */
export const namesIn = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => !name.startsWith("."))
    .toSorted();
