// The fields voice, language and speed: what each route sends to its provider, and which requests are rejected.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInCatalogue, type Catalogue, CatalogueError, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, openHarness } from "../harness.ts";
import { codeOf, messageOf } from "./harness.ts";
import { attemptsOf } from "./provider-files-fixture.ts";

setDefaultTimeout(60_000);

let harness: Harness | undefined;
const directories: string[] = [];
afterEach(async () => {
  await harness?.close();
  harness = undefined;
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** The model of a route, with this route alone. */
const only = (routeId: string): Catalogue => {
  const found = builtInCatalogue().route(routeId);
  if (!found) throw new Error(`${routeId} is not in the catalogue`);
  return catalogueOver([{ ...found.model, routes: [found.route] }]);
};
const open = async (catalogue: Catalogue): Promise<Harness> => {
  const providers = [...new Set(catalogue.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)))];
  harness = await openHarness({ catalogue, providers });
  return harness;
};

/** The request that the last attempt of a generation sent. */
const requestOf = async (opened: Harness, id: string) => {
  const request = (await attemptsOf(opened, id)).at(-1)?.request ?? "{}";
  return JSON.parse(request) as { url: string; body: JsonObject };
};

const all = { prompt: "one two three", voice: "Abbess", language: "de", speed: 1.25 };
const SENT: [route: string, input: JsonObject, url: RegExp, body: JsonObject][] = [
  [
    "minimax-speech-2.8-hd/minimax-speech",
    all,
    /t2a_v2$/,
    { voice_setting: { voice_id: "Abbess", speed: 1.25, vol: 1, pitch: 0 }, language_boost: "German" },
  ],
  [
    "minimax-speech-2.8-hd/fal",
    all,
    /speech-2\.8-hd/,
    { voice_setting: { voice_id: "Abbess", speed: 1.25, vol: 1, pitch: 0 }, language_boost: "German" },
  ],
  [
    "minimax-speech-2.8-turbo/replicate",
    all,
    /predictions$/,
    { input: { voice_id: "Abbess", speed: 1.25, language_boost: "German" } },
  ],
  ["minimax-speech-2.8-hd/wavespeed", all, /speech-2\.8-hd$/, { voice_id: "Abbess", speed: 1.25, language_boost: "German" }],
  [
    "eleven-flash-v2.5/elevenlabs",
    { prompt: "one", voice: "Bella", language: "de", speed: 0.7 },
    /\/text-to-speech\/hpp4J3VqNfWAUOO0d1Us\?/,
    { model_id: "eleven_flash_v2_5", language_code: "de", voice_settings: { speed: 0.7 } },
  ],
  [
    "eleven-v3/fal",
    { prompt: "one", voice: "Aria", language: "pt" },
    /eleven-v3/,
    { voice: "Aria", language_code: "pt", stability: 0.5 },
  ],
  [
    "eleven-v3/replicate",
    { prompt: "one", voice: "Roger", speed: 1.2 },
    /predictions$/,
    { input: { voice: "Roger", speed: 1.2 } },
  ],
  ["kokoro-82m/fal", { prompt: "one", voice: "am_puck", speed: 2 }, /american-english/, { voice: "am_puck", speed: 2 }],
];

