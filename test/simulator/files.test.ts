// Tests that the simulator's result files have the requested properties, as measured from the files themselves.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { BufferSource, Input, MP3, MP4, WAVE } from "mediabunny";
import { type Bed, type Body, FILE_TYPES, openBed } from "./fixture.ts";

let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterAll(() => bed.simulator.stop());

const bring = async (url: string) => (await fetch(url)).bytes();
const measureClip = async (bytes: Uint8Array) => {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  return {
    width: video?.displayWidth,
    height: video?.displayHeight,
    ms: Math.round((await input.computeDuration()) * 1000),
    videoMs: Math.round(((await video?.computeDuration()) ?? 0) * 1000),
    codec: video?.codec,
    sound: audio?.codec ?? null,
    soundMs: audio ? Math.round((await audio.computeDuration()) * 1000) : null,
  };
};
const sample = (name: string) => `${bed.simulator.url}/samples/${name}`;

const CLIPS: [Body, { width: number; height: number; ms: number; sound: boolean }][] = [
  [
    { resolution: "480p", duration: "4", aspect_ratio: "16:9", generate_audio: true },
    { width: 864, height: 480, ms: 4000, sound: true },
  ],
  [
    { resolution: "480p", duration: 5, aspect_ratio: "9:16" },
    { width: 480, height: 864, ms: 5000, sound: false },
  ],
  [
    { resolution: "720p", duration: 7, aspect_ratio: "4:3", audio: true },
    { width: 960, height: 720, ms: 7000, sound: true },
  ],
  [
    { resolution: "720p", duration: "15", aspect_ratio: "1:1", generate_audio: false },
    { width: 720, height: 720, ms: 15_000, sound: false },
  ],
  [
    { resolution: "1080p", duration: 5, aspect_ratio: "21:9" },
    { width: 2528, height: 1080, ms: 5000, sound: false },
  ],
  [
    { resolution: "1080p", duration: 30, aspect_ratio: "3:4" },
    { width: 1080, height: 1440, ms: 30_000, sound: false },
  ],
  [
    { resolution: "4k", duration: 4, aspect_ratio: "16:9", generate_audio: true },
    { width: 3840, height: 2160, ms: 4000, sound: true },
  ],
  [
    { resolution: "4K", duration: 4, aspect_ratio: "9:16" },
    { width: 2160, height: 3840, ms: 4000, sound: false },
  ],
  [{ aspect_ratio: "auto" }, { width: 1280, height: 720, ms: 5000, sound: false }],
];

test.each(CLIPS)("delivers a clip with exactly the size, length and sound of %p", async (input, { width, height, ms, sound }) => {
  for (const provider of ["fal", "replicate"] as const) {
    const [url = ""] = await bed.files(provider, "maker/video-model", { prompt: "p", ...input });
    const measured = await measureClip(await bring(url));
    expect(measured).toEqual({
      width,
      height,
      ms,
      videoMs: ms,
      codec: "avc",
      sound: sound ? "aac" : null,
      soundMs: sound ? ms : null,
    });
  }
});

test.each(["png", "jpeg", "webp"] as const)("delivers several different pictures as %s in the requested size", async (format) => {
  const ask = { prompt: "p", output_format: format, aspect_ratio: "16:9", num_images: 3 };
  const urls = await bed.files("fal", "maker/picture", ask);
  expect(urls).toHaveLength(3);
  const files = await Promise.all(urls.map(bring));
  for (const bytes of files) expect(await new Bun.Image(bytes).metadata()).toMatchObject({ format, width: 1376, height: 768 });
  expect(new Set(files.map((bytes) => createHash("sha256").update(bytes).digest("hex"))).size).toBe(3);
});

test.each([
  [{ resolution: "1K" }, 1024, 1024],
  [{ resolution: "2K", aspect_ratio: "1:1" }, 2048, 2048],
  [{ resolution: "4K", aspect_ratio: "9:16" }, 3072, 5472],
  [{ resolution: "720p", aspect_ratio: "16:9" }, 1280, 720],
  [{ image_size: "landscape_4_3" }, 1024, 768],
  [{ image_size: { width: 640, height: 360 } }, 640, 360],
  [{ size: "1536x1024" }, 1536, 1024],
])("delivers a picture for %p with %d x %d pixels", async (input, width, height) => {
  const [url = ""] = await bed.files("replicate", "maker/picture", { prompt: "p", ...input });
  expect(await new Bun.Image(await bring(url)).metadata()).toMatchObject({ width, height });
});

test.each([
  [{ text: "x".repeat(40) }, "mp3", 2640],
  [{ text: "hello", output_format: "wav" }, "wav", 1000],
  [{ prompt: "a song", duration: 12 }, "mp3", 12_000],
  [{ prompt: "a song", duration: 3.5, output_format: "wav" }, "wav", 3500],
])("delivers sound for %p as %s with the expected length, up to a frame", async (input, format, ms) => {
  const [url = ""] = await bed.files("fal", "maker/speech", input);
  const bytes = await bring(url);
  expect(FILE_TYPES[format as "mp3" | "wav"](bytes)).toBe(true);
  const measuredMs = (await new Input({ source: new BufferSource(bytes), formats: [MP3, WAVE] }).computeDuration()) * 1000;
  expect(Math.abs(measuredMs - ms)).toBeLessThanOrEqual(format === "wav" ? 0.1 : 12);
});

