// Stored files for providers that cannot open links of the service: uploaded to their storage, or inside the request.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";
import { codeOf, messageOf } from "./harness.ts";
import { attemptsOf, catalogueOn, type FileProvider, inputsOfLastJob, modelOf, WITHOUT_LINKS } from "./provider-files-fixture.ts";
import { type FileResource, sampleBytes, uploaded } from "./upload-requests.ts";

setDefaultTimeout(60_000);

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

const open = async (provider: FileProvider, more: HarnessOptions & { others?: string[] } = {}): Promise<Harness> => {
  const { others = [], env, ...rest } = more;
  harness = await openHarness({
    catalogue: catalogueOn(provider, ...others),
    providers: [provider, ...others],
    env: { ...WITHOUT_LINKS, ...env },
    ...rest,
  });
  return harness;
};
const PICTURE = "picture.png?width=512&height=512";
const picture = async (opened: Harness): Promise<FileResource> => uploaded(opened, await sampleBytes(opened, PICTURE));
const inputWith = (file: FileResource) => ({ prompt: "in oil", image_url: file.id });
const submit = (opened: Harness, provider: FileProvider, file: FileResource) =>
  opened.request("POST", "/v1/generations", { body: { model: modelOf(provider), input: inputWith(file) } });

const FORMS: [FileProvider, "upload" | "inline"][] = [
  ["fal", "upload"],
  ["replicate", "upload"],
  ["wavespeed", "upload"],
  ["runware", "upload"],
  ["pixverse", "upload"],
  ["runway", "inline"],
  ["openai", "inline"],
  ["bfl", "inline"],
  ["gemini", "inline"],
  ["gemini-video", "inline"],
  ["modelark", "inline"],
  ["volcengine", "inline"],
  ["minimax", "inline"],
  ["dashscope", "inline"],
  ["kling", "inline"],
  ["stability", "inline"],
];

