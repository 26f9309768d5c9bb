// Backups that an operator begins in the console: progress, result, audit entry, and the reasons for a refusal.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { listBackups } from "../../src/backup/backup-directory.ts";
import type { BackupView, ServiceView } from "../../src/console/operator-dto.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openOperators } from "./operators.ts";

const closing: Harness[] = [];
afterAll(async () => {
  for (const harness of closing) await harness.close();
  dropDirs();
});
const open = async (env: Record<string, string>) => {
  // The backup reads the database file, which needs a directory of its own.
  const harness = await openHarness({ dir: freshDir(), factor: 1000, env });
  closing.push(harness);
  return { harness, ...(await openOperators(harness)) };
};

test("an operator makes one verified backup at a time; a viewer makes none", async () => {
  const place = join(freshDir(), "backups");
  const { harness, ask } = await open({ GENROUTER_BACKUP__DIR: place });
  await harness.until((await harness.submit("sim-image-1", { prompt: "a kite" })).id);
  const shown = async () => (JSON.parse((await ask("viewer", "GET", "service")).text) as ServiceView).backup;
  expect(await shown()).toEqual({ dir: place, isShared: false, lastMs: null, running: null, ended: null });
  for (const role of ["viewer", "member"] as const) expect((await ask(role, "POST", "backup")).status).toBe(403);
  const [first, second] = [await ask("operator", "POST", "backup"), await ask("operator", "POST", "backup")];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect((JSON.parse(first.text) as BackupView).running).toMatchObject({ by: "operator@example.com" });
  const ended = await harness.eventually(async () => (await shown()).running === null && (await shown()));
  expect(ended).toMatchObject({ lastMs: expect.any(Number), ended: { by: "operator@example.com", fault: null } });
  expect(listBackups(place).map(({ path, state, manifest }) => [path, state, manifest?.made_by])).toEqual([
    [ended.ended?.path ?? "", "ok", "command"],
  ]);
  const lines = await harness.store.audit(null, 10, { action: "note-backup" });
  expect(lines.map(({ actor, target }) => [actor.name, target])).toEqual([["operator@example.com", null]]);
});

test("shows why a backup failed, and makes the next one", async () => {
  const place = join(freshDir(), "backups");
  await Bun.write(place, "a file in the place of the directory");
  const { harness, ask } = await open({ GENROUTER_BACKUP__DIR: place });
  await ask("operator", "POST", "backup");
  const shown = async () => (JSON.parse((await ask("viewer", "GET", "service")).text) as ServiceView).backup;
  const failed = await harness.eventually(async () => (await shown()).running === null && (await shown()));
  expect(failed.ended).toMatchObject({ path: null, fault: expect.stringContaining(place) });
  await Bun.file(place).delete();
  mkdirSync(place);
  await ask("operator", "POST", "backup");
  expect(await harness.eventually(async () => (await shown()).lastMs !== null)).toBe(true);
});

test("refuses a backup without backup.dir and writes no audit entry", async () => {
  const { harness, ask } = await open({});
  expect(await ask("operator", "POST", "backup")).toMatchObject({
    status: 422,
    reported: { error: { code: "refused", message: expect.stringContaining("backup.dir") } },
  });
  expect(await harness.store.audit(null, 10, { action: "note-backup" })).toEqual([]);
});
