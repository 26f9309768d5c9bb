// Generates the media files of the trials: small files with the properties of those that caused the faults.
import { deflateSync } from "node:zlib";
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Output, WebMOutputFormat } from "mediabunny";
import { crc } from "../bombs/checksums.ts";
import { mp4, wav } from "../media/made.ts";

const text = (words: string) => Buffer.from(words, "latin1");
const u32 = (value: number) => {
  const made = Buffer.alloc(4);
  made.writeUInt32BE(value >>> 0);
  return made;
};

/** Sound with a header that was written before the length was known. */
export const streamedWav = (seconds: number, said: number): Uint8Array => {
  const made = Buffer.from(wav(seconds));
  made.writeUInt32LE(said, 40);
  made.writeUInt32LE(said === 0 ? 0 : said + 36, 4);
  return made;
};

/** A black GIF of 64 by 48 whose codes are all literal. */
export const GIF: Uint8Array = (() => {
  const [width, height, clear, end] = [64, 48, 128, 129];
  const codes: number[] = [];
  for (let n = 0; n < width * height; n += 1) {
    // The table is cleared before its codes become longer.
    if (n % 100 === 0) codes.push(clear);
    codes.push(0);
  }
  codes.push(end);
  const parts: Buffer[] = [];
  for (let at = 0; at < codes.length; at += 255) {
    const part = codes.slice(at, at + 255);
    parts.push(Buffer.from([part.length, ...part]));
  }
  const head = [...text("GIF89a"), width, 0, height, 0, 0x86, 0, 0];
  const picture = [0x2c, 0, 0, 0, 0, width, 0, height, 0, 0, 7];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(128 * 3), Buffer.from(picture), ...parts, Buffer.from([0, 0x3b])]);
})();

/** A clip with an edit list that puts an empty hour before it. */
export const offsetClip = async (seconds: number): Promise<Uint8Array> => {
  const file = Buffer.from(await mp4({ seconds, index: "end" }));
  const edts = Buffer.concat([u32(8 + 40), text("edts"), u32(40), text("elst"), u32(0), u32(2)]);
  const edits = Buffer.concat([u32(3600 * 1000), u32(0xffff_ffff), u32(0x1_0000), u32(seconds * 1000), u32(0), u32(0x1_0000)]);
  const [moov, mvhd, trak, tkhd] = ["moov", "mvhd", "trak", "tkhd"].map((name) => file.indexOf(name) - 4);
  if (moov === undefined || mvhd === undefined || trak === undefined || tkhd === undefined || trak < 0)
    throw new Error("no track");
  // Edits are in the time scale of the movie header.
  const scale = file.readUInt32BE(mvhd + 20);
  edits.writeUInt32BE(3600 * scale, 0);
  edits.writeUInt32BE(seconds * scale, 12);
  const at = tkhd + file.readUInt32BE(tkhd);
  const added = Buffer.concat([edts, edits]);
  for (const box of [moov, trak]) file.writeUInt32BE(file.readUInt32BE(box) + added.length, box);
  return Buffer.concat([file.subarray(0, at), added, file.subarray(at)]);
};

/** A black picture with one bit for each pixel. */
export const largePng = (side: number): Uint8Array => {
  const chunk = (name: string, body: Uint8Array) => {
    const named = Buffer.concat([text(name), body]);
    return Buffer.concat([u32(body.length), named, u32(crc.png(named))]);
  };
  const head = Buffer.concat([u32(side), u32(side), Buffer.from([1, 0, 0, 0, 0])]);
  const rows = deflateSync(Buffer.alloc((1 + side / 8) * side), { level: 9 });
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
};

/** A clip as a browser records it: larger than one read, without a duration in its header. */
export const recordedWebm = async (seconds: number): Promise<Uint8Array> => {
  const target = new BufferTarget();
  const output = new Output({ format: new WebMOutputFormat({ appendOnly: true }), target });
  const video = new EncodedVideoPacketSource("vp8");
  output.addVideoTrack(video, { frameRate: 25 });
  await output.start();
  const decoderConfig = { codec: "vp8", codedWidth: 320, codedHeight: 176 };
  for (let n = 0; n < seconds * 25; n += 1)
    await video.add(new EncodedPacket(new Uint8Array(4000), n % 25 === 0 ? "key" : "delta", n / 25, 1 / 25), { decoderConfig });
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
};

/** Concatenated MP3s of 5 s, each with a header that counts only its own frames. */
export const joinedMp3 = (times: number): Uint8Array => {
  const frame = (body: Uint8Array) =>
    Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0xc4]), body, Buffer.alloc(413 - body.length)]);
  const frames = Math.round((5 * 44_100) / 1152);
  const header = frame(Buffer.concat([Buffer.alloc(17), text("Info"), u32(3), u32(frames), u32(frames * 417)]));
  const one = Buffer.concat([header, ...Array.from({ length: frames }, () => frame(Buffer.alloc(0)))]);
  return Buffer.concat(Array.from({ length: times }, () => one));
};

/** Sound in ADTS that is larger than one read. */
export const longAdts = (seconds: number): Uint8Array => {
  const length = 400;
  const frame = Buffer.alloc(length);
  frame.set([0xff, 0xf1, 0x4c, 0x80 | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 0x1f, 0xfc, 0x21, 0x1b, 0x80]);
  return Buffer.concat(Array.from({ length: Math.ceil((seconds * 48_000) / 1024) }, () => frame));
};
