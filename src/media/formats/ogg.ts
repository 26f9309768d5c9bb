// Measures Ogg by the packets of its pages: Opus, Vorbis, FLAC, Speex and Theora.
//
// Chained streams are added up.
import { latin1, Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { nameAt } from "./mp4-boxes.ts";
import { oggClip, type PageEnd, THEORA_HEADERS } from "./ogg-pictures.ts";
import { pageSum } from "./ogg-sum.ts";
import { createVorbisTime, flacTimeAt, opusTime, type PacketTime } from "./packet-duration.ts";

/** Maximum number of streams in a file. A legitimate order does not produce a chain of hundreds. */
const MAX_STREAMS = 1000;
/** Maximum size of a retained header packet; that of Vorbis is the largest. */
const MAX_HEADER_BYTES = 1024 * 1024;
const UNKNOWN_GRANULE = 0xffff_ffff_ffff_ffffn;

/** `isWhole`: the first bytes of a packet are not sufficient. */
type Code = { rate: number; headers: number; time?: PacketTime; skip: number; trims: boolean; isWhole?: boolean };
type Stream = {
  /** Index of the chain link; streams that begin together are played simultaneously. */
  link: number;
  code?: Code;
  packets: number;
  /** Packets after the headers that could not be parsed. */
  unheard: number;
  head: Uint8Array;
  /** Bytes of a packet that continues on the next page: its beginning, or all bytes of a header. */
  carried: Uint8Array;
  isCarrying: boolean;
  samples: number;
  frame: number;
  /** Samples of the last packet. */
  last: number;
  /** For pictures: picture number and packets at the end of the first and the last page that declares a number. */
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

/** The codec according to the first packet of a stream; undefined for pictures, text and unknown codecs. */
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
  // The third Vorbis header declares the block sizes.
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

/** Extracts the packets of one page. A segment of 255 bytes continues in the next segment or on the next page. */
const takePage = (stream: Stream, table: Uint8Array, body: Uint8Array, isContinued: boolean): void => {
  let [from, at] = [0, 0];
  let isDropped = isContinued && !stream.isCarrying;
  // Some decoders continue a packet although its page declares a new one.
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
  // The first bytes of a sound packet are sufficient, except for FLAC.
  const isHeader = stream.packets < (stream.code?.headers ?? 3) || stream.code?.isWhole === true;
  const before = stream.isCarrying ? stream.carried : new Uint8Array(0);
  const isEnough = isHeader ? before.length > MAX_HEADER_BYTES : before.length >= 16;
  stream.carried = isEnough ? before : Buffer.concat([before, isHeader ? rest : rest.subarray(0, 16)]);
  stream.isCarrying = true;
};

/** Evaluates the end of a page: the start of its stream, and trimming of the last packet. */
const endPage = (stream: Stream, granule: bigint, before: number, isLast: boolean): void => {
  if (granule !== UNKNOWN_GRANULE && !stream.code && stream.packets > THEORA_HEADERS) {
    stream.lastEnd = { granule, packets: stream.packets };
    stream.firstEnd ??= stream.lastEnd;
  }
  if (!stream.code || granule === UNKNOWN_GRANULE || stream.packets <= stream.code.headers || stream.samples === 0) return;
  const at = Number(granule);
  stream.first ??= { granule: at, samples: stream.samples, isLast };
  const start = stream.first.isLast ? 0 : stream.first.granule - stream.first.samples;
  // If a clock begins below 0, players also play the part before 0. This occurs in streams that were cut at the start without
  // re-encoding.
  const excess = Math.max(0, start + stream.samples - at);
  if (!isLast || !stream.code.trims) return;
  // For Opus, every packet of the last page can be trimmed. For Vorbis only the last packet can be trimmed, and a larger value is
  // ignored.
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

/** In a chain, decoders skip the pre-roll of the first stream only. */
const secondsOf = ({ code, samples, cut }: Stream, isFirst: boolean): number =>
  code && code.rate > 0 ? Math.max(0, samples - (isFirst ? code.skip : 0) - cut) / code.rate : 0;

/** Sums the links of a chain, each as long as its longest stream. */
const chainedSeconds = (streams: readonly Stream[]): number => {
  const links = new Map<number, number>();
  for (const stream of streams) {
    const seconds = secondsOf(stream, stream.link === streams[0]?.link);
    links.set(stream.link, Math.max(links.get(stream.link) ?? 0, seconds));
  }
  return [...links.values()].reduce((sum, seconds) => sum + seconds, 0);
};

/** Above this number and share of unparsed packets, a stream counts as damaged. */
const FEW_UNHEARD = 2;
const FEW_UNHEARD_SHARE = 0.01;
const hasSilentPackets = ({ unheard, packets }: Stream): boolean => unheard > FEW_UNHEARD + packets * FEW_UNHEARD_SHARE;

/**
 * @param isCounted whether page checksums are verified as well
 * @throws Unreadable
 */
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
    // Decoders search for pages inside a page with a wrong checksum.
    hasFalsePage ||= isCounted && pageSum(cursor.part(at, length)) !== cursor.view.getUint32(at + 22 - cursor.start, true);
    const flags = cursor.bytes[at + 5 - cursor.start] ?? 0;
    const granule = cursor.view.getBigUint64(at + 6 - cursor.start, true);
    const serial = cursor.view.getUint32(at + 14 - cursor.start, true);
    const body = cursor.part(at + 27 + pieces, length - 27 - pieces);
    // A start flag without a codec header is not a start; decoders continue the current stream.
    const isNew = (flags & 2) !== 0 && (!open.get(serial)?.code || codeOf(body) !== undefined);
    if (isNew || !open.has(serial)) {
      if (hasData) link++;
      hasData = false;
      const fresh = newStream(link);
      streams.push(fresh);
      open.set(serial, fresh);
      if (streams.length > MAX_STREAMS) throw new Unreadable("it holds too many streams");
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
  const uncounted = hasFalsePage || heard.some(hasSilentPackets) ? { isUncounted: true as const } : {};
  const clip = oggClip(streams, { seconds, frameS }, isCut);
  if (clip) return { ...clip, ...uncounted };
  if (!first) throw new Unreadable("it holds no sound of a known code");
  const frameMs = frameS * 1000;
  const ms = Math.round(seconds * 1000);
  return { mime: "audio/ogg", kind: "audio", ms, hasAudio: true, frameMs, isComplete: !isCut, ...uncounted };
};