describe("the route sends voice, language and speed as its provider takes them:", () => {
  test.each(SENT)("%s", async (routeId, input, url, body) => {
    const opened = await open(only(routeId));
    const made = await opened.submit(routeId.split("/")[0] ?? "", input);
    const ended = await opened.until(made.id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
    const sent = await requestOf(opened, made.id);
    expect(sent.url).toMatch(url);
    expect(sent.body).toMatchObject(body);
  });

  test.each([
    ["eleven-v4/elevenlabs", /\/text-to-speech\/hpp4J3VqNfWAUOO0d1Us\?/, { model_id: "eleven_v4" }],
    ["eleven-v3/fal", /eleven-v3/, { voice: "Rachel" }],
    ["kokoro-82m/fal", /american-english/, { voice: "af_heart", speed: 1 }],
    ["minimax-speech-2.8-hd/minimax-speech", /t2a_v2$/, { voice_setting: { voice_id: "Wise_Woman", speed: 1 } }],
  ] as [string, RegExp, JsonObject][])("%s without any of them", async (routeId, url, body) => {
    const opened = await open(only(routeId));
    const made = await opened.submit(routeId.split("/")[0] ?? "", { prompt: "one" });
    expect(await opened.until(made.id)).toMatchObject({ status: "succeeded" });
    const sent = await requestOf(opened, made.id);
    expect(sent.url).toMatch(url);
    expect(sent.body).toMatchObject(body);
    expect(Object.keys(sent.body)).not.toContain("voice_settings");
  });
});

test("speech at half the speed is twice as long, and costs the same", async () => {
  const opened = await open(only("sim-speech-1/fal"));
  const words = "one two three four five six ".repeat(4);
  const made = await Promise.all([0.5, 1].map((speed) => opened.submit("sim-speech-1", { prompt: words, speed })));
  const ended = await Promise.all(made.map(({ id }) => opened.until(id)));
  expect(ended.map(({ cost_usd }) => cost_usd)).toEqual([ended[0]?.cost_usd ?? null, ended[0]?.cost_usd ?? null]);
  const sizes = await Promise.all(
    made.map(async ({ id }) => (await opened.store.findGeneration(id))?.output?.files[0]?.bytes ?? 0),
  );
  expect((sizes[0] ?? 0) / (sizes[1] ?? 1)).toBeCloseTo(2, 1);
});

describe("a request is rejected with 422 that names the field and what is allowed:", () => {
  const said = { prompt: "one two three" };
  const rows: [what: string, model: string, input: JsonObject, message: string][] = [
    [
      "an unknown voice",
      "sim-speech-1",
      { ...said, voice: "soprano" },
      "input.voice: soprano is not offered by sim-speech-1; choose alto, tenor or bass",
    ],
    ["a voice that is no text", "sim-speech-1", { ...said, voice: 3 }, "input.voice: must be alto, tenor or bass, not a number"],
    [
      "a language in words",
      "sim-speech-1",
      { ...said, language: "English" },
      "input.language: English is not offered by sim-speech-1; choose en, de, fr or pt-BR",
    ],
    ["a speed below the bounds", "sim-speech-1", { ...said, speed: 0.49 }, "input.speed: 0.49 is not offered; choose 0.5 to 2"],
    ["a speed as text", "sim-speech-1", { ...said, speed: "1" }, "input.speed: must be a number from 0.5 to 2, not text"],
    ["a voice for an image", "sim-image-1", { ...said, voice: "alto" }, "input.voice: not taken by sim-image-1; it takes "],
    ["a voice for the extended input", "vidmodel-2.5", { ...said, voice: "alto" }, "input.voice: not a known field; it takes "],
    [
      "a language for a video",
      "vidmodel-2.0",
      { ...said, language: "en" },
      "input.language: not taken by vidmodel-2.0; it takes ",
    ],
    ["a speed for an image", "sim-image-1", { ...said, speed: 1 }, "input.speed: not taken by sim-image-1; it takes "],
    ["a wrong voice before a wrong speed", "sim-speech-1", { ...said, speed: 9, voice: "x" }, "input.voice: x is not offered"],
  ];
  test("and nothing is stored or held", async () => {
    harness = await openHarness();
    const before = await harness.balance();
    for (const [what, model, input, message] of rows) {
      const answer = await harness.request("POST", "/v1/generations", { body: { model, input } });
      expect([what, answer.status, codeOf(answer)]).toEqual([what, 422, "invalid_input"]);
      expect(messageOf(answer)).toStartWith(message);
    }
    expect(await harness.balance()).toEqual(before);
  });
});

test("a voice that only the dearer route has is planned, quoted and charged there", async () => {
  harness = await openHarness();
  const quote = async (voice: string) =>
    (
      await harness?.request("POST", "/v1/quotes", {
        body: { model: "sim-speech-1", input: { prompt: "x".repeat(1_000), voice } },
      })
    )?.body;
  expect(await quote("alto")).toMatchObject({ quoted_usd: 0.05, routes: 2 });
  expect(await quote("bass")).toMatchObject({ quoted_usd: 0.05, routes: 1 });
});

test("every speech model offers its voices, except one whose voice is a sample", () => {
  const speech = builtInCatalogue().models.filter(({ tasks }) => tasks.includes("text-to-speech"));
  const voices = speech.map((model) => [model.id, modelEntry(model, () => true).options.voice?.values?.length ?? 0] as const);
  expect(voices.filter(([, count]) => count === 0)).toEqual([["chatterbox", 0]]);
  expect(speech.length).toBeGreaterThan(9);
});

describe("an operator adds a voice in a model file", () => {
  type File = {
    fields: { voice: { values: string[] } };
    routes: { options: { path?: { map: Record<string, string> } }; takes: { voice: { values: string[] } } }[];
  };
  /** A catalogue directory with one changed model file. */
  const written = (change: (file: File) => void): string => {
    const directory = mkdtempSync(join(tmpdir(), "voices-"));
    directories.push(directory);
    mkdirSync(join(directory, "models"));
    const file = JSON.parse(readFileSync(join(import.meta.dir, "../../catalogue/models/eleven-v4.json"), "utf8")) as File;
    change(file);
    writeFileSync(join(directory, "models/eleven-v4.json"), JSON.stringify(file));
    return directory;
  };

  test("and requests with it reach the voice's id", async () => {
    const directory = written(({ fields, routes }) => {
      fields.voice.values.push("Anna (own)");
      routes[0]?.takes.voice.values.push("Anna (own)");
      if (routes[0]?.options.path) routes[0].options.path.map["Anna (own)"] = "qwerty123";
    });
    const opened = await open(loadCatalogue(directory));
    const entry = (await opened.request("GET", "/v1/models/eleven-v4")).body as { options: { voice: { values: string[] } } };
    expect(entry.options.voice.values).toContain("Anna (own)");
    const made = await opened.submit("eleven-v4", { prompt: "one", voice: "Anna (own)" });
    expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect((await requestOf(opened, made.id)).url).toContain("/text-to-speech/qwerty123?");
  });

  test("and a voice without an id is a fault of the file", () => {
    const directory = written(({ fields, routes }) => {
      fields.voice.values.push("Anna");
      routes[0]?.takes.voice.values.push("Anna");
    });
    const faults = () => loadCatalogue(directory);
    expect(faults).toThrow(CatalogueError);
    expect(faults).toThrow("#/routes/0/options/path/map: has no part for Anna");
  });
});
