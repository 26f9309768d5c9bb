// `genrouter files`: lists, uploads and deletes the files of the account.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UploadedFile } from "../../client/src/client.ts";
import { sampleBytes } from "../api/upload-requests.ts";
import { type Harness, openHarness } from "../harness.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

let harness: Harness;
let dir: string;
beforeAll(async () => {
  harness = await openHarness();
  dir = freshDir();
  for (const width of [48, 50])
    writeFileSync(join(dir, `${width}.png`), await sampleBytes(harness, `picture.png?width=${width}&height=48`));
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const files = (key: string, ...words: string[]) => runHere(["files", ...words, "--url", harness.url, "--key", key]);
const linesOf = (text: string): string[] => text.split("\n").filter(Boolean);

test("uploads files, lists them newest first, and deletes them", async () => {
  const { key } = await harness.newTenant();
  expect((await files(key)).out.trim()).toBe("none");
  const uploads = await files(key, "upload", join(dir, "48.png"), join(dir, "50.png"));
  expect(uploads.exit as number).toBe(0);
  const [first = "", second = ""] = linesOf(uploads.out).map((line) => /^file_\w+/.exec(line)?.[0] ?? "");
  expect(uploads.out).toMatch(/48\.png {2}0\.0 MB, 48×48\n/);

  const listed = JSON.parse((await files(key, "list", "--json")).out) as UploadedFile[];
  expect(listed.map(({ id }) => id)).toEqual([second, first]);
  expect(JSON.parse((await files(key, "--limit", "1", "--json")).out)).toHaveLength(1);
  const shown = await files(key);
  for (const word of [first, second, "image/png", "50×48"]) expect(shown.out).toContain(word);

  expect((await files(key, "delete", first, second)).out).toBe(`${first}  deleted\n${second}  deleted\n`);
  expect((await files(key)).out.trim()).toBe("none");
});

test("lists more files than one page of the API has", async () => {
  const { key } = await harness.newTenant();
  const bytes = await Bun.file(join(dir, "48.png")).bytes();
  const send = () =>
    fetch(`${harness.url}/v1/files`, { method: "POST", headers: { authorization: `Bearer ${key}` }, body: bytes });
  for (let n = 0; n < 103; n += 1) {
    const { status } = await harness.eventually(async () => {
      const answer = await send();
      return answer.status !== 429 && answer;
    }, "an upload within the rate limit");
    expect(status).toBe(201);
  }
  expect(JSON.parse((await files(key, "list", "--limit", "1000", "--json")).out)).toHaveLength(103);
});

test("prints one JSON line for each upload", async () => {
  const { key } = await harness.newTenant();
  const { out } = await files(key, "upload", join(dir, "48.png"), "--json");
  expect(JSON.parse(out)).toMatchObject({ object: "file", kind: "image", width: 48 });
});

test("rejects a path without a file and a bad limit before any request, and an unknown id with exit 4", async () => {
  const { key } = await harness.newTenant();
  const missing = await files(key, "upload", join(dir, "48.png"), "./nothing.png");
  expect([missing.exit as number, missing.err]).toEqual([2, expect.stringContaining("./nothing.png is not a file")]);
  expect((await files(key)).out.trim()).toBe("none");
  const limit = await files(key, "list", "--limit", "0");
  expect([limit.exit as number, limit.err]).toEqual([2, expect.stringContaining("--limit")]);
  expect((await files(key, "delete", "file_unknown")).exit as number).toBe(4);
});
