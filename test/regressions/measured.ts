// Input files that were measured wrongly, and submissions of them from servers with and without range requests.
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output, WebMOutputFormat } from "mediabunny";
import type { JsonObject } from "../../src/domain/types.ts";
import { oddFile } from "../../src/simulator/prebuilt-files.ts";
import { type Harness, openHarness } from "../harness.ts";

/** An MPEG-1 layer III file of 44.1 kHz without a file header: runs of frames, each with a bit rate in kbit/s and a count. */
export const mp3Of = (...parts: (readonly [kbps: number, frames: number])[]): Uint8Array => {
  const RATES = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
  return Buffer.concat(
    parts.flatMap(([kbps, frames]) => {
      const frame = Buffer.alloc(Math.floor((144_000 * kbps) / 44_100));
      frame.set([0xff, 0xfb, RATES.indexOf(kbps) << 4, 0xc4]);
      return Array<Buffer>(frames).fill(frame);
    }),
  );
};
export const FRAME_MS = (1152 / 44_100) * 1000;

/** A clip of 25 frames a second whose timestamps begin at `fromS`; each frame takes at least `pictureBytes`. */
export const clipFrom = async (
  container: "mp4" | "fragments" | "webm",
  fromS: number,
  seconds: number,
  pictureBytes = 0,
): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const format =
    container === "webm"
      ? new WebMOutputFormat()
      : new Mp4OutputFormat({ fastStart: container === "mp4" ? "in-memory" : "fragmented" });
  const output = new Output({ format, target });
  const video = new EncodedVideoPacketSource("vp9");
  output.addVideoTrack(video);
  await output.start();
  const picture = Buffer.concat([oddFile("vp9").subarray(0, 152), Buffer.alloc(pictureBytes)]);
  const decoderConfig = { codec: "vp09.00.31.08", codedWidth: 1280, codedHeight: 720 };
  for (let n = 0; n < seconds * 25; n++)
    await video.add(new EncodedPacket(picture, n % 25 === 0 ? "key" : "delta", fromS + n / 25, 1 / 25), { decoderConfig });
  await output.finalize();
  if (target.buffer === null) throw new Error("the clip was finalized without bytes");
  return new Uint8Array(target.buffer);
};

type Quoted = { status: number; quoted: number; message: string };

/** Submits a clip or sound to vidmodel-2.5, from a server with range requests and from one without. @returns both responses */
export const submitBoth = async (
  field: "video_urls" | "audio_urls",
  bytes: Uint8Array,
): Promise<[withRanges: Quoted, without: Quoted]> => {
  const answer = (request: Request): Response => {
    const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
    if (!asked || request.url.endsWith("whole")) return new Response(new Uint8Array(bytes));
    const [from, to] = [Number(asked[1]), Math.min(bytes.length - 1, Number(asked[2]))];
    const headers = { "content-range": `bytes ${from}-${to}/${bytes.length}` };
    return new Response(new Uint8Array(bytes.subarray(from, to + 1)), { status: 206, headers });
  };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  const harness: Harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.url.host }, factor: 0 });
  const submit = async (path: string): Promise<Quoted> => {
    const input: JsonObject = { prompt: "a kite", duration: 5, [field]: [`${server.url.origin}/${path}`] };
    const { status, body } = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } });
    const error = body.error as { message: string } | null;
    return { status, quoted: Number(body.quoted_usd ?? 0), message: error?.message ?? "" };
  };
  try {
    return [await submit("ranges"), await submit("whole")];
  } finally {
    await harness.close();
    await server.stop(true);
  }
};