test.each(FORMS)(
  "%s receives the bytes of a stored file by %s, and the request on disk contains none of them",
  async (provider, form) => {
    const opened = await open(provider);
    const bytes = await sampleBytes(opened, PICTURE);
    const file = await uploaded(opened, bytes);
    const made = await opened.submit(modelOf(provider), inputWith(file));
    const ended = await opened.until(made.id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
    expect(await inputsOfLastJob(opened)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
    expect(Bun.SHA256.hash(bytes, "hex")).toBe(file.sha256);
    const [attempt] = await attemptsOf(opened, made.id);
    expect(attempt?.request).not.toContain("/inputs/");
    expect(attempt?.request?.includes(`genrouter-input:1:${file.sha256}:`)).toBe(form === "inline");
    const base64 = Buffer.from(bytes).toString("base64").slice(100, 200);
    expect(JSON.stringify([attempt, opened.lines])).not.toContain(base64);
    const events = await opened.store.eventsOf((await opened.store.findGeneration(made.id))?.seq ?? 0);
    expect(events.find(({ event }) => event.type === "slotTaken")?.event).toMatchObject({ givenAs: form });
  },
);

test("runway receives a file over the bound of its inline form by an upload", async () => {
  const opened = await open("runway");
  const noise = await sampleBytes(opened, PICTURE);
  // Bytes after the end of a PNG are part of the file.
  const file = await uploaded(opened, Buffer.concat([noise, Buffer.alloc(3 * 1_048_576 + 5, 7)]));
  const ended = await opened.until((await opened.submit(modelOf("runway"), inputWith(file))).id);
  expect(ended).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(await inputsOfLastJob(opened)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
  expect((await attemptsOf(opened, ended.id))[0]?.request).toContain("runway://");
});

test("a result of the service is given like an uploaded file", async () => {
  const opened = await open("fal");
  const first = await opened.until((await opened.submit(modelOf("fal"), inputWith(await picture(opened)))).id);
  const next = await opened.submit(modelOf("fal"), { prompt: "in ink", image_url: `${first.id}/1` });
  expect(await opened.until(next.id)).toMatchObject({ status: "succeeded" });
  const { sha256, bytes } = (await opened.store.findGeneration(first.id))?.output?.files[0] ?? {};
  expect(await inputsOfLastJob(opened)).toEqual([{ bytes, sha256 }] as never);
});

test("a provider that takes links receives a link where files.provider_links is on", async () => {
  const opened = await open("openai", { env: { GENROUTER_FILES__PROVIDER_LINKS: "on" } });
  const made = await opened.submit(modelOf("openai"), inputWith(await picture(opened)));
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded" });
  expect((await attemptsOf(opened, made.id))[0]?.request).toContain("/inputs/");
});

test.each(["pixverse", "stability"] as const)(
  "%s, which downloads nothing, receives the file although links are on",
  async (provider) => {
    const opened = await open(provider, { env: { GENROUTER_FILES__PROVIDER_LINKS: "on" } });
    const file = await picture(opened);
    const made = await opened.submit(modelOf(provider), inputWith(file));
    expect(await opened.until(made.id)).toMatchObject({ status: "succeeded" });
    expect(await inputsOfLastJob(opened)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
    // A link of another server is sent as it is, which this provider cannot use.
    const foreign = `${opened.simulator.url}/samples/${PICTURE}`;
    const answered = await opened.request("POST", "/v1/generations", {
      body: { model: modelOf(provider), input: { prompt: "in oil", image_url: foreign } },
    });
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    expect(messageOf(answered)).toContain(
      "input.image_url: its file cannot be given to the model's provider: it downloads no links",
    );
    expect(messageOf(answered)).toContain("POST /v1/files");
  },
);

describe("before pricing", () => {
  test("an input that no provider can receive is 422, names the settings, and nothing is held", async () => {
    const opened = await open("luma");
    const before = await opened.balance();
    const answered = await submit(opened, "luma", await picture(opened));
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    for (const named of ["input.image_url", "by link only", "files.provider_links", "media.unpinned"])
      expect(messageOf(answered)).toContain(named);
    expect(await opened.balance()).toEqual(before);
  });

  test("a file over the bound of every form is 422 with the bound, and a quote says the same", async () => {
    const opened = await open("kling");
    const large = Buffer.concat([await sampleBytes(opened, PICTURE), Buffer.alloc(7 * 1_048_576)]);
    const file = await uploaded(opened, large);
    const answered = await submit(opened, "kling", file);
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    expect(messageOf(answered)).toContain("the model's provider takes images of at most 7 MB");
    const quoted = await opened.request("POST", "/v1/quotes", { body: { model: modelOf("kling"), input: inputWith(file) } });
    expect(messageOf(quoted)).toBe(messageOf(answered));
    expect(opened.simulator.submissions()).toEqual([]);
  });

  test("files that are over the bound together are 422 with the bound", async () => {
    const opened = await open("gemini");
    const image_urls: string[] = [];
    for (const fill of [1, 2]) {
      const bytes = Buffer.concat([await sampleBytes(opened, PICTURE), Buffer.alloc(8 * 1_048_576, fill)]);
      image_urls.push((await uploaded(opened, bytes)).id);
    }
    const body = { model: modelOf("gemini"), input: { prompt: "both", image_urls } };
    const answered = await opened.request("POST", "/v1/generations", { body });
    expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
    expect(messageOf(answered)).toContain("files of at most 14 MB together");
  });

  test("a route that cannot receive the file is skipped, and the next one runs", async () => {
    const opened = await open("luma", { others: ["fal"] });
    const file = await picture(opened);
    const made = await opened.submit(modelOf("luma"), inputWith(file));
    expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(opened.simulator.jobs().map(({ provider }) => provider)).toEqual(["fal"]);
  });
});

describe("an upload that fails", () => {
  test.each(["upload-5xx", "upload-drop", "upload-cut", "upload-no-id", "storage-5xx"] as const)(
    "by %s is repeated, and nothing is submitted before it succeeds",
    async (fault) => {
      const opened = await open("fal");
      opened.simulator.script({ fault, times: 2 });
      const file = await picture(opened);
      const made = await opened.submit(modelOf("fal"), inputWith(file));
      expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
      expect(opened.simulator.submissions()).toHaveLength(1);
      expect(await inputsOfLastJob(opened)).toEqual([{ bytes: file.bytes, sha256: file.sha256 }]);
    },
  );

  test.each([
    ["upload-5xx", 3],
    ["upload-413", 1],
    ["upload-401", 1],
  ] as const)("by %s to the end moves the generation to its next route after %i requests", async (fault, requests) => {
    const opened = await open("fal", { others: ["replicate"] });
    opened.simulator.script({ fault, provider: "fal" });
    const file = await picture(opened);
    const ended = await opened.until((await opened.submit(modelOf("fal"), inputWith(file))).id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 2 });
    expect(opened.simulator.submissions().map(({ provider }) => provider)).toEqual(["replicate"]);
    expect(
      opened.lines
        .filter(({ event, fields }) => event === "provider call completed" && fields.status !== undefined)
        .filter(({ fields }) => [401, 413, 500].includes(Number(fields.status))),
    ).toHaveLength(requests);
  });

  test("on the only route fails the generation, and nothing is charged", async () => {
    const opened = await open("runware");
    opened.simulator.script({ fault: "upload-413" });
    const before = await opened.balance();
    const ended = await opened.until((await opened.submit(modelOf("runware"), inputWith(await picture(opened)))).id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "provider_failed" } });
    expect(await opened.balance()).toEqual(before);
    expect(opened.simulator.submissions()).toEqual([]);
  });

  test("without an answer ends after the time of an upload", async () => {
    const opened = await open("fal", { others: ["replicate"], callTimes: { uploadMs: 40 } });
    opened.simulator.script({ fault: "upload-hang", provider: "fal" });
    const ended = await opened.until((await opened.submit(modelOf("fal"), inputWith(await picture(opened)))).id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 2 });
  });
});

test("a file is not deleted while an attempt may still need it", async () => {
  const opened = await open("openai");
  opened.simulator.script({ fault: "slow", factor: 3000, prompt: "in oil", times: 1 });
  const file = await picture(opened);
  const made = await opened.submit(modelOf("openai"), inputWith(file));
  const answered = await opened.request("DELETE", `/v1/files/${file.id}`);
  expect([answered.status, codeOf(answered)]).toEqual([409, "file_in_use"]);
  await opened.until(made.id);
  expect((await opened.request("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
});
