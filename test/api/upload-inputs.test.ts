// Stored files as inputs: uploaded files and results, by id, short form and link, from the submission to the provider.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Harness, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";
import { sampleBytes, uploaded } from "./upload-requests.ts";

let harness: Harness;
let other: Tenant;
let picture: string;
let pictureLink: string;
let clip: string;

beforeAll(async () => {
  harness = await openApiHarness();
  other = await harness.newTenant();
  const file = await uploaded(harness, await sampleBytes(harness, "picture.png?width=64&height=64"));
  [picture, pictureLink] = [file.id, file.url];
  clip = (await uploaded(harness, await sampleBytes(harness, "clip.mp4?seconds=6&width=64&height=64"))).id;
});
afterAll(() => harness.close());

const edit = (image_url: string, key?: string) =>
  harness.request("POST", "/v1/generations", {
    ...(key ? { key } : {}),
    body: { model: "sim-edit-1", input: { prompt: "in oil", image_url } },
  });
/** The last request that a provider received, as text. */
const lastRequest = (): string => JSON.stringify(harness.simulator.submissions().at(-1));

describe("a stored file in `input`", () => {
  test.each([
    ["the id", () => picture],
    ["the link", () => pictureLink],
  ])("is taken by %s, and its provider opens a signed link to the same bytes", async (_, link) => {
    const { status, body, text } = await edit(link());
    expect([status, text.slice(0, 200)]).toEqual([202, text.slice(0, 200)]);
    const id = String(body.id);
    expect(await harness.until(id)).toMatchObject({ status: "succeeded" });
    const sent = new RegExp(`${harness.url}/inputs/${id.slice(4)}-1/1\\.png\\?exp=\\d+&sig=[\\w-]+`).exec(lastRequest())?.[0];
    if (sent === undefined) throw new Error(`the provider received ${lastRequest()}`);
    const { sha256 } = (await harness.store.uploadedFile(picture)) ?? {};
    expect(Bun.SHA256.hash(await (await fetch(sent)).bytes(), "hex")).toBe(sha256 ?? "");
    expect((await fetch(sent.replace(/sig=./, "sig=!"))).status).toBe(403);
    // The body that the account sent is kept as it was.
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    expect((await harness.store.inputOf(seq))?.raw.image_url).toBe(link());
  });

  test("is priced by the length that was measured when it was uploaded, and not fetched or pinned", async () => {
    const body = { model: "vidmodel-2.5", input: { prompt: "an edit", resolution: "480p", video_url: clip } };
    const answered = await harness.request("POST", "/v1/generations", { body });
    expect([answered.status, answered.body.quoted_usd]).toEqual([202, 0.6]);
    const id = String(answered.body.id);
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    expect(await harness.store.pinsOf(seq)).toEqual([]);
    expect(await harness.store.inputFilesOf(seq)).toMatchObject([{ n: 1, field: "input.video_url", kind: "video" }]);
    expect((await harness.until(id)).status).toBe("succeeded");
    const { sha256 } = (await harness.store.uploadedFile(clip)) ?? {};
    expect(
      harness.simulator
        .jobs()
        .at(-1)
        ?.received?.map((one) => one.sha256),
    ).toEqual([sha256 ?? ""]);
  });

  test("is numbered after the clips of other servers, which are still pinned", async () => {
    const foreign = `${harness.simulator.url}/samples/clip.mp4?seconds=5&width=32&height=32`;
    const input = { prompt: "x", resolution: "480p", video_urls: [clip, foreign], image_urls: [picture, picture] };
    const { id } = await harness.submit("vidmodel-2.5", input);
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    expect(await harness.store.pinsOf(seq)).toMatchObject([{ n: 1, field: "input.video_urls[1]" }]);
    const files = await harness.store.inputFilesOf(seq);
    expect(files.map(({ n, field }) => [n, field]).sort()).toEqual([
      [2, "input.image_urls[0]"],
      [3, "input.video_urls[0]"],
    ]);
    expect((await harness.until(id)).status).toBe("succeeded");
    const request = lastRequest();
    for (const path of [`/inputs/${id.slice(4)}-1/1?`, `/inputs/${id.slice(4)}-1/2.png?`, `/inputs/${id.slice(4)}-1/3.mp4?`])
      expect(request).toContain(path);
    expect(request).not.toContain("file_");
    expect(request).not.toContain("/samples/");
  });

  test.each([
    ["by its short form", (_: string, id: string) => `${id}/1`],
    ["by its link", (url: string) => url],
    ["by its link without the extension", (url: string) => url.replace("/1.png?", "/1?")],
  ])("is a result of the service %s", async (_, form) => {
    const { id } = await harness.submit("sim-image-1", { prompt: "a robot" });
    const { output } = await harness.until(id);
    expect(output?.urls[0]).toContain(`/files/${id}/1.png?exp=`);
    const { status, body } = await edit(form(output?.urls[0] ?? "", id));
    expect(status).toBe(202);
    expect((await harness.until(String(body.id))).status).toBe("succeeded");
    const file = (await harness.store.findGeneration(id))?.output?.files[0];
    const sent = /http[^"]*\/inputs\/[^"]*/.exec(lastRequest())?.[0] ?? "";
    expect(Bun.SHA256.hash(await (await fetch(sent)).bytes(), "hex")).toBe(file?.sha256 ?? "");
  });
});

