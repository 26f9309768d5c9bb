// Real media that the fuzzer mutates: generated pictures, clips and sound of every kind, kept files, and small bombs.
import { Glob } from "bun";
import {
  AdtsOutputFormat,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MkvOutputFormat,
  MovOutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from "mediabunny";
import { createMediaFactory } from "../../src/simulator/media-factory.ts";
import { BOMBS, piecesOf } from "../bombs/all.ts";
import { sizeOf, slice } from "../bombs/bytes.ts";
import { bmp, jpeg, mp3, mp4, png, wav, webp } from "../media/made.ts";

export type MediaFile = {
  name: string;
  field: "image" | "video" | "audio";
  bytes: Uint8Array;
  /** Made to be expensive: the end of its child process is intended and no finding. */
  isBomb?: true;
  /** Bytes without information about kind, size and length; undefined if unknown. */
  payload?: readonly [start: number, end: number];
};

const SECONDS = 5;
const OPUS_HEAD = new Uint8Array([...Buffer.from("OpusHead"), 1, 1, 0x38, 1, 0x80, 0xbb, 0, 0, 0, 0, 0]);
/** A VP9 clip, or Opus or AAC sound; the packets are noise, because nothing here decodes them. */
const muxed = async (format: OutputFormat, has: { video?: "vp9"; audio?: "opus" | "aac" }): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const video = has.video && new EncodedVideoPacketSource(has.video);
  if (video) output.addVideoTrack(video, { frameRate: 25 });
  const sound = has.audio && new EncodedAudioPacketSource(has.audio);
  if (sound) output.addAudioTrack(sound);
  await output.start();
  const videoConfig = { codec: "vp09.00.10.08", codedWidth: 320, codedHeight: 176 };
  const soundConfig =
    has.audio === "opus"
      ? { codec: "opus", numberOfChannels: 1, sampleRate: 48_000, description: OPUS_HEAD }
      : { codec: "mp4a.40.2", numberOfChannels: 1, sampleRate: 48_000, description: Uint8Array.of(0x11, 0x88) };
  for (let frame = 0; frame < SECONDS * 25; frame += 1) {
    const packet = (bytes: Uint8Array) => new EncodedPacket(bytes, frame % 25 === 0 ? "key" : "delta", frame / 25, 1 / 25);
    await video?.add(packet(new Uint8Array(60)), { decoderConfig: videoConfig });
    await sound?.add(new EncodedPacket(Uint8Array.of(0xfc, 0xff, 0xfe), "key", frame / 50, 0.02), { decoderConfig: soundConfig });
  }
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
};

/** The range of the media in an MP4 with one `mdat`. */
const mdatOf = (bytes: Uint8Array): readonly [number, number] | undefined => {
  const at = Buffer.from(bytes).indexOf("mdat");
  if (at < 4) return undefined;
  const size = Buffer.from(bytes).readUInt32BE(at - 4);
  return size > 8 ? [at + 4, Math.min(bytes.length, at - 4 + size)] : undefined;
};

const clips = async (): Promise<MediaFile[]> => {
  const made = await Promise.all([
    mp4({ seconds: SECONDS }),
    mp4({ seconds: SECONDS, audio: true }),
    mp4({ seconds: SECONDS, audio: true, index: "end" }),
    mp4({ seconds: SECONDS, index: "fragments" }),
    muxed(new MovOutputFormat({ fastStart: "in-memory" }), { audio: "aac" }),
    muxed(new WebMOutputFormat(), { video: "vp9", audio: "opus" }),
    muxed(new MkvOutputFormat(), { video: "vp9" }),
  ]);
  const names = ["mp4", "mp4 with sound", "mp4, index at its end", "mp4 in fragments", "mov of sound", "webm", "matroska"];
  return made.map((bytes, n): MediaFile => {
    const payload = n < 3 ? mdatOf(bytes) : undefined;
    const field = n === 4 ? "audio" : "video";
    return { name: names[n] ?? "", field, bytes, ...(payload ? { payload } : {}) };
  });
};

const sounds = async (): Promise<MediaFile[]> => {
  const said = wav(SECONDS);
  return [
    { name: "wav", field: "audio", bytes: said, payload: [44, said.length] },
    { name: "mp3", field: "audio", bytes: mp3(SECONDS) },
    { name: "ogg of opus", field: "audio", bytes: await muxed(new OggOutputFormat(), { audio: "opus" }) },
    { name: "adts", field: "audio", bytes: await muxed(new AdtsOutputFormat(), { audio: "aac" }) },
  ];
};

const pictures = async (): Promise<MediaFile[]> => {
  const made: [string, Uint8Array][] = [
    ["png", await png(320, 240)],
    ["jpeg", await jpeg(320, 240)],
    ["webp", await webp(320, 240)],
    ["bmp", bmp(64, 48)],
  ];
  return made.map(([name, bytes]) => ({ name, field: "image", bytes }));
};

/** Files as the simulator delivers them, with real index, pictures and sound. */
const delivered = async (): Promise<MediaFile[]> => {
  const mediaFactory = createMediaFactory();
  const size = { width: 320, height: 176, ms: SECONDS * 1000 };
  const wishes = (["mp4", "png", "jpeg", "webp", "mp3", "wav"] as const).map(async (format): Promise<MediaFile> => {
    const field = format === "mp4" ? "video" : format === "mp3" || format === "wav" ? "audio" : "image";
    return { name: `delivered ${format}`, field, bytes: await mediaFactory.make({ format, ...size, sound: true }, 7, "fuzz") };
  });
  return Promise.all(wishes);
};

const KINDS: Readonly<Record<string, MediaFile["field"]>> = {
  ...Object.fromEntries(
    ["png", "jpg", "jpeg", "webp", "gif", "avif", "heic", "bmp", "tiff", "jxl", "svg"].map((one) => [one, "image"]),
  ),
  ...Object.fromEntries(["mp4", "mov", "webm", "mkv", "m4v", "3gp", "avi", "ts"].map((one) => [one, "video"])),
  ...Object.fromEntries(["mp3", "wav", "flac", "ogg", "opus", "aac", "m4a"].map((one) => [one, "audio"])),
};
/** The files of the corpus in the repository. */
const kept = async (): Promise<MediaFile[]> => {
  const root = `${import.meta.dir}/..`;
  const paths = [...new Glob("corpus/**/*").scanSync({ cwd: root, onlyFiles: true })].sort();
  const files = paths.map(async (path): Promise<MediaFile[]> => {
    const field = KINDS[path.split(".").at(-1) ?? ""];
    if (field === undefined || path.endsWith(".ts")) return [];
    return [{ name: path, field, bytes: await Bun.file(`${root}/${path}`).bytes() }];
  });
  return (await Promise.all(files)).flat();
};

const BOMB_BYTES = 600;
const bombs = (): MediaFile[] =>
  BOMBS.map(({ name, field }, index) => {
    const pieces = piecesOf({ index, bytes: BOMB_BYTES, isCut: false, hasRanges: false });
    return { name: `bomb ${name}`, field, isBomb: true, bytes: slice(pieces, 0, Math.min(sizeOf(pieces), 64 * 1024)) };
  });

/** All files; the same each time. */
export const mediaFiles = async (): Promise<MediaFile[]> => [
  ...(await clips()),
  ...(await sounds()),
  ...(await pictures()),
  ...(await delivered()),
  ...(await kept()),
  ...bombs(),
];
