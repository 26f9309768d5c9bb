// Expensive sound: Ogg, MP3, ADTS, FLAC and WAV that are empty, chained, nested or declare too large sizes.

import type { Bomb } from "./bomb.ts";
import { fill, join, le16, le32, of, type Piece, text, u32, u64, zeros } from "./bytes.ts";
import { crc } from "./checksums.ts";

type Made = Record<string, (bytes: number) => Piece[]>;

const le64 = (value: bigint) => Buffer.from(u64(value)).reverse();
const page = (flags: number, granule: bigint, serial: number, n: number, segments: Uint8Array, body: Uint8Array): Uint8Array => {
  const made = Buffer.from(
    join(text("OggS"), of(0, flags), le64(granule), le32(serial), le32(n), zeros(4), of(segments.length), segments, body),
  );
  made.writeUInt32LE(crc.ogg(made), 22);
  return made;
};
const opusHead = join(text("OpusHead"), of(1, 2, 0x38, 1), le32(48_000), of(0, 0, 0));
const opusTags = join(text("OpusTags"), le32(1), text("x"), le32(0));
const first = page(2, 0n, 1, 0, of(opusHead.length), opusHead);
const second = page(0, 0n, 1, 1, of(opusTags.length), opusTags);
const frame = page(0, 960n, 1, 2, of(3), of(0xfc, 0xff, 0xfe));
const chained = Buffer.from(
  join(
    ...Array.from({ length: 200 }, (_, n) =>
      join(page(2, 0n, n + 2, 0, of(opusHead.length), opusHead), page(4, 1n, n + 2, 1, of(3), of(0xfc, 0xff, 0xfe))),
    ),
  ),
);
const vorbisHead = join(text("\u0001vorbis"), le32(0), of(2), le32(44_100), le32(0), le32(0), le32(0), of(0xb8, 1));
const OGG: Made = {
  "pages of nothing": (bytes) => [first, second, fill(page(0, 0n, 1, 2, zeros(0), zeros(0)), bytes)],
  "pages of 255 packets of nothing": (bytes) => [first, second, fill(page(0, 960n, 1, 2, zeros(255), zeros(0)), bytes)],
  "streams one after the other": (bytes) => [first, second, fill(chained, bytes)],
  "streams beside each other": (bytes) => [
    fill(Buffer.concat(Array.from({ length: 500 }, (_, n) => page(2, 0n, n, 0, of(opusHead.length), opusHead))), bytes),
  ],
  "times that lie far apart": (bytes) => [
    first,
    second,
    fill(join(frame, page(0, 0x7fff_ffff_ffff_ffffn, 1, 3, of(3), of(0xfc, 0xff, 0xfe))), bytes),
  ],
  "comments that say more than there are": (bytes) => {
    const tags = join(text("OpusTags"), le32(0xffff_ffff), le32(0xffff_ffff), zeros(200));
    return [first, fill(page(0, 0n, 1, 1, of(tags.length), tags), bytes)];
  },
  "a packet that never ends": (bytes) => [first, fill(page(1, -1n, 1, 1, Buffer.alloc(255, 255), zeros(255 * 255)), bytes)],
  "words of a page without one": (bytes) => [first, fill(text("OggS"), bytes)],
  "vorbis without its books": (bytes) => [page(2, 0n, 1, 0, of(vorbisHead.length), vorbisHead), fill(frame, bytes)],
};

/** 8 kbit/s at 8 kHz, MPEG 2.5, layer III: 72 bytes. */
const tiny = join(of(0xff, 0xe3, 0x18, 0xc4), zeros(68));
const mp3Frame = join(of(0xff, 0xfb, 0x90, 0xc4), zeros(413));
const id3 = (bytes: number, body: Uint8Array = zeros(0)) =>
  join(text("ID3"), of(4, 0, 0, (bytes >> 21) & 127, (bytes >> 14) & 127, (bytes >> 7) & 127, bytes & 127), body);
const MP3: Made = {
  "the smallest frames": (bytes) => [fill(tiny, bytes)],
  "frames of a free rate": (bytes) => [fill(join(of(0xff, 0xfb, 0x00, 0xc4), zeros(20)), bytes)],
  "free frames of no length": (bytes) => [fill(of(0xff, 0xfb, 0x00, 0xc4), bytes)],
  "tags of tags": (bytes) => [fill(id3(0), bytes), mp3Frame],
  "a tag larger than the file": (bytes) => [id3(0x0fff_ffff), fill(mp3Frame, bytes)],
  "frames of a tag": (bytes) => [
    id3(Math.min(bytes, 0x0fff_fff0)),
    fill(join(text("TXXX"), u32(1), zeros(2), of(0)), bytes),
    mp3Frame,
  ],
  "pictures of a tag": (bytes) => [
    id3(Math.min(bytes, 0x0fff_fff0)),
    fill(join(text("APIC"), u32(0x7fff_ffff), zeros(54)), bytes),
    mp3Frame,
  ],
  "a header of 4 billion frames": (bytes) => [
    join(mp3Frame.subarray(0, 36), text("Xing"), u32(3), u32(0xffff_ffff), u32(0xffff_ffff), zeros(300)),
    fill(mp3Frame, bytes),
  ],
  "beginnings of frames": (bytes) => [fill(of(0xff), bytes)],
  "frames between noise": (bytes) => [fill(join(of(0xff, 0xfb, 0x90, 0xc4), zeros(3), of(0xff, 0xe3, 0x18)), bytes)],
  "rates that change with each frame": (bytes) => [fill(join(tiny, mp3Frame), bytes)],
};

