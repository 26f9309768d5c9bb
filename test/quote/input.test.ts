// Input validation: both sides of every limit of §2.6, §2.7, §2.8 and §8, and the message of each rejection.
import { describe, expect, test } from "bun:test";
import { answerOf, check, shipped } from "./inputs.ts";

const URL_A = "https://media.example/a.png";
const URL_B = "https://media.example/b.png";
const times = (count: number, url = URL_A) => Array.from({ length: count }, () => url);
const urlOf = (length: number) => `https://m.example/${"a".repeat(length - 18)}`;

type Row = [model: string, input: Record<string, unknown>, answer: string];
const ok = "accepted";

/** Runs rows: `accepted`, or the beginning of the error message. A required prompt is added if the row has none. */
const rows = (title: string, table: Row[]) =>
  describe(title, () => {
    for (const [modelId, input, answer] of table) {
      const name = JSON.stringify(input);
      test(`${modelId} ${name.length > 90 ? `${name.slice(0, 90)}…` : name} → ${answer === ok ? ok : answer.slice(0, 60)}`, () => {
        const model = shipped(modelId);
        const sent = model.fields.prompt?.required && !("prompt" in input) ? { prompt: "a fox", ...input } : input;
        const said = answerOf(() => check(model, sent));
        if (answer === ok) expect(said).toBe(ok);
        else expect(said).toStartWith(`invalid_input ${answer}`);
      });
    }
  });

const extended = (table: [input: Record<string, unknown>, answer: string][]): Row[] =>
  table.map(([input, answer]) => ["vidmodel-2.5", input, answer]);

rows("prompt of 1 to 30000 code points:", [
  ...["vidmodel-2.5", "vidmodel-2.0", "sim-speech-1"].flatMap((model): Row[] => [
    [model, { prompt: "" }, "input.prompt: must not be empty; write 1 to 30000 characters"],
    [model, { prompt: "x" }, ok],
    [model, { prompt: "x".repeat(30_000) }, ok],
    [model, { prompt: "x".repeat(30_001) }, "input.prompt: 30001 characters are too many; at most 30000"],
    [model, { prompt: "🦊".repeat(30_000) }, ok],
    [model, { prompt: "🦊".repeat(30_001) }, "input.prompt: 30001 characters are too many; at most 30000"],
    [model, { prompt: "a\ud800b" }, "input.prompt: contains an unpaired surrogate"],
    [model, { prompt: null }, "input.prompt: null is not a value; omit the field"],
    [model, { prompt: 5 }, "input.prompt: must be text, not a number"],
    [model, { prompt: ["a"] }, "input.prompt: must be text, not a list"],
    [model, { prompt: {} }, "input.prompt: must be text, not an object"],
    [model, { prompt: true }, "input.prompt: must be text, not true or false"],
  ]),
  ["sim-upscale-1", { image_url: URL_A }, ok],
  [
    "sim-upscale-1",
    { image_url: URL_A, prompt: "x" },
    "input.prompt: not taken by sim-upscale-1; it takes image_url, resolution",
  ],
  ["sim-lipsync-1", { image_url: URL_A, audio_url: URL_B }, ok],
  ["sim-lipsync-1", { image_url: URL_A }, "input.audio_url: is missing; sim-lipsync-1 needs it"],
]);

test("rejects a request without its required prompt", () => {
  for (const modelId of ["vidmodel-2.5", "vidmodel-2.0", "sim-image-1", "sim-speech-1"])
    expect(answerOf(() => check(shipped(modelId), {}))).toBe(`invalid_input input.prompt: is missing; ${modelId} needs it`);
});

rows("negative_prompt of at most 5000 code points, for models that accept it:", [
  ["sim-image-1", { negative_prompt: "" }, ok],
  ["sim-image-1", { negative_prompt: "x".repeat(5_000) }, ok],
  ["sim-image-1", { negative_prompt: "é".repeat(5_001) }, "input.negative_prompt: 5001 characters are too many; at most 5000"],
  ["vidmodel-2.0", { negative_prompt: "x" }, "input.negative_prompt: not taken by vidmodel-2.0; it takes prompt,"],
  ["vidmodel-2.5", { negative_prompt: "x" }, "input.negative_prompt: not a known field; it takes prompt,"],
]);

