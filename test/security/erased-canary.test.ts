// A word of requests and uploads is nowhere after their deletion: in no file of the data directory, log line, new backup or archive.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import { openDirectory } from "../../src/store/archive/archive-storage.ts";
import { archive } from "../../src/store/archive/write.ts";
import { append, created } from "../api/tus-requests.ts";
import { sampleBytes, sendFile } from "../api/upload-requests.ts";
import { backUp, namesIn } from "../backup/fixture.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness, type ParsedResponse } from "../harness.ts";
import { openReceiver, type Receiver } from "../webhooks/receiver.ts";

const WORD = "zanzibar";
const dir = freshDir();
const [before, after] = [join(freshDir(), "backups"), join(freshDir(), "backups")];
const archived = freshDir();

/** `Upload-Metadata` and data URIs contain the word in Base64, in one of three alignments. */
const SPELLINGS = [WORD, ...["", "a", "ab"].map((before) => Buffer.from(`${before}${WORD}`).toString("base64").slice(4, -4))];
const hasWord = (bytes: Buffer | string): boolean => SPELLINGS.some((spelling) => bytes.includes(spelling));
/** Files below a directory that contain the word. */
const filesWith = (root: string): string[] =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => statSync(join(root, name)).isFile() && hasWord(readFileSync(join(root, name))));

let harness: Harness;
let receiver: Receiver;
const ids: string[] = [];
const resultFiles = (): string[] =>
  readdirSync(join(dir, "files"), { recursive: true })
    .map(String)
    .filter((name) => ids.some((id) => name.includes(id.slice("gen_".length))));

const uploadedBlobs = (root: string): string[] =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => /uploads\/.*blob_\w+\.1$/.test(name));

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
/** A picture with the word in its bytes. */
const picture = async (seed: number): Promise<Buffer> => {
  const png = Buffer.from(await sampleBytes(harness, `picture.png?width=64&height=64&seed=${seed}`));
  const text = Buffer.from(`tEXtComment\0${WORD} film`);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(text.length - 4);
  crc.writeUInt32BE(Bun.hash.crc32(text));
  // Before the last chunk, which has 12 bytes.
  return Buffer.concat([png.subarray(0, -12), length, text, crc, png.subarray(-12)]);
};
/** Uploads a picture as a form and another by tus, each with the word as its name. @returns the ids of the files */
const uploadBoth = async (): Promise<string[]> => {
  const form = new FormData();
  form.append("file", new File([new Uint8Array(await picture(1))], `${WORD}.png`, { type: "image/png" }));
  const sent = await sendFile(harness, { body: form });
  const bytes = await picture(2);
  const name = { "upload-metadata": `filename ${Buffer.from(`${WORD}.png`).toString("base64")}` };
  const path = await created(harness, bytes.length, undefined, name);
  const appended = await append(harness, path, 0, bytes);
  expect([sent.status, appended.status]).toEqual([201, 204]);
  return [String(sent.body.id), appended.headers.get("genrouter-file") ?? ""];
};
/** A quote and requests that are rejected store nothing. */
const askAndFail = async (): Promise<void> => {
  const input = { prompt: `a ${WORD}` };
  const post = (path: string, body: JsonObject, headers = {}) => harness.request("POST", path, { body, headers });
  const statuses = [
    (await post("/v1/quotes", { model: "sim-image-1", input })).status,
    (await post("/v1/generations", { model: "sim-image-1", input: { ...input, seed: WORD } })).status,
    (await post("/v1/generations", { model: WORD, input })).status,
    (await post("/v1/generations", { model: "sim-image-1", input }, { "genrouter-metadata": `{"${WORD}":1}` })).status,
    (
      await post(
        "/v1/generations",
        { model: "sim-image-1", input: { ...input, prompt: `other ${WORD}` } },
        { "idempotency-key": "key 0" },
      )
    ).status,
  ];
  expect(statuses).toEqual([200, 422, 422, 400, 409]);
};
const removeAll = () => Promise.all(ids.map((id) => harness.request("DELETE", `/v1/generations/${id}`)));