test("takes the adaptive aspect ratio from a local input picture, and uses 16:9 if the picture cannot be read", async () => {
  const shape = async (image_url: string, aspect_ratio: string) => {
    const [url = ""] = await bed.files("fal", "maker/video", {
      prompt: "p",
      image_url,
      aspect_ratio,
      resolution: "720p",
      duration: 4,
    });
    const { width, height } = await measureClip(await bring(url));
    return [width, height];
  };
  expect(await shape(sample("picture.png?width=900&height=1600"), "adaptive")).toEqual([720, 1280]);
  expect(await shape(sample("picture.jpg?width=800&height=800"), "auto")).toEqual([720, 720]);
  expect(await shape(sample("nothing.png"), "auto")).toEqual([1280, 720]);
  expect(await shape("https://pictures.example/a.png", "adaptive")).toEqual([1280, 720]);
});

test("keeps length, size and sound of the input clip in an edit, and delivers 5 s if the clip cannot be read", async () => {
  const edit = async (video_url: string, input: Body = { video_url }) => {
    const [url = ""] = await bed.files("fal", "maker/video-edit-video", { prompt: "p", ...input });
    const { width, height, ms, sound } = await measureClip(await bring(url));
    return { width, height, ms, sound };
  };
  const clip = sample("clip.mp4?seconds=7.3&width=640&height=360&audio=1");
  expect(await edit(clip)).toEqual({ width: 640, height: 360, ms: 7300, sound: "aac" });
  expect(await edit(clip, { video_urls: [clip], duration: "auto", resolution: "480p" })).toMatchObject({
    width: 864,
    height: 480,
    ms: 7300,
  });
  expect(await edit(clip, { video_urls: [clip], duration: "5" })).toMatchObject({ width: 1280, height: 720, ms: 5000 });
  expect(await edit("https://clips.example/a.mp4")).toMatchObject({ ms: 5000 });
});

test("delivers a lip-sync clip with sound and the length of its voice input", async () => {
  const audio_url = sample("voice.wav?seconds=9");
  const [url = ""] = await bed.files("fal", "maker/lip-sync", { image_url: sample("picture.png"), audio_url });
  expect(await measureClip(await bring(url))).toMatchObject({ ms: 9000, sound: "aac" });
});

test("multiplies the size of the input picture by upscale_factor", async () => {
  const [url = ""] = await bed.files("fal", "maker/upscaler", {
    image_url: sample("picture.png?width=320&height=200"),
    upscale_factor: 4,
  });
  expect(await new Bun.Image(await bring(url)).metadata()).toMatchObject({ width: 1280, height: 800 });
});

test("delivers different bytes for equal requests, and the same bytes for the same URL", async () => {
  const [a = "", b = ""] = [
    ...(await bed.files("fal", "maker/video", { prompt: "p" })),
    ...(await bed.files("fal", "maker/video", { prompt: "p" })),
  ];
  expect(Bun.hash(await bring(a))).not.toBe(Bun.hash(await bring(b)));
  expect(Bun.hash(await bring(a))).toBe(Bun.hash(await bring(a)));
});

test.each(
  Object.entries({
    "clip-6s.mp4": "mp4",
    "picture.png": "png",
    "picture.jpg": "jpeg",
    "picture.webp": "webp",
    "voice.mp3": "mp3",
    "voice.wav": "wav",
  }),
)("serves sample %s as a valid %s, with range requests", async (name, type) => {
  const whole = await bring(sample(name));
  expect(FILE_TYPES[type as keyof typeof FILE_TYPES](whole)).toBe(true);
  const part = async (range: string) => fetch(sample(name), { headers: { range } });
  const middle = await part("bytes=10-19");
  expect([middle.status, middle.headers.get("content-range")]).toEqual([206, `bytes 10-19/${whole.length}`]);
  expect(await middle.bytes()).toEqual(whole.slice(10, 20));
  expect(await (await part("bytes=-5")).bytes()).toEqual(whole.slice(-5));
  expect(await (await part(`bytes=${whole.length - 3}-`)).bytes()).toEqual(whole.slice(-3));
  expect((await part(`bytes=${whole.length}-`)).status).toBe(416);
  const head = await fetch(sample(name), { method: "HEAD" });
  expect([head.headers.get("content-length"), await head.text()]).toEqual([String(whole.length), ""]);
});

test("serves a sample clip with the requested size, length and sound", async () => {
  const measured = await measureClip(await bring(sample("clip.mp4?seconds=6&width=320&height=180&audio=1")));
  expect(measured).toMatchObject({ width: 320, height: 180, ms: 6000, sound: "aac" });
  expect(await measureClip(await bring(sample("clip-6s.mp4")))).toMatchObject({
    width: 1280,
    height: 720,
    ms: 6000,
    sound: null,
  });
});

test.each(["picture.mp4", "clip.png", "clip.mp4?seconds=601", "clip.mp4?width=0", "voice.mp3?seconds=x"])(
  "rejects sample %s",
  async (name) => {
    expect((await fetch(sample(name))).ok).toBe(false);
  },
);