rows("resolution:", [
  ...["480p", "720p", "1080p"].map((resolution): Row => ["vidmodel-2.5", { resolution }, ok]),
  ...["480p", "720p", "1080p", "4K"].map((resolution): Row => ["vidmodel-2.0", { resolution }, ok]),
  ...["480p", "720p"].flatMap((resolution): Row[] => [
    ["vidmodel-2.0-fast", { resolution }, ok],
    ["vidmodel-2.0-mini", { resolution }, ok],
  ]),
  ["vidmodel-2.5", { resolution: "4K" }, "input.resolution: 4K is not offered by vidmodel-2.5; choose 480p, 720p or 1080p"],
  ["vidmodel-2.0", { resolution: "4k" }, "input.resolution: 4k is not offered by vidmodel-2.0; choose 480p, 720p, 1080p or 4K"],
  [
    "vidmodel-2.0-fast",
    { resolution: "1080p" },
    "input.resolution: 1080p is not offered by vidmodel-2.0-fast; choose 480p or 720p",
  ],
  ["vidmodel-2.0-mini", { resolution: "4K" }, "input.resolution: 4K is not offered by vidmodel-2.0-mini; choose 480p or 720p"],
  ["vidmodel-2.0", { resolution: 720 }, "input.resolution: must be 480p, 720p, 1080p or 4K, not a number"],
  ["vidmodel-2.0", { resolution: "" }, 'input.resolution: "" is not offered'],
  ["vidmodel-2.0", { resolution: null }, "input.resolution: null is not a value; omit the field"],
]);

rows("aspect_ratio:", [
  ...["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"].flatMap((aspect_ratio): Row[] => [
    ["vidmodel-2.5", { aspect_ratio }, ok],
    ["vidmodel-2.0", { aspect_ratio }, ok],
  ]),
  ["vidmodel-2.5", { aspect_ratio: "2:1" }, "input.aspect_ratio: 2:1 is not offered by vidmodel-2.5; choose 16:9, 9:16, 1:1,"],
  ["sim-image-1", { aspect_ratio: "adaptive" }, "input.aspect_ratio: adaptive is not offered by sim-image-1"],
  ["sim-upscale-1", { image_url: URL_A, aspect_ratio: "1:1" }, "input.aspect_ratio: not taken by sim-upscale-1"],
]);

rows("duration:", [
  ["vidmodel-2.5", { duration: 3 }, "input.duration: 3 is not offered; choose 4 to 30"],
  ["vidmodel-2.5", { duration: 4 }, ok],
  ["vidmodel-2.5", { duration: 30 }, ok],
  ["vidmodel-2.5", { duration: 31 }, "input.duration: 31 is not offered; choose 4 to 30"],
  ...["vidmodel-2.0", "vidmodel-2.0-fast", "vidmodel-2.0-mini"].flatMap((model): Row[] => [
    [model, { duration: 3 }, "input.duration: 3 is not offered; choose 4 to 15"],
    [model, { duration: 4 }, ok],
    [model, { duration: 15 }, ok],
    [model, { duration: 16 }, "input.duration: 16 is not offered; choose 4 to 15"],
  ]),
  ["vidmodel-2.0", { duration: 20 }, "input.duration: 20 is not offered; choose 4 to 15"],
  ["vidmodel-2.0", { duration: JSON.parse("5.0") }, ok],
  ["vidmodel-2.0", { duration: 5.5 }, "input.duration: 5.5 is not a whole number; choose 4 to 15"],
  ["vidmodel-2.0", { duration: JSON.parse("1e999") }, "input.duration: Infinity is not a whole number; choose 4 to 15"],
  ["vidmodel-2.0", { duration: -0 }, "input.duration: 0 is not offered; choose 4 to 15"],
  ["vidmodel-2.0", { duration: "5" }, "input.duration: must be a whole number from 4 to 15, not text"],
  ["vidmodel-2.0", { duration: null }, "input.duration: null is not a value; omit the field"],
  ["sim-image-1", { duration: 5 }, "input.duration: not taken by sim-image-1"],
]);