/** What the tests examine, in the order of its making. */
const found = {
  beforehand: { database: [] as string[], backup: [] as string[], results: 0, backupName: "" },
  deletions: [] as ParsedResponse[],
  repetitions: [] as ParsedResponse[],
  reads: [] as string[],
  /** Requests to the webhook address after the deletion. */
  redelivered: [] as string[],
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
  const files = await uploadBoth();
  await submit("vidmodel-2.0-fast", { prompt: "a drop", resolution: "480p", duration: 4, image_urls: files });
  await askAndFail();
  for (const id of ids) await harness.until(id);
  await harness.eventually(() => receiver.received.length >= 2 * ids.length, "the webhooks of starts and ends");

  const { path } = backUp(dir, before, { aheadMs: harness.clock.nowMs() - Date.now() });
  found.beforehand = {
    ...{ database: filesWith(dir), backup: filesWith(before) },
    ...{ results: resultFiles().length, backupName: basename(path) },
  };
  found.deletions = await removeAll();
  found.repetitions = await removeAll();
  for (const id of files) expect((await harness.request("DELETE", `/v1/files/${id}`)).status).toBe(200);
  found.resultsLeft = resultFiles();
  // A service sweeps once a minute.
  await harness.components.sweep();
  expect(uploadedBlobs(dir)).toEqual([]);
  for (const path of ["", ...ids.map((id) => `/${id}`)])
    found.reads.push((await harness.request("GET", `/v1/generations${path}`)).text);
  for (const path of ["files", "webhook_deliveries?limit=100", "end_users", "usage?group_by=end_user", "ledger"])
    found.reads.push((await harness.request("GET", `/v1/${path}`)).text);
  const deliveries = (await harness.request("GET", "/v1/webhook_deliveries?limit=100")).body.data as { id: string }[];
  const [again = 0, last] = [receiver.received.length, deliveries[0]];
  receiver.answer(() => new Response("ok"));
  expect((await harness.request("POST", `/v1/webhook_deliveries/${last?.id}/redeliver`)).status).toBe(202);
  await harness.eventually(() => receiver.received.length > again, "the repeated webhook");
  found.redelivered = receiver.received.slice(again).map(({ text }) => text);
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
  expect(database.some((name) => name.startsWith("genrouter.db"))).toBe(true);
  // The database, and the two uploaded files.
  expect(backup).toHaveLength(3);
  expect(results).toBeGreaterThan(3);
});

test("the deletion names the backup that was taken before, and has the same answer again", () => {
  const { backupName: name } = found.beforehand;
  for (const { status, body } of found.deletions)
    expect([status, body.backups]).toEqual([200, [{ name, taken_at: expect.any(String), expires_on: null }]]);
  expect(found.repetitions.map(({ text }) => text)).toEqual(found.deletions.map(({ text }) => text));
});

test("the word is in no response and in no log line afterwards", () => {
  expect(found.reads).toHaveLength(ids.length + 6);
  expect(found.redelivered).not.toEqual([]);
  for (const id of ids) expect(found.reads[0]).toContain(id);
  const texts = [...found.reads, ...found.redelivered, ...found.deletions.map(({ text }) => text)];
  expect(texts.filter(hasWord)).toEqual([]);
  expect(harness.lines.length).toBeGreaterThan(30);
  expect(harness.lines.filter((line) => hasWord(JSON.stringify(line)))).toEqual([]);
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
  expect(texts.filter(hasWord)).toEqual([]);
  expect((await runHere(["verify", "--archive", archived, "--data", dir])).exit as number).toBe(0);
});

test("the backup that was taken before the deletion still restores", async () => {
  const restored = join(freshDir(), "restored");
  const { backupName } = found.beforehand;
  expect((await runHere(["backup", "restore", join(before, backupName), "--to", restored, "--yes"])).exit as number).toBe(0);
  expect(filesWith(restored).sort()).toEqual(["genrouter.db", ...uploadedBlobs(restored).sort()]);
  expect(uploadedBlobs(restored)).toHaveLength(2);
});