const adtsOf = (length: number, body = Math.max(0, length - 7)) =>
  join(of(0xff, 0xf1, 0x50, 0x80 | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 0x1f, 0xfc), zeros(body));
const ADTS: Made = {
  "frames of nothing": (bytes) => [fill(adtsOf(7), bytes)],
  "frames of no length": (bytes) => [fill(adtsOf(0), bytes)],
  "frames of one byte": (bytes) => [fill(adtsOf(8), bytes)],
  "frames longer than the file": (bytes) => [fill(adtsOf(8191, 0), bytes)],
  "frames behind tags": (bytes) => [fill(join(id3(0), adtsOf(7)), bytes)],
};

const streamInfo = (samples: bigint, last = false) =>
  join(
    of(last ? 0x80 : 0, 0, 0, 34),
    of(0x10, 0, 0x10, 0),
    zeros(6),
    u64((44_100n << 44n) | (1n << 41n) | (15n << 36n) | samples),
    zeros(16),
  );
const FLAC: Made = {
  "blocks of nothing": (bytes) => [text("fLaC"), streamInfo(441_000n), fill(of(1, 0, 0, 0), bytes)],
  "blocks larger than the file": (bytes) => [text("fLaC"), streamInfo(441_000n), fill(of(4, 0xff, 0xff, 0xff), bytes)],
  "beginnings of streams": (bytes) => [text("fLaC"), fill(streamInfo(0xf_ffff_ffffn), bytes)],
  "beginnings of frames": (bytes) => [text("fLaC"), streamInfo(0xf_ffff_ffffn, true), fill(of(0xff, 0xf8), bytes)],
  "places to seek to": (bytes) => [
    text("fLaC"),
    streamInfo(441_000n),
    of(3, 0xff, 0xff, 0xff),
    fill(Buffer.alloc(18, 0xff), bytes),
  ],
  "comments that say more than there are": (bytes) => [
    text("fLaC"),
    streamInfo(441_000n),
    fill(join(of(4, 0, 1, 0), le32(0xffff_ffff), le32(0xffff_ffff), zeros(248)), bytes),
  ],
};

const fmt = (align: number, rate: number) =>
  join(text("fmt "), le32(16), le16(1), le16(1), le32(8000), le32(rate), le16(align), le16(16));
const riff = (size: number, ...parts: Uint8Array[]) => join(text("RIFF"), le32(size), text("WAVE"), ...parts);
const WAV: Made = {
  "chunks of nothing": (bytes) => [riff(0xffff_ffff, fmt(2, 16_000)), fill(join(text("junk"), le32(0)), bytes)],
  "formats again and again": (bytes) => [riff(0xffff_ffff), fill(fmt(2, 16_000), bytes), join(text("data"), le32(4), zeros(4))],
  "data of no rate": (bytes) => [riff(0xffff_ffff, fmt(0, 0), text("data"), le32(0xffff_ffff)), fill(zeros(1024), bytes)],
  "data again and again": (bytes) => [riff(0xffff_ffff, fmt(2, 16_000)), fill(join(text("data"), le32(0)), bytes)],
  "lists in lists": (bytes) => [
    riff(0xffff_ffff, fmt(2, 16_000)),
    fill(join(text("LIST"), le32(0x7fff_ffff), text("INFO")), bytes),
  ],
  "a table of 4 billion lengths": (bytes) => [
    join(
      text("RF64"),
      le32(0xffff_ffff),
      text("WAVE"),
      text("ds64"),
      le32(28),
      Buffer.alloc(24, 0xff),
      le32(0xffff_ffff),
      fmt(2, 16_000),
      text("data"),
      le32(0xffff_ffff),
    ),
    fill(zeros(1024), bytes),
  ],
  "beginnings of files": (bytes) => [fill(riff(4), bytes)],
};

const named = (family: string, mime: string, made: Made): Bomb[] =>
  Object.entries(made).map(([name, make]) => ({ name: `${family}, ${name}`, field: "audio", mime, make }));
export const SOUND: readonly Bomb[] = [
  ...named("ogg", "audio/ogg", OGG),
  ...named("mp3", "audio/mpeg", MP3),
  ...named("adts", "audio/aac", ADTS),
  ...named("flac", "audio/flac", FLAC),
  ...named("wav", "audio/wav", WAV),
];
