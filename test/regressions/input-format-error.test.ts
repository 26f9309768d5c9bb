// API errors about input media name the detected and the accepted formats.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, openHarness } from "../harness.ts";
import { mp3, mp4, png } from "../media/made.ts";

const FILES: Record<string, () => Promise<Uint8Array> | Uint8Array> = {
  picture: () => png(),
  clip: () => mp4({ seconds: 5 }),
  sound: () => mp3(5),
  page: () => new TextEncoder().encode("<!doctype html><title>Sign in</title><p>You have to sign in to see this file.</p>"),
  json: () =>
    new TextEncoder().encode(JSON.stringify({ error: "no such file, and some more words about it so that it is long enough" })),
};
let harness: Harness;
let server: Bun.Server<undefined>;
beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async ({ url }) => new Response(new Uint8Array((await FILES[new URL(url).pathname.slice(1)]?.()) ?? [])),
  });
  harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.url.host }, factor: 0 });
});
afterAll(async () => {
  await harness.close();
  await server.stop(true);
});

const PICTURE = "a picture (PNG, JPEG, WebP or GIF)";
const CLIP = "a clip (MP4, QuickTime, WebM or Matroska)";
const SOUND = "sound (MP3, WAV, FLAC, Ogg, AAC, M4A or WebM)";
const ROWS: readonly [field: string, file: string, is: string, wanted: string][] = [
  ["image_url", "clip", "video/mp4", PICTURE],
  ["image_url", "page", "a web page", PICTURE],
  ["video_urls", "picture", "image/png", CLIP],
  ["video_urls", "sound", "sound without pictures", CLIP],
  ["video_urls", "json", "JSON", CLIP],
  ["audio_urls", "picture", "image/png", SOUND],
  ["audio_urls", "clip", "a clip with pictures", SOUND],
  ["audio_urls", "page", "a web page", SOUND],
];
for (const [field, file, is, wanted] of ROWS)
  test(`rejects ${is} as ${field} with a message that names the detected and the accepted formats`, async () => {
    const url = `${server.url.origin}/${file}`;
    const media: JsonObject = field === "image_url" ? { [field]: url } : { [field]: [url] };
    const body = { model: "vidmodel-2.5", input: { prompt: "a kite", duration: 5, ...media } };
    const answered = await harness.request("POST", "/v1/generations", { body });
    expect(answered.status).toBe(422);
    const { code, message } = answered.body.error as { code: string; message: string };
    expect(code).toBe("invalid_input");
    expect(message).toContain(`input.${field}`);
    expect(message).toContain(`it is ${is}, not ${wanted}`);
  });