rows("audio and quality:", [
  ["vidmodel-2.5", { audio: true }, ok],
  ["vidmodel-2.0", { audio: false }, ok],
  ["vidmodel-2.0", { audio: "true" }, "input.audio: must be false or true, not text"],
  ["vidmodel-2.0", { audio: 1 }, "input.audio: must be false or true, not a number"],
  ["sim-image-1", { audio: true }, "input.audio: not taken by sim-image-1"],
  ...["low", "medium", "high"].map((quality): Row => ["sim-image-1", { quality }, ok]),
  ["sim-image-1", { quality: "ultra" }, "input.quality: ultra is not offered by sim-image-1; choose low, medium or high"],
  ["vidmodel-2.0", { quality: "high" }, "input.quality: not taken by vidmodel-2.0"],
]);

rows("seed of 0 to 4294967295, for models that accept it:", [
  ["sim-image-1", { seed: 0 }, ok],
  ["sim-image-1", { seed: 4_294_967_295 }, ok],
  ["sim-image-1", { seed: -1 }, "input.seed: -1 is not offered; choose 0 to 4294967295"],
  ["sim-image-1", { seed: 4_294_967_296 }, "input.seed: 4294967296 is not offered; choose 0 to 4294967295"],
  ["sim-image-1", { seed: 1.5 }, "input.seed: 1.5 is not a whole number"],
  ["vidmodel-2.0", { seed: 1 }, "input.seed: not taken by vidmodel-2.0"],
  ["vidmodel-2.5", { seed: 1 }, "input.seed: not a known field"],
]);

rows("media URLs of at most 4096 code points:", [
  ["vidmodel-2.5", { image_url: urlOf(4_096) }, ok],
  ["vidmodel-2.5", { image_url: urlOf(4_097) }, "input.image_url: 4097 characters are too many; at most 4096"],
  ["vidmodel-2.0", { image_urls: [URL_A, urlOf(4_096)] }, ok],
  ["vidmodel-2.0", { image_urls: [URL_A, urlOf(4_097)] }, "input.image_urls[1]: 4097 characters are too many; at most 4096"],
  ["vidmodel-2.5", { video_url: urlOf(4_097) }, "input.video_url: 4097 characters are too many"],
  ["vidmodel-2.5", { video_urls: [urlOf(4_097)] }, "input.video_urls[0]: 4097 characters are too many"],
  ["vidmodel-2.5", { audio_urls: [urlOf(4_097)] }, "input.audio_urls[0]: 4097 characters are too many"],
  ["sim-lipsync-1", { image_url: URL_A, audio_url: urlOf(4_097) }, "input.audio_url: 4097 characters are too many"],
  ["vidmodel-2.0", { image_url: [URL_A] }, "input.image_url: must be a URL, not a list"],
  ["vidmodel-2.0", { image_url: 5 }, "input.image_url: must be a URL, not a number"],
  ["vidmodel-2.0", { image_url: null }, "input.image_url: null is not a value; omit the field"],
  ["vidmodel-2.0", { image_url: "" }, "input.image_url: must not be empty; omit the field"],
  ["vidmodel-2.0", { image_urls: URL_A }, "input.image_urls: must be a list of 1 to 9 URLs, not text"],
  ["vidmodel-2.0", { image_urls: { 0: URL_A } }, "input.image_urls: must be a list of 1 to 9 URLs, not an object"],
  ["vidmodel-2.0", { image_urls: [URL_A, null] }, "input.image_urls[1]: must be a URL, not null"],
  ["vidmodel-2.0", { image_urls: [[URL_A]] }, "input.image_urls[0]: must be a URL, not a list"],
]);

