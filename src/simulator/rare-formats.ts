// Result files in rare formats.
//
// Images and clips have the requested size and length if the format can be encoded here.
import { BufferSource, EncodedPacketSink, Input, WEBM } from "mediabunny";
import { makeClip, muxClip } from "./clip.ts";
import { hue } from "./picture.ts";
import { type OddName, oddFile } from "./prebuilt-files.ts";
import type { Size } from "./resolutions.ts";
import { makeWav } from "./sound.ts";

/** The requested properties, as far as the format supports them. */
type VideoRequest = Size & { ms: number; sound: boolean };
type Make = (wanted: VideoRequest, seed: number) => Uint8Array | Promise<Uint8Array>;

const text = (words: string) => new TextEncoder().encode(words);
const u16 = (n: number) => [n & 255, (n >> 8) & 255];
const u32 = (n: number) => [...u16(n), ...u16(n >>> 16)];
const join = (...parts: (Uint8Array | readonly number[])[]): Uint8Array =>
  new Uint8Array(Buffer.concat(parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part)))));

const [CLEAR, END, FIRST_FREE, MAX_CODES] = [256, 257, 258, 4094];

/** One colour in GIF's LZW compression: each code stands for a run that is one pixel longer than the previous one. */
const gifPixels = (count: number, colour: number): Uint8Array => {
  const bytes: number[] = [];
  let [held, heldBits, width] = [0, 0, 9];
  const put = (code: number) => {
    held |= code << heldBits;
    for (heldBits += width; heldBits >= 8; heldBits -= 8, held >>>= 8) bytes.push(held & 255);
  };
  for (let left = count; left > 0; ) {
    put(CLEAR);
    width = 9;
    for (let run = 1, free = FIRST_FREE; left > 0 && free < MAX_CODES; run++, free++) {
      const length = Math.min(run, left);
      put(length === 1 ? colour : FIRST_FREE + length - 2);
      left -= length;
      // The decoder adds the code of this run with the next one, so it is one code behind.
      if (free === 2 ** width && width < 12) width++;
    }
  }
  put(END);
  if (heldBits > 0) bytes.push(held & 255);
  return Uint8Array.from(bytes);
};

/** Blocks of at most 255 bytes, ended by an empty one. */
const gifBlocks = (bytes: Uint8Array): Uint8Array => {
  const parts: (Uint8Array | number[])[] = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const block = bytes.subarray(at, at + 255);
    parts.push([block.length], block);
  }
  return join(...parts, [0]);
};

/** @param frames of half a second each; one gives a still image */
const drawGif = ({ width, height }: Size, seed: number, frames: number): Uint8Array => {
  const palette = Uint8Array.from({ length: 768 }, (_, at) => hue(seed + Math.floor(at / 3))[at % 3] ?? 0);
  const pictures = Array.from({ length: frames }, (_, n) =>
    join(
      ...(frames > 1 ? [[0x21, 0xf9, 4, 0, ...u16(50), 0, 0]] : []),
      [0x2c, ...u16(0), ...u16(0), ...u16(width), ...u16(height), 0, 8],
      gifBlocks(gifPixels(width * height, n)),
    ),
  );
  const loop = frames > 1 ? join([0x21, 0xff, 11], text("NETSCAPE2.0"), [3, 1, 0, 0, 0]) : [];
  return join(text("GIF89a"), u16(width), u16(height), [0xf7, 0, 0], palette, loop, ...pictures, [0x3b]);
};

const drawBmp = ({ width, height }: Size, seed: number): Uint8Array => {
  const rowBytes = Math.ceil((width * 3) / 4) * 4;
  const [r, g, b] = hue(seed);
  const row = new Uint8Array(rowBytes);
  for (let x = 0; x < width; x++) row.set([b, g, r], x * 3);
  const pixels = new Uint8Array(rowBytes * height);
  for (let y = 0; y < height; y++) pixels.set(row, y * rowBytes);
  const head = [
    ...u32(40),
    ...u32(width),
    ...u32(height),
    1,
    0,
    24,
    0,
    ...u32(0),
    ...u32(pixels.length),
    ...new Array(16).fill(0),
  ];
  return join(text("BM"), u32(54 + pixels.length), u32(0), u32(54), head, pixels);
};

