// Tests of the input of `vidmodel-2.5`: one row for each rule of §2.6 and of the limits in §8, on both sides of each limit.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import { openStillHarness, type Row, type StillHarness } from "./harness.ts";
import { NO_LINKS, NO_TEXT, type Samples, samplesOf, URL_AT_MOST } from "./samples.ts";

let harness: StillHarness;
let media: Samples;
beforeAll(async () => {
  harness = await openStillHarness();
  media = samplesOf(harness);
});
afterAll(() => harness.close());

const MODEL = "vidmodel-2.5";
const no = (field: string, ...says: string[]) => [422, "invalid_input", `input.${field}`, ...says] as const;
/** A row of the input alone, with a `prompt` unless the row overrides it. */
const row = (name: string, input: JsonObject, to: Row["to"]): Row => ({
  name,
  body: { model: MODEL, input: { prompt: "a kite", ...input } },
  to,
});
const meets = ({ body, ...rest }: Row) => harness.meets({ ...rest, body });

const times = (n: number, url: string): Json[] => Array.from({ length: n }, () => url);
const CHOICES: [field: string, offered: Json[], not: Json[]][] = [
  ["resolution", ["480p", "720p", "1080p"], ["4K", "720P", "360p", "", 720, null]],
  ["aspect_ratio", ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"], ["2:1", "auto", "16/9", 1.78, null]],
  ["audio", [true, false], ["true", 1, 0, null]],
  ["duration", [4, 5, 29, 30], [3, 31, 0, -4, 4.5, "5", null, true]],
];

const ROWS: Row[] = [
  { name: "prompt: missing", body: { model: MODEL, input: {} }, to: no("prompt", "missing") },
  row("prompt: empty", { prompt: "" }, no("prompt", "1 to 30000")),
  row("prompt: 1 character", { prompt: "x" }, 202),
  row("prompt: 30000 characters", { prompt: "x".repeat(30_000) }, 202),
  row("prompt: 30001 characters", { prompt: "x".repeat(30_001) }, no("prompt", "30000")),
  row("prompt: 30000 characters of two code units", { prompt: "😀".repeat(30_000) }, 202),
  row("prompt: 30001 characters of two code units", { prompt: "😀".repeat(30_001) }, no("prompt", "30000")),
  row("prompt: half a surrogate pair", { prompt: "\ud83d" }, no("prompt")),
  ...NO_TEXT.map((value) => row(`prompt: ${JSON.stringify(value)}`, { prompt: value as Json }, no("prompt"))),
  ...CHOICES.flatMap(([field, offered, not]) => [
    ...offered.map((value) => row(`${field}: ${value}`, { [field]: value }, 202)),
    ...not.map((value) => row(`${field}: ${JSON.stringify(value)}`, { [field]: value }, no(field))),
  ]),
  ...["negative_prompt", "audio_url", "quality", "seed", "fps", "Prompt", "constructor", "toString"].map((field) =>
    row(`unknown field: ${field}`, { [field]: "x" }, no(field)),
  ),
];
test.each(ROWS)("§2.6 validates $name", meets);

/** Rows with media. The simulator's address is known only after it has started. */
type MediaRow = [name: string, input: (of: Samples) => JsonObject, to: Row["to"]];

const COMBINATIONS: MediaRow[] = [
  ["image_url alone", (of) => ({ image_url: of.picture }), 202],
  ["end_image_url with image_url", (of) => ({ image_url: of.picture, end_image_url: of.picture }), 202],
  ["end_image_url alone", (of) => ({ end_image_url: of.picture }), no("end_image_url", "image_url")],
  ["image_url with image_urls", (of) => ({ image_url: of.picture, image_urls: [of.picture] }), no("image_url", "image_urls")],
  ["image_url with video_urls", (of) => ({ image_url: of.picture, video_urls: [of.clip(4)] }), no("image_url", "video_urls")],
  ["image_url with audio_urls", (of) => ({ image_url: of.picture, audio_urls: [of.voice] }), no("image_url", "audio_urls")],
  [
    "both frames with reference media",
    (of) => ({ image_url: of.picture, end_image_url: of.picture, image_urls: [of.picture] }),
    no("image_url", "image_urls"),
  ],
  ["video_url with duration", (of) => ({ video_url: of.clip(4), duration: 5 }), no("video_url", "duration")],
  ["all reference media", (of) => ({ image_urls: [of.picture], video_urls: [of.clip(1)], audio_urls: [of.voice] }), 202],
];
const LENGTHS: MediaRow[] = [
  ["video_url: 4 s", (of) => ({ video_url: of.clip(4) }), 202],
  ["video_url: 3.9 s", (of) => ({ video_url: of.clip(3.9) }), 202],
  ["video_url: 3.8 s", (of) => ({ video_url: of.clip(3.8) }), no("video_url", "3.8", "4 to 30 s")],
  ["video_url: 30 s", (of) => ({ video_url: of.clip(30) }), 202],
  ["video_url: 30.1 s", (of) => ({ video_url: of.clip(30.1) }), 202],
  ["video_url: 30.2 s", (of) => ({ video_url: of.clip(30.2) }), no("video_url", "30.2", "4 to 30 s")],
  ["video_urls: one of 30 s", (of) => ({ video_urls: [of.clip(30)] }), 202],
  ["video_urls: one of 30.1 s", (of) => ({ video_urls: [of.clip(30.1)] }), 202],
  ["video_urls: one of 30.2 s", (of) => ({ video_urls: [of.clip(30.2)] }), no("video_urls", "30 s")],
  ["video_urls: 30 s in all", (of) => ({ video_urls: [of.clip(10), of.clip(20)] }), 202],
  ["video_urls: 30.1 s in all", (of) => ({ video_urls: [of.clip(10), of.clip(20.1)] }), 202],
  [
    "video_urls: 30.2 s in all",
    (of) => ({ video_urls: [of.clip(10), of.clip(20.2)] }),
    no("video_urls", "30.2", "in all", "30 s"),
  ],
  ["audio_urls: 30 s in all", (of) => ({ audio_urls: [of.sound(10), of.sound(20)] }), 202],
  ["audio_urls: 30.1 s in all", (of) => ({ audio_urls: [of.sound(10), of.sound(20.1)] }), 202],
  ["audio_urls: 30.2 s in all", (of) => ({ audio_urls: [of.sound(10), of.sound(20.2)] }), no("audio_urls", "30 s")],
];
const COUNTS: MediaRow[] = (
  [
    ["image_urls", 30, (of) => of.picture],
    ["video_urls", 10, (of) => of.clip(1)],
    ["audio_urls", 10, (of) => of.voice],
  ] as [string, number, (of: Samples) => string][]
).flatMap(([field, most, one]): MediaRow[] => [
  [`${field}: 1 item`, (of) => ({ [field]: [one(of)] }), 202],
  [`${field}: ${most} items`, (of) => ({ [field]: times(most, one(of)) }), 202],
  [`${field}: ${most + 1} items`, (of) => ({ [field]: times(most + 1, one(of)) }), no(field, `at most ${most}`)],
  [`${field}: no item`, () => ({ [field]: [] }), no(field, `1 to ${most}`)],
  [`${field}: a text`, (of) => ({ [field]: one(of) }), no(field, "list")],
  [`${field}: null`, () => ({ [field]: null }), no(field)],
]);
/** Every field of links, as the path of its first link. */
const LINK_FIELDS = ["image_url", "end_image_url", "video_url", "image_urls[0]", "video_urls[0]", "audio_urls[0]"];
const at = (path: string, url: unknown, of: Samples): JsonObject => {
  const name = path.replace("[0]", "");
  const needed = name === "end_image_url" ? { image_url: of.picture } : {};
  return { ...needed, [name]: (name === path ? url : [url]) as Json };
};
const ADDRESSES: MediaRow[] = LINK_FIELDS.flatMap((path): MediaRow[] => [
  ...NO_LINKS.map(([what, url, says]): MediaRow => [`${path}: ${what}`, (of) => at(path, url, of), no(path, says)]),
  [`${path}: a missing file`, (of) => at(path, `${of.picture.split("/samples")[0]}/nowhere.png`, of), no(path)],
  [`${path}: a page`, (of) => at(path, `${of.picture.split("/samples")[0]}/healthz`, of), no(path)],
]);
const LONG: MediaRow[] = ["image_url", "end_image_url", "image_urls[0]"].flatMap((path): MediaRow[] => [
  [`${path}: ${URL_AT_MOST} characters`, (of) => at(path, of.long(URL_AT_MOST), of), 202],
  [`${path}: ${URL_AT_MOST + 1} characters`, (of) => at(path, of.long(URL_AT_MOST + 1), of), no(path, String(URL_AT_MOST))],
]);
const KINDS: MediaRow[] = [
  ["image_url: a clip", (of) => ({ image_url: of.clip(4) }), no("image_url")],
  ["video_url: an image", (of) => ({ video_url: of.picture }), no("video_url")],
  ["video_urls: the second is sound", (of) => ({ video_urls: [of.clip(4), of.voice] }), no("video_urls[1]")],
  ["audio_urls: an image", (of) => ({ audio_urls: [of.picture] }), no("audio_urls[0]")],
];

test.each([...COMBINATIONS, ...LENGTHS, ...COUNTS, ...ADDRESSES, ...LONG, ...KINDS])("§2.6 validates %s", (name, input, to) =>
  meets(row(name, input(media), to)),
);

describe("the quote of a request (§2.6, §2.8)", () => {
  const PRICES: [what: string, input: (of: Samples) => JsonObject, quoted: number][] = [
    ["is for 5 s at 720p by default", () => ({}), 1],
    ["is for the requested duration", () => ({ duration: 30, resolution: "480p" }), 3],
    ["is for the length of the clip for an edit", (of) => ({ video_url: of.clip(6), resolution: "480p" }), 0.6],
    ["includes reference clips at the video-input rate", (of) => ({ video_urls: [of.clip(10)], resolution: "480p" }), 1.1],
    [
      "includes nothing for reference images and sound",
      (of) => ({ image_urls: [of.picture], audio_urls: [of.voice], resolution: "480p" }),
      0.5,
    ],
  ];
  test.each(PRICES)("%s", async (_what, input, quoted) => {
    const body = { model: MODEL, input: { prompt: "x", ...input(media) } };
    const answered = await harness.request("POST", "/v1/generations", { body, key: harness.rich.key });
    expect(answered.body).toMatchObject({ status: "queued", quoted_usd: quoted });
  });
});
