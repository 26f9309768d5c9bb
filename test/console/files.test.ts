// Uploaded files in the console: upload with the errors of the API, list, download, thumbnail and deletion, by role.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { FilesPage, UploadedFileDto } from "../../src/console/files-dto.ts";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { askConsole, openVisitor, type Reply, type Visitor } from "./signed-in.ts";

const PATH = "/console/api/files";
let harness: Harness;
let picture: Uint8Array;
let member: Visitor;
beforeAll(async () => {
  harness = await openHarness({
    env: { GENROUTER_LIMITS__UPLOAD_BYTES: "20000", GENROUTER_LIMITS__UPLOAD_QUOTA_BYTES: "30000" },
  });
  picture = await sampleBytes(harness, "picture.png?width=40&height=30");
  member = await openVisitor(harness, "member", harness.tenant);
});
afterAll(() => harness.close());

const upload = (who: Visitor, bytes: Uint8Array | string, headers: Record<string, string> = {}) =>
  who.ask("POST", PATH, bytes, { "content-type": "application/octet-stream", ...headers });
const stored = async (who: Visitor, bytes: Uint8Array): Promise<UploadedFileDto> => {
  const { status, reported, text } = await upload(who, bytes);
  if (status !== 200) throw new Error(`the upload was answered ${status} ${text}`);
  return reported as unknown as UploadedFileDto;
};
const pageOf = async (who: Visitor, query = ""): Promise<FilesPage> => {
  const { status, reported } = await who.ask("GET", `${PATH}${query}`);
  expect(status).toBe(200);
  return reported as unknown as FilesPage;
};
const errorOf = ({ status, reported }: Reply) => [status, (reported.error as { code?: string } | undefined)?.code];
const messageOf = ({ reported }: Reply): string => String((reported.error as { message?: string } | undefined)?.message);
/** A member of a new account. */
const openMember = async (credits?: number): Promise<{ tenant: Tenant; who: Visitor }> => {
  const tenant = await harness.newTenant(credits);
  return { tenant, who: await openVisitor(harness, "member", tenant) };
};

test("stores a file that a member uploads, and lists it with its measurements and the quota", async () => {
  const { who, tenant } = await openMember();
  const file = await stored(who, picture);
  expect(file).toMatchObject({
    kind: "image",
    mime: "image/png",
    bytes: picture.length,
    width: 40,
    height: 30,
    durationMs: null,
  });
  const page = await pageOf(who);
  expect(page).toMatchObject({
    account: { id: tenant.accountId },
    next: null,
    usedBytes: picture.length,
    quotaBytes: 30_000,
    largestBytes: 20_000,
    mayUpload: true,
    mayDelete: true,
  });
  expect(page.files.map(({ id }) => id)).toEqual([file.id]);
  // The key of the account reads the same file, and its link needs neither key nor session.
  expect((await harness.request("GET", `/v1/files/${file.id}`, { key: tenant.key })).body.sha256).toBe(file.sha256);
  expect(await (await fetch(file.link)).bytes()).toEqual(picture);
});

