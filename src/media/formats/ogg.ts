// Measures Ogg by the packets of its pages, chained streams one after the other: Opus, Vorbis, FLAC, Speex; and Theora.
import { latin1, Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { nameAt } from "./mp4-boxes.ts";
import { oggClip, type PageEnd, THEORA_HEADERS } from "./ogg-pictures.ts";
import { pageSum } from "./ogg-sum.ts";
import { createVorbisTime, flacTimeAt, opusTime, type PacketTime } from "./packet-duration.ts";

/** Streams of one file: a chain of hundreds is no sound that somebody ordered. */
const MOST_STREAMS = 1000;
/** Header packets, of which that of Vorbis is the largest, are kept up to this size. */
const MOST_HEADER_BYTES = 1024 * 1024;
const UNKNOWN_GRANULE = 0xffff_ffff_ffff_ffffn;

/** `isWhole`: of a packet its first bytes are not enough. */
type Code = { rate: number; headers: number; time?: PacketTime; skip: number; trims: boolean; isWhole?: boolean };
type Stream = {
  /** The number of its link in the chain: streams that begin together are played side by side. */
  link: number;
  code?: Code;
  packets: number;
  /** Packets behind its headers that are not understood. */
  unheard: number;
  head: Uint8Array;
  /** Bytes of a packet that goes on in the next page: its beginning, or all of a header. */
  carried: Uint8Array;
  isCarrying: boolean;
  samples: number;
  frame: number;
  /** Samples of the last packet. */
  last: number;
  /** Frame number and packets at the ends of the first page and the last that say one, of pictures. */
  firstEnd?: PageEnd;
  lastEnd?: PageEnd;
  first?: { granule: number; samples: number; isLast: boolean };
  cut: number;
};

const latin = (bytes: Uint8Array, from: number, to: number) => latin1(bytes.subarray(from, to));
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

const flacCode = (rate: number, furtherHeaders: number): Code => ({
  ...{ rate, headers: 1 + furtherHeaders, time: flacTimeAt(rate), skip: 0, trims: false, isWhole: true },
});

/** What the first packet of a stream says of its code; undefined for pictures, text and what is not known. */
const codeOf = (head: Uint8Array): Code | undefined => {
  const view = viewOf(head);
  if (latin(head, 0, 8) === "OpusHead" && head.length >= 12)
    return { rate: 48_000, headers: 2, time: opusTime, skip: view.getUint16(10, true), trims: true };
  if (latin(head, 0, 7) === "\x01vorbis" && head.length >= 29)
    return { rate: view.getUint32(12, true), headers: 3, skip: 0, trims: true };
  if (latin(head, 0, 5) === "\x7fFLAC" && head.length >= 35) return flacCode(view.getUint32(27) >>> 12, view.getUint16(7));
  if (latin(head, 0, 8) !== "Speex   " || head.length < 68) return undefined;
  const samples = view.getUint32(56, true) * Math.max(1, view.getUint32(64, true));
  return { rate: view.getUint32(36, true), headers: 2, time: () => samples, skip: 0, trims: false };
};

const takePacket = (stream: Stream, packet: Uint8Array): void => {
  const n = stream.packets++;
  if (n === 0) {
    stream.head = packet.slice();
    const code = codeOf(stream.head);
    if (code) stream.code = code;
    return;
  }
  const { code } = stream;
  if (!code) return;
  // Vorbis says in its third header how long blocks are.
  const isEarly = code.time === opusTime ? latin(packet, 0, 8) !== "OpusTags" : code.isWhole === true && packet[0] === 0xff;
  if (n < code.headers && !isEarly) {
    const time = code.time ? undefined : n === code.headers - 1 ? createVorbisTime(stream.head, packet) : undefined;
    if (time) code.time = time;
    return;
  }
  const time = code.time?.(packet);
  if (time === undefined && packet.length > 0) stream.unheard++;
  const samples = time ?? 0;
  if (samples > 0) stream.frame = samples;
  stream.last = samples;
  stream.samples += samples;
};

/** Packets of one page: a piece of 255 bytes goes on in the next piece, or in the next page. */
const takePage = (stream: Stream, table: Uint8Array, body: Uint8Array, isContinued: boolean): void => {
  let [from, at] = [0, 0];
  let isDropped = isContinued && !stream.isCarrying;
  // Some decoders go on with a packet that its page says is another.
  if (!isContinued && stream.isCarrying) stream.unheard++;
  if (!isContinued) stream.isCarrying = false;
  for (const piece of table) {
    at += piece;
    if (piece === 255) continue;
    const own = body.subarray(from, at);
    if (!isDropped) takePacket(stream, stream.isCarrying ? Buffer.concat([stream.carried, own]) : own);
    [stream.isCarrying, isDropped, from] = [false, false, at];
  }
  if (table.at(-1) !== 255 || isDropped) return;
  const rest = body.subarray(from, at);
  // Of sound the first bytes are enough, but for FLAC.
  const isHeader = stream.packets < (stream.code?.headers ?? 3) || stream.code?.isWhole === true;
  const before = stream.isCarrying ? stream.carried : new Uint8Array(0);
  const isEnough = isHeader ? before.length > MOST_HEADER_BYTES : before.length >= 16;
  stream.carried = isEnough ? before : Buffer.concat([before, isHeader ? rest : rest.subarray(0, 16)]);
  stream.isCarrying = true;
};

/** What the end of a page says: where its stream began, and that a last packet is not played to its end. */
const endPage = (stream: Stream, granule: bigint, before: number, isLast: boolean): void => {
  if (granule !== UNKNOWN_GRANULE && !stream.code && stream.packets > THEORA_HEADERS) {
    stream.lastEnd = { granule, packets: stream.packets };
    stream.firstEnd ??= stream.lastEnd;
  }
  if (!stream.code || granule === UNKNOWN_GRANULE || stream.packets <= stream.code.headers || stream.samples === 0) return;
  const at = Number(granule);
  stream.first ??= { granule: at, samples: stream.samples, isLast };
  const start = stream.first.isLast ? 0 : stream.first.granule - stream.first.samples;
  // Where a clock begins below 0, players play what is before 0 all the same: it is the front of a stream that was cut without coding anew.
  const excess = Math.max(0, start + stream.samples - at);
  if (!isLast || !stream.code.trims) return;
  // Of Opus every packet of the last page may be cut; of Vorbis the last one, and nothing at all where more is said.
  if (stream.code.time === opusTime) stream.cut = Math.min(excess, stream.samples - before);
  else stream.cut = excess <= stream.last ? excess : 0;
};

const newStream = (link: number): Stream => ({
  link,
  packets: 0,
  unheard: 0,
  head: new Uint8Array(0),
  carried: new Uint8Array(0),
  isCarrying: false,
  samples: 0,
  frame: 0,
  last: 0,
  cut: 0,
});

/** Of streams in a chain decoders play the front of all but the first. */
const secondsOf = ({ code, samples, cut }: Stream, isFirst: boolean): number =>
  code && code.rate > 0 ? Math.max(0, samples - (isFirst ? code.skip : 0) - cut) / code.rate : 0;

/** The links of a chain one after the other, each as long as the longest of its streams. */
const chainedSeconds = (streams: readonly Stream[]): number => {
  const links = new Map<number, number>();
  for (const stream of streams) {
    const seconds = secondsOf(stream, stream.link === streams[0]?.link);
    links.set(stream.link, Math.max(links.get(stream.link) ?? 0, seconds));
  }
  return [...links.values()].reduce((sum, seconds) => sum + seconds, 0);
};

/** So many packets that are not understood, and this part of all, are of a stream that was damaged. */
const FEW_UNHEARD = 2;
const FEW_UNHEARD_SHARE = 0.01;
const isUnheard = ({ unheard, packets }: Stream): boolean => unheard > FEW_UNHEARD + packets * FEW_UNHEARD_SHARE;

/** @param isCounted whether the checksums of its pages are made, too @throws Unreadable */
export const readOgg = async (cursor: Cursor, isCounted: boolean): Promise<Inspection> => {
  let hasFalsePage = false;
  const streams: Stream[] = [];
  const open = new Map<number, Stream>();
  let [at, isCut] = [0, false];
  let [link, hasData] = [0, false];
  while (at + 27 <= cursor.sizeBytes) {
    if (!cursor.has(at, 27) && !(await cursor.load(at, 27))) break;
    if (nameAt(cursor.bytes, at - cursor.start) !== "OggS") {
      const found = cursor.bytes.indexOf(0x4f, at + 1 - cursor.start);
      at = found < 0 ? Math.max(at + 1, cursor.start + cursor.bytes.length) : cursor.start + found;
      continue;
    }
    const pieces = cursor.bytes[at + 26 - cursor.start] ?? 0;
    isCut = !(await cursor.load(at, 27 + pieces));
    if (isCut) break;
    const table = cursor.part(at + 27, pieces);
    const length = 27 + pieces + table.reduce((sum, piece) => sum + piece, 0);
    isCut = !(await cursor.load(at, length));
    if (isCut) break;
    // Decoders look for pages inside of one whose checksum is false.
    hasFalsePage ||= isCounted && pageSum(cursor.part(at, length)) !== cursor.view.getUint32(at + 22 - cursor.start, true);
    const flags = cursor.bytes[at + 5 - cursor.start] ?? 0;
    const granule = cursor.view.getBigUint64(at + 6 - cursor.start, true);
    const serial = cursor.view.getUint32(at + 14 - cursor.start, true);
    const body = cursor.part(at + 27 + pieces, length - 27 - pieces);
    // A mark of a beginning without one is no beginning: decoders go on with what they play.
    const isNew = (flags & 2) !== 0 && (!open.get(serial)?.code || codeOf(body) !== undefined);
    if (isNew || !open.has(serial)) {
      if (hasData) link++;
      hasData = false;
      const fresh = newStream(link);
      streams.push(fresh);
      open.set(serial, fresh);
      if (streams.length > MOST_STREAMS) throw new Unreadable("it holds too many streams");
    }
    const stream = open.get(serial) ?? newStream(link);
    const before = stream.samples;
    takePage(stream, cursor.part(at + 27, pieces), body, (flags & 1) === 1);
    endPage(stream, granule, before, (flags & 4) !== 0);
    hasData ||= stream.samples > before;
    at += length;
  }
  const heard = streams.filter((stream) => stream.code);
  const first = heard[0];
  const seconds = chainedSeconds(heard);
  const frameS = first?.code ? first.frame / first.code.rate : 0;
  const uncounted = hasFalsePage || heard.some(isUnheard) ? { isUncounted: true as const } : {};
  const clip = oggClip(streams, { seconds, frameS }, isCut);
  if (clip) return { ...clip, ...uncounted };
  if (!first) throw new Unreadable("it holds no sound of a known code");
  const frameMs = frameS * 1000;
  const ms = Math.round(seconds * 1000);
  return { mime: "audio/ogg", kind: "audio", ms, hasAudio: true, frameMs, isComplete: !isCut, ...uncounted };
};