const drawSvg = ({ width, height }: Size, seed: number): Uint8Array =>
  text(
    `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `<rect width="100%" height="100%" fill="rgb(${hue(seed)})"/></svg>\n`,
  );

/** An empty scene. */
const makeGlb: Make = (_, seed) => {
  const scene = text(JSON.stringify({ asset: { version: "2.0", generator: `simulator ${seed}` } }).padEnd(64));
  return join(text("glTF"), u32(2), u32(20 + scene.length), u32(scene.length), text("JSON"), scene);
};

/** Repeats the single frame of a prebuilt clip for the requested length. */
const makeWebm =
  (name: "vp8" | "vp9"): Make =>
  async ({ ms }) => {
    const input = new Input({ source: new BufferSource(oddFile(name)), formats: [WEBM] });
    const track = await input.getPrimaryVideoTrack();
    const packet = track && (await new EncodedPacketSink(track).getFirstPacket());
    if (!packet) throw new Error(`the kept clip ${name} has no picture`);
    return muxClip(
      "webm",
      name,
      { codec: name === "vp9" ? "vp09.00.31.08" : "vp8", codedWidth: 1280, codedHeight: 720 },
      ms,
      packet.data,
    );
  };

/** Sound from a stream whose header was written before its length was known. */
const streamedWav: Make = ({ ms }, seed) => {
  const wav = makeWav(ms, seed);
  const view = new DataView(wav.buffer);
  for (const at of [4, 40]) view.setUint32(at, at === 4 ? 0x7ffff024 : 0x7ffff000, true);
  return wav;
};

const kept =
  (name: OddName): Make =>
  () =>
    oddFile(name);

type Kind = { mime: string; extension: string; says: string; make: Make };
const of = (mime: string, extension: string, says: string, make: Make): Kind => ({ mime, extension, says, make });

const SMALL = "of 64 by 48";
const SECOND = "of one second";
/** By the name of the fault. */
export const OTHER_KINDS = {
  gif: of("image/gif", "gif", "a still GIF", (wanted, seed) => drawGif(wanted, seed, 1)),
  "moving-gif": of("image/gif", "gif", "an animated GIF", (wanted, seed) => drawGif(wanted, seed, 4)),
  bmp: of("image/bmp", "bmp", "a bitmap", drawBmp),
  avif: of("image/avif", "avif", `an AVIF ${SMALL}`, kept("avif")),
  heic: of("image/heic", "heic", `a HEIC ${SMALL}`, kept("heic")),
  tiff: of("image/tiff", "tiff", `a TIFF ${SMALL}`, kept("tiff")),
  jxl: of("image/jxl", "jxl", `a JPEG XL ${SMALL}`, kept("jxl")),
  svg: of("image/svg+xml", "svg", "an SVG", drawSvg),
  glb: of("model/gltf-binary", "glb", "a binary glTF", makeGlb),
  mov: of("video/quicktime", "mov", "a QuickTime film", ({ ms, sound, ...size }, seed) => makeClip(size, ms, sound, seed, "mov")),
  mkv: of("video/x-matroska", "mkv", "a Matroska file of H.264", ({ ms, sound, ...size }, seed) =>
    makeClip(size, ms, sound, seed, "mkv"),
  ),
  webm: of("video/webm", "webm", "a WebM of VP9, 1280 by 720", makeWebm("vp9")),
  "webm-vp8": of("video/webm", "webm", "a WebM of VP8, 1280 by 720", makeWebm("vp8")),
  flac: of("audio/flac", "flac", `FLAC ${SECOND}`, kept("flac")),
  opus: of("audio/ogg", "ogg", `Opus in Ogg ${SECOND}`, kept("opus")),
  m4a: of("audio/mp4", "m4a", `an M4A ${SECOND}`, kept("m4a")),
  aac: of("audio/aac", "aac", `AAC ${SECOND}`, kept("aac")),
  "sound-mp4": of("video/mp4", "mp4", `an MP4 with nothing but sound, ${SECOND}`, kept("soundOnlyMp4")),
  "sound-webm": of("video/webm", "webm", `a WebM with nothing but sound, ${SECOND}`, kept("soundOnlyWebm")),
  "streamed-wav": of("audio/wav", "wav", "a WAV whose header does not know its length", streamedWav),
} as const satisfies Record<string, Kind>;
export type OtherKind = keyof typeof OTHER_KINDS;