test("serves the bytes in ranges and a thumbnail, to its account only", async () => {
  const { who } = await openMember();
  const file = await stored(who, picture);
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(harness.url + path, { headers: { cookie: who.cookie, ...headers } });
  expect(await (await get(file.contentUrl)).bytes()).toEqual(picture);
  expect((await get(file.contentUrl, { range: "bytes=1-4" })).headers.get("content-range")).toBe(`bytes 1-4/${picture.length}`);
  const small = await get(file.thumbUrl ?? "");
  expect([small.status, small.headers.get("content-type")]).toEqual([200, "image/webp"]);
  const clip = await stored(who, await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48"));
  expect(clip).toMatchObject({ kind: "video", thumbUrl: null });
  expect((await get(`${PATH}/${clip.id}/thumb`)).status).toBe(404);
  for (const path of [file.contentUrl, file.thumbUrl ?? ""]) {
    expect([path, (await fetch(harness.url + path)).status]).toEqual([path, 401]);
    expect([path, ...errorOf(await member.ask("GET", path))]).toEqual([path, 404, "not_found"]);
  }
});

test("lists pages by cursor, newest first", async () => {
  const { who } = await openMember();
  const ids: string[] = [];
  // Identical bytes are stored once, so that the quota is not reached.
  for (let n = 0; n < 25; n += 1) ids.unshift((await stored(who, picture)).id);
  const first = await pageOf(who);
  const second = await pageOf(who, `?after=${first.next}`);
  expect([...first.files, ...second.files].map(({ id }) => id)).toEqual(ids);
  expect([first.files.length, second.next, first.usedBytes]).toEqual([24, null, picture.length]);
  expect(errorOf(await who.ask("GET", `${PATH}?after=file_x`))).toEqual([400, "invalid_request"]);
});

test("rejects an upload with the status, the code and the message of the API, and stores nothing", async () => {
  const { who, tenant } = await openMember();
  const poor = await openMember(0);
  const large = new Uint8Array(20_001);
  const files: [Uint8Array | string, typeof who, Tenant][] = [
    ["this is text", who, tenant],
    [new Uint8Array(), who, tenant],
    [large, who, tenant],
    [(await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48")).subarray(0, 600), who, tenant],
    [picture, poor.who, poor.tenant],
  ];
  const codes: unknown[] = [];
  for (const [bytes, user, { key }] of files) {
    const refused = await upload(user, bytes);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" };
    const byKey = await fetch(`${harness.url}/v1/files`, { method: "POST", headers, body: bytes as string });
    const { error } = (await byKey.json()) as { error: { code: string; message: string } };
    expect([...errorOf(refused), messageOf(refused)]).toEqual([byKey.status, error.code, error.message]);
    codes.push(error.code);
  }
  expect(codes).toEqual(["invalid_input", "invalid_request", "body_too_large", "invalid_input", "insufficient_credits"]);
  expect((await pageOf(who)).files).toEqual([]);
});

test("rejects an upload over the quota of the account with 409, and a file that a generation needs keeps from deletion", async () => {
  const { who, tenant } = await openMember();
  const answers: unknown[] = [];
  for (const seconds of [4, 3, 2])
    answers.push((await upload(who, await sampleBytes(harness, `voice.mp3?seconds=${seconds}`))).status);
  expect(answers).toEqual([200, 200, 409]);
  expect(errorOf(await upload(who, await sampleBytes(harness, "voice.mp3?seconds=2")))).toEqual([409, "upload_quota_exceeded"]);
  const file = await stored(who, picture);
  const input = { prompt: "[sim:stuck] a kite", image_url: file.id, resolution: "480p", duration: 4 };
  const submitted = await harness.request("POST", "/v1/generations", {
    key: tenant.key,
    body: { model: "vidmodel-2.0-fast", input },
  });
  expect(submitted.status).toBe(202);
  expect(errorOf(await who.ask("DELETE", `${PATH}/${file.id}`))).toEqual([409, "file_in_use"]);
  const { id } = submitted.body as { id: string };
  await harness.request("POST", `/v1/generations/${id}/cancel`, { key: tenant.key });
  await harness.until(id, undefined, tenant.key);
  await harness.eventually(async () => (await who.ask("DELETE", `${PATH}/${file.id}`)).status === 200, "the deletion");
  expect(errorOf(await who.ask("DELETE", `${PATH}/${file.id}`))).toEqual([404, "not_found"]);
});

test("returns 404 for accounts and files of others to a member, and shows them to viewers and operators with an audit entry", async () => {
  const { tenant, who } = await openMember();
  const file = await uploaded(harness, picture, tenant.key);
  const there = `?account=${tenant.accountId}`;
  for (const [method, path] of [
    ["GET", `${PATH}${there}`],
    ["GET", `${PATH}/${file.id}/content${there}`],
    ["GET", `${PATH}/${file.id}/content`],
    ["DELETE", `${PATH}/${file.id}${there}`],
    ["DELETE", `${PATH}/${file.id}`],
  ] as const)
    expect([path, ...errorOf(await member.ask(method, path))]).toEqual([path, 404, "not_found"]);
  const viewer = await openVisitor(harness, "viewer", null);
  const operator = await openVisitor(harness, "operator", null);
  const seen = await pageOf(viewer, there);
  expect([seen.files[0]?.id, seen.mayUpload, seen.mayDelete]).toEqual([file.id, false, false]);
  expect((await viewer.ask("GET", seen.files[0]?.contentUrl ?? "")).status).toBe(200);
  expect(errorOf(await viewer.ask("DELETE", `${PATH}/${file.id}${there}`))).toEqual([403, "forbidden"]);
  await harness.eventually(async () => {
    const { text } = await operator.ask("GET", "/console/api/operator/audit?action=note-look");
    return text.includes('"uploads"') && text.includes(viewer.userId);
  }, "the audit entry");
  expect(await pageOf(operator, there)).toMatchObject({ mayUpload: false, mayDelete: true });
  expect((await operator.ask("DELETE", `${PATH}/${file.id}${there}`)).status).toBe(200);
  expect((await pageOf(who)).files).toEqual([]);
});

test("rejects uploads of users without an account, of viewers, of paused accounts and of other origins", async () => {
  const none = await openVisitor(harness, "operator", null);
  const { tenant } = await openMember();
  const viewer = await openVisitor(harness, "viewer", tenant);
  for (const who of [none, viewer]) expect(errorOf(await upload(who, picture))).toEqual([403, "forbidden"]);
  const paused = await openMember();
  const { accountSeq } = paused.tenant;
  await harness.components.post({ mutation: "set-account", accountSeq, paused: true, atMs: harness.clock.nowMs() });
  expect(errorOf(await upload(paused.who, picture))).toEqual([403, "account_disabled"]);
  const { who } = await openMember();
  expect(errorOf(await upload(who, picture, { "x-csrf-token": "x" }))).toEqual([403, "csrf"]);
  expect(errorOf(await upload(who, picture, { origin: "https://elsewhere.example" }))).toEqual([403, "csrf"]);
  const file = await stored(who, picture);
  expect(errorOf(await who.ask("DELETE", `${PATH}/${file.id}`, undefined, { "x-csrf-token": "" }))).toEqual([403, "csrf"]);
  expect(errorOf(await askConsole(harness, ["GET", PATH]))).toEqual([401, "signed_out"]);
  expect((await pageOf(who)).files.map(({ id }) => id)).toEqual([file.id]);
});