describe("a link of this service", () => {
  test("is used by its owner after it has expired, and by others only while it is valid", async () => {
    const valid = (await harness.request("GET", `/v1/files/${picture}`)).body.url as string;
    expect((await edit(valid, other.key)).status).toBe(202);
    harness.clock.skip(3_700_000);
    expect((await edit(valid)).status).toBe(202);
    const answered = await edit(valid, other.key);
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
  });

  test("is no link of this service on another origin", async () => {
    const { pathname, search } = new URL(pictureLink);
    const answered = await edit(`https://other.invalid${pathname}${search}`);
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    expect(messageOf(answered)).not.toContain("stored file");
  });
});

test("unknown files, those of other accounts and their results get the same error", async () => {
  const { id } = await harness.submit("sim-image-1", { prompt: "a robot" });
  const { output } = await harness.until(id);
  const altered = output?.urls[0]?.replace(/sig=.{4}/, "sig=0000") ?? "";
  const messages = new Set<string>();
  for (const link of [picture, `${id}/1`, altered, "file_0", "file_zzzzzzzzzzzzzzzzzzzzzzzzzz", `gen_${"z".repeat(21)}/1`]) {
    const answered = await edit(link, other.key);
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    messages.add(messageOf(answered));
  }
  expect([...messages]).toEqual([expect.stringContaining("input.image_url: no stored file of the account has this id or link")]);
  // A number past the last file of a result is unknown to its owner, too.
  expect((await edit(`${id}/9`)).status).toBe(422);
});

test("a file of another kind than its field takes is rejected by name", async () => {
  const answered = await edit(clip);
  expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
  expect(messageOf(answered)).toBe(
    "input.image_url: the media cannot be read: it is video/mp4, not a picture (PNG, JPEG, WebP or GIF)",
  );
});

test("a file is not deleted while a generation that takes it is open, and can be deleted afterwards", async () => {
  harness.simulator.script({ fault: "slow", factor: 3000, prompt: "takes long", times: 1 } as never);
  const file = await uploaded(harness, await sampleBytes(harness, "picture.png?width=21&height=21&seed=6"));
  const { id } = await harness.submit("sim-edit-1", { prompt: "takes long", image_url: file.id });
  const answered = await harness.request("DELETE", `/v1/files/${file.id}`);
  expect([answered.status, codeOf(answered)]).toEqual([409, "file_in_use"]);
  await harness.until(id);
  expect((await harness.request("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
  const again = await edit(file.id);
  expect([again.status, codeOf(again)]).toEqual([422, "invalid_input"]);
});

test("a deletion beside submissions of the same file leaves no accepted generation without its file", async () => {
  for (let seed = 0; seed < 6; seed += 1) {
    const file = await uploaded(harness, await sampleBytes(harness, `picture.png?width=24&height=24&seed=${seed}`));
    const remove = () => harness.request("DELETE", `/v1/files/${file.id}`);
    const [first, removed, second] = await Promise.all([edit(file.id), remove(), edit(file.id)]);
    expect([200, 409]).toContain(removed.status);
    for (const { status, body } of [first, second]) {
      expect([202, 422]).toContain(status);
      if (status === 202) expect((await harness.until(String(body.id))).status).toBe("succeeded");
    }
    if (removed.status === 200) expect((await edit(file.id)).status).toBe(422);
  }
});

test("a repeated request with an Idempotency-Key is answered although its file was deleted", async () => {
  const file = await uploaded(harness, await sampleBytes(harness, "picture.png?width=22&height=22&seed=6"));
  const send = () =>
    harness.request("POST", "/v1/generations", {
      headers: { "idempotency-key": "with a file" },
      body: { model: "sim-edit-1", input: { prompt: "in oil", image_url: file.id } },
    });
  const first = await send();
  await harness.until(String(first.body.id));
  expect((await harness.request("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
  const again = await send();
  expect([first.status, again.status, again.body.id]).toEqual([202, 200, first.body.id]);
});

test("a link of another server is sent as it is where providers open no links of the service", async () => {
  const offline = await openApiHarness({ env: { GENROUTER_FILES__PROVIDER_LINKS: "off" } });
  try {
    const foreign = `${offline.simulator.url}/samples/picture.png?width=64&height=64`;
    const body: JsonObject = { model: "sim-edit-1", input: { prompt: "in oil", image_url: foreign } };
    const answered = await offline.request("POST", "/v1/generations", { body });
    expect(answered.status).toBe(202);
    await offline.until(String(answered.body.id));
    expect(JSON.stringify(offline.simulator.submissions().at(-1)?.input)).toContain(foreign);
  } finally {
    await offline.close();
  }
});
