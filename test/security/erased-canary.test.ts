// A word of a prompt is nowhere after the deletion of its generation: in no file of the data directory, log line, new backup or archive.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import { openDirectory } from "../../src/store/archive/archive-storage.ts";
import { archive } from "../../src/store/archive/write.ts";
import { backUp, namesIn } from "../backup/fixture.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness, type ParsedResponse } from "../harness.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";

const WORD = "zanzibar";
const dir = freshDir();
const [before, after] = [join(freshDir(), "backups"), join(freshDir(), "backups")];
const archived = freshDir();

/** Files below a directory that contain the word. */
const filesWith = (root: string): string[] =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => statSync(join(root, name)).isFile() && readFileSync(join(root, name)).includes(WORD));

let harness: Harness;
let receiver: Receiver;
const ids: string[] = [];
const resultFiles = (): string[] =>
  readdirSync(join(dir, "files"), { recursive: true })
    .map(String)
    .filter((name) => ids.some((id) => name.includes(id.slice("gen_".length))));

const submit = async (model: string, input: Record<string, unknown>): Promise<void> => {
  const { status, body } = await harness.request("POST", "/v1/generations", {
    body: { model, input: { ...input, prompt: `${String(input.prompt)} ${WORD}` } } as JsonObject,
    headers: {
      ...{ "idempotency-key": `key ${ids.length}`, "genrouter-end-user": `${WORD}@example.com` },
      ...{ "genrouter-metadata": `{"project":"${WORD} film"}`, "genrouter-webhook": `${receiver.url}/once` },
    },
  });
  expect(status).toBe(202);
  ids.push(String(body.id));
};
const removeAll = () => Promise.all(ids.map((id) => harness.request("DELETE", `/v1/generations/${id}`)));

/** What the tests examine, in the order of its making. */
const found = {
  beforehand: { database: [] as string[], backup: [] as string[], results: 0, backupName: "" },
  deletions: [] as ParsedResponse[],
  repetitions: [] as ParsedResponse[],
  reads: [] as string[],
  resultsLeft: [] as string[],
};

beforeAll(async () => {
  receiver = openReceiver();
  // A receiver that repeats what it received.
  receiver.answer(({ text }) => new Response(text));
  harness = await openHarness({
    ...{ dir, writer: "thread" },
    env: { GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1", GENROUTER_BACKUP__DIR: before },
  });
  await submit("sim-image-1", { prompt: "a kite" });
  await submit("sim-image-1", { prompt: "[sim:refuse] a kite" });
  await submit("sim-speech-1", { prompt: "spoken" });
  const clip = `${harness.simulator.url}/samples/clip.mp4?seconds=4&width=64&height=64&word=${WORD}`;
  await submit("vidmodel-2.5", { prompt: "an edit", resolution: "480p", video_url: clip });
  for (const id of ids) await harness.until(id);
  await harness.eventually(() => receiver.received.length >= 2 * ids.length, "the webhooks of starts and ends");

  const { path } = backUp(dir, before, { aheadMs: harness.clock.nowMs() - Date.now() });
  found.beforehand = {
    ...{ database: filesWith(dir), backup: filesWith(before) },
    ...{ results: resultFiles().length, backupName: basename(path) },
  };
  found.deletions = await removeAll();
  found.repetitions = await removeAll();
  found.resultsLeft = resultFiles();
  for (const path of ["", ...ids.map((id) => `/${id}`)])
    found.reads.push((await harness.request("GET", `/v1/generations${path}`)).text);
  // Closing verifies the thirteen invariants and checkpoints the WAL.
  await harness.close();
  backUp(dir, after);
  const beforeMs = harness.clock.nowMs() + 86_400_000;
  await archive({ dir }, openDirectory(archived), beforeMs, beforeMs);
}, 60_000);
afterAll(async () => {
  await receiver.stop();
  dropDirs();
});

test("the word was in the database, in the WAL or both, and in a backup that was taken before the deletion", () => {
  const { database, backup, results } = found.beforehand;
  expect([database.length > 0, backup.length]).toEqual([true, 1]);
  expect(results).toBeGreaterThan(3);
});

test("the deletion names the backup that was taken before, and has the same answer again", () => {
  const { backupName: name } = found.beforehand;
  for (const { status, body } of found.deletions)
    expect([status, body.backups]).toEqual([200, [{ name, taken_at: expect.any(String), expires_on: null }]]);
  expect(found.repetitions.map(({ text }) => text)).toEqual(found.deletions.map(({ text }) => text));
});

test("the word is in no response and in no log line afterwards", () => {
  expect(found.reads).toHaveLength(ids.length + 1);
  for (const id of ids) expect(found.reads[0]).toContain(id);
  const texts = [...found.reads, ...found.deletions.map(({ text }) => text)];
  expect(texts.filter((text) => text.includes(WORD))).toEqual([]);
  expect(harness.lines.length).toBeGreaterThan(30);
  expect(JSON.stringify(harness.lines)).not.toContain(WORD);
});

test("the word is in no file of the data directory, and verify is clean", async () => {
  const wal = join(dir, "genrouter.db-wal");
  expect(existsSync(wal) ? statSync(wal).size : 0).toBe(0);
  expect([filesWith(dir), found.resultsLeft]).toEqual([[], []]);
  expect((await runHere(["verify", "--data", dir])).exit as number).toBe(0);
});

test("the word is in no new backup, which verifies and restores", async () => {
  expect(filesWith(after)).toEqual([]);
  const restored = join(freshDir(), "restored");
  const [name = ""] = namesIn(after);
  expect((await runHere(["backup", "verify", join(after, name)])).exit as number).toBe(0);
  expect((await runHere(["backup", "restore", join(after, name), "--to", restored, "--yes"])).exit as number).toBe(0);
  expect(filesWith(restored)).toEqual([]);
});

test("the word is in no new archive, which verifies", async () => {
  const segments = readdirSync(archived, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".gz"));
  const texts = segments.map((name) => Buffer.from(Bun.gunzipSync(readFileSync(join(archived, name)))).toString());
  for (const id of ids) expect(texts.join("\n")).toContain(id);
  expect(texts.filter((text) => text.includes(WORD))).toEqual([]);
  expect((await runHere(["verify", "--archive", archived, "--data", dir])).exit as number).toBe(0);
});

test("the backup that was taken before the deletion still restores", async () => {
  const restored = join(freshDir(), "restored");
  const { backupName } = found.beforehand;
  expect((await runHere(["backup", "restore", join(before, backupName), "--to", restored, "--yes"])).exit as number).toBe(0);
  expect(filesWith(restored)).toEqual(["genrouter.db"]);
});