rows("number of URLs in a list:", [
  ["vidmodel-2.5", { image_urls: [] }, "input.image_urls: must contain at least one URL"],
  ["vidmodel-2.5", { image_urls: times(1) }, ok],
  ["vidmodel-2.5", { image_urls: times(30) }, ok],
  ["vidmodel-2.5", { image_urls: times(31) }, "input.image_urls: 31 URLs are too many; at most 30"],
  ["vidmodel-2.5", { video_urls: [] }, "input.video_urls: must contain at least one URL"],
  ["vidmodel-2.5", { video_urls: times(10) }, ok],
  ["vidmodel-2.5", { video_urls: times(11) }, "input.video_urls: 11 URLs are too many; at most 10"],
  ["vidmodel-2.5", { audio_urls: [] }, "input.audio_urls: must contain at least one URL"],
  ["vidmodel-2.5", { audio_urls: times(10) }, ok],
  ["vidmodel-2.5", { audio_urls: times(11) }, "input.audio_urls: 11 URLs are too many; at most 10"],
  ["vidmodel-2.0", { image_urls: times(9) }, ok],
  ["vidmodel-2.0", { image_urls: times(10) }, "input.image_urls: 10 URLs are too many; at most 9"],
  ["vidmodel-2.0-fast", { image_urls: times(9) }, ok],
  ["vidmodel-2.0-mini", { image_urls: times(10) }, "input.image_urls: 10 URLs are too many; at most 9"],
]);

rows(
  "combinations of the extended input:",
  extended([
    [{ image_url: URL_A }, ok],
    [{ image_url: URL_A, end_image_url: URL_B }, ok],
    [{ end_image_url: URL_B }, "input.end_image_url: needs input.image_url beside it"],
    [{ image_url: URL_A, image_urls: [URL_B] }, "input.image_url: cannot be combined with input.image_urls"],
    [{ image_url: URL_A, video_urls: [URL_B] }, "input.image_url: cannot be combined with input.video_urls"],
    [{ image_url: URL_A, audio_urls: [URL_B] }, "input.image_url: cannot be combined with input.audio_urls"],
    [{ image_url: URL_A, video_url: URL_B }, "input.image_url: cannot be combined with input.video_url"],
    [{ image_urls: [URL_A], video_urls: [URL_A], audio_urls: [URL_A] }, ok],
    [{ video_url: URL_A }, ok],
    [{ video_url: URL_A, image_urls: [URL_B] }, ok],
    [{ video_url: URL_A, duration: 5 }, "input.video_url: cannot be combined with input.duration"],
    [{ audio_url: URL_A }, "input.audio_url: not a known field"],
  ]),
);

rows("combinations of the common input:", [
  ["vidmodel-2.0", { image_url: URL_A, end_image_url: URL_B }, ok],
  ["vidmodel-2.0", { end_image_url: URL_B }, "input.end_image_url: needs input.image_url beside it"],
  ["vidmodel-2.0", { image_url: URL_A, image_urls: [URL_B] }, "input.image_url: cannot be combined with input.image_urls"],
  ["vidmodel-2.0", { end_image_url: URL_A, image_urls: [URL_B] }, "input.end_image_url: needs input.image_url"],
  ["vidmodel-2.0", { image_urls: [URL_A], video_url: URL_B, duration: 5 }, ok],
  ["vidmodel-2.0", { image_url: URL_A, video_url: URL_B }, "input.image_url: cannot be combined with input.video_url"],
  ["vidmodel-2.0", { video_urls: [URL_A] }, "input.video_urls: not a known field"],
  ["sim-image-1", { image_url: URL_A }, "input.image_url: not taken by sim-image-1"],
  ["sim-edit-1", { image_url: URL_A, image_urls: times(4) }, ok],
  ["sim-edit-1", { image_url: URL_A, image_urls: times(5) }, "input.image_urls: 5 URLs are too many; at most 4"],
  ["sim-edit-1", {}, "input.image_url: is missing; sim-edit-1 needs it"],
]);

rows("unknown field names:", [
  [
    "vidmodel-2.0",
    { colour: "red" },
    "input.colour: not a known field; it takes prompt, image_url, end_image_url, image_urls, video_url,",
  ],
  ["vidmodel-2.0", JSON.parse('{"__proto__": {"prompt": "a fox"}}'), "input.__proto__: not a known field"],
  ["vidmodel-2.0", JSON.parse('{"__proto__": 1, "prompt": "a fox"}'), "input.__proto__: not a known field"],
  ["vidmodel-2.0", { constructor: 1 }, "input.constructor: not a known field"],
  ["vidmodel-2.0", { toString: "x" }, "input.toString: not a known field"],
  ["vidmodel-2.0", { hasOwnProperty: null }, "input.hasOwnProperty: not a known field"],
  ["vidmodel-2.0", { "": 1 }, 'input[""]: not a known field'],
  ["vidmodel-2.0", { "a b\n": 1 }, 'input["a b\\n"]: not a known field'],
  ["vidmodel-2.0", { ["x".repeat(5_000)]: 1 }, `input["${"x".repeat(40)}…"]: not a known field`],
  ["vidmodel-2.0", { Prompt: "a fox" }, "input.Prompt: not a known field"],
]);

test("ignores inherited members of an input", () => {
  expect(answerOf(() => check(shipped("sim-speech-1"), Object.create({ prompt: "a fox" })))).toBe(
    "invalid_input input.prompt: is missing; sim-speech-1 needs it",
  );
});

test("reports the same fault of several in any order of members", () => {
  const input = { duration: 99, zebra: 1, image_url: "ftp://x", apple: 1, prompt: "" };
  const first = "invalid_input input.apple: not a known field";
  for (const order of [Object.entries(input), Object.entries(input).reverse()])
    expect(answerOf(() => check(shipped("vidmodel-2.0"), Object.fromEntries(order)))).toStartWith(first);
  const { apple: _, zebra: __, ...known } = input;
  expect(answerOf(() => check(shipped("vidmodel-2.0"), known))).toStartWith("invalid_input input.prompt: must not be empty");
  expect(answerOf(() => check(shipped("vidmodel-2.0"), { ...known, prompt: "x" }))).toStartWith(
    "invalid_input input.image_url: ",
  );
});

test("fills absent fields with defaults, separately from the raw input", () => {
  const { raw, filled } = check(shipped("vidmodel-2.5"), { prompt: "a fox", resolution: "480p" });
  expect(raw).toEqual({ prompt: "a fox", resolution: "480p" });
  expect(filled).toEqual({ prompt: "a fox", resolution: "480p", aspect_ratio: "16:9", duration: 5, audio: false });
});

test("fills no default duration for an edit of a clip", () => {
  const { filled } = check(shipped("vidmodel-2.5"), { prompt: "snow", video_url: URL_A });
  expect(filled).toEqual({ prompt: "snow", video_url: URL_A, resolution: "720p", aspect_ratio: "16:9", audio: false });
  expect(check(shipped("vidmodel-2.0"), { prompt: "snow", video_url: URL_A }).filled.duration).toBe(5);
});

test("lists media links in validation order with the kind of their field", () => {
  const input = { audio_urls: [URL_B], prompt: "x", video_urls: [URL_A, URL_B], image_urls: [URL_A] };
  expect(check(shipped("vidmodel-2.5"), input).links).toEqual([
    { field: "input.image_urls[0]", url: URL_A, kind: "image" },
    { field: "input.video_urls[0]", url: URL_A, kind: "video" },
    { field: "input.video_urls[1]", url: URL_B, kind: "video" },
    { field: "input.audio_urls[0]", url: URL_B, kind: "audio" },
  ]);
});

test("error messages never contain the prompt or a media URL", () => {
  const secret = "canary-7f3a";
  const inputs: [string, Record<string, unknown>][] = [
    ["vidmodel-2.0", { prompt: secret.repeat(3_000) }],
    ["vidmodel-2.0", { prompt: "x", image_url: `http://m.example/${secret}` }],
    ["vidmodel-2.0", { prompt: "x", image_url: `https://${secret}:pw@m.example/` }],
    ["vidmodel-2.0", { prompt: "x", image_urls: [`not a url ${secret}`] }],
    ["sim-image-1", { prompt: "x", negative_prompt: secret.repeat(500) }],
  ];
  for (const [modelId, input] of inputs) {
    const said = answerOf(() => check(shipped(modelId), input));
    expect(said).toStartWith("invalid_input ");
    expect(said).not.toContain(secret);
  }
});
