// Sums the block durations of each Matroska track.
//
// Pictures are measured by their timestamps, sound by the samples in its packets.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Element } from "./ebml.ts";
import { blockOf, type Track } from "./matroska-track.ts";
import { PACKET_BYTES } from "./packet-duration.ts";
import { isMuch } from "./stray-bytes.ts";

/** Properties of one block that may be written before or after it. */
type Group = { track?: number; timeS?: number; soundS?: number; duration?: number; paddingS?: number };
export type Clock = { tickS: number; cluster: number; group: Group | undefined };

export type Tally = {
  track: Track;
  blocks: number;
  /** Total bytes of the frames of all blocks. */
  bytes: number;
  startS: number;
  /** Start of the last block; `endS` is its end, as far as it declares a duration. */
  lastS: number;
  endS: number;
  soundS: number;
  /** Bytes of frames that could not be parsed. */
  unheardBytes: number;
  packetS: number;
  paddingS: number;
  /** Only both ends were read; the part between them is measured by timestamps. */
  isPartial: boolean;
};

export const newTally = (track: Track): Tally => ({
  track,
  blocks: 0,
  bytes: 0,
  startS: Number.POSITIVE_INFINITY,
  lastS: Number.NEGATIVE_INFINITY,
  endS: Number.NEGATIVE_INFINITY,
  soundS: 0,
  unheardBytes: 0,
  packetS: 0,
  paddingS: 0,
  isPartial: false,
});

/**
 * Maximum header of a block: number, time, flags and the sizes of up to 256 frames. The sizes can take a byte for each 255 bytes
 * of the block.
 */
const HEAD_BYTES = 1024;
const headBytes = (blockBytes: number): number => HEAD_BYTES + Math.ceil(blockBytes / 255) + 256;
/** Encoders prepend less than this time that is not played. */
const MAX_DELAY_S = 0.25;

const frameBytes = (cursor: Cursor, from: number, bytes: number, { stripped, sound }: Track): Uint8Array => {
  const there = Math.max(0, Math.min(bytes, cursor.start + cursor.bytes.length - from));
  const own = cursor.part(from, there);
  return stripped.length === 0 ? own : Buffer.concat([stripped, sound?.isWhole ? own : own.subarray(0, PACKET_BYTES)]);
};

/** Adds one block. In a group, the duration and padding of the block may follow. */
export const addBlock = async (
  cursor: Cursor,
  { start, end = start }: Element,
  clock: Clock,
  tallies: ReadonlyMap<number, Tally>,
): Promise<void> => {
  // Decoders play the available part of a truncated block.
  const there = Math.min(end, cursor.sizeBytes) - start;
  const head = Math.min(there, headBytes(end - start));
  if (head < 4 || !(cursor.has(start, head) || (await cursor.load(start, head)))) return;
  const block = blockOf(cursor.part(start, head), end - start);
  // A decoder may find other or additional frames in such a block.
  if (block?.frames.length === 0 && there === end - start) throw new Unreadable("its index is not one of a real file");
  const tally = block && tallies.get(block.track);
  if (!tally) return;
  const { sound } = tally.track;
  const timeS = (clock.cluster + block.time) * clock.tickS;
  let soundS = 0;
  if (sound) {
    if (block.frames.length > 1 || sound.isWhole) await cursor.load(start, there);
    for (const { at, bytes } of block.frames) {
      const samples = sound.time(frameBytes(cursor, start + at, bytes, tally.track));
      soundS += (samples ?? 0) / sound.rate;
      if (samples === undefined) tally.unheardBytes += bytes;
    }
  }
  tally.blocks++;
  for (const { bytes } of block.frames) tally.bytes += bytes;
  tally.startS = Math.min(tally.startS, timeS);
  tally.lastS = Math.max(tally.lastS, timeS);
  tally.endS = Math.max(tally.endS, timeS + (soundS || tally.track.frameS * block.frames.length));
  tally.soundS += soundS;
  if (soundS > 0) tally.packetS = soundS / block.frames.length;
  if (clock.group) Object.assign(clock.group, { track: block.track, timeS, soundS });
};

/** Applies the duration and padding of a completed group to its block. */
export const endGroup = (clock: Clock, tallies: ReadonlyMap<number, Tally>): void => {
  const { track, timeS, soundS = 0, duration, paddingS } = clock.group ?? {};
  const tally = track === undefined ? undefined : tallies.get(track);
  if (tally && timeS !== undefined && duration !== undefined && !tally.track.sound)
    tally.endS = Math.max(tally.endS, timeS + duration * clock.tickS);
  // Decoders ignore padding that exceeds the block.
  if (tally && paddingS !== undefined && paddingS <= soundS) tally.paddingS += paddingS;
  clock.group = undefined;
};

/**
 * Duration of a track and of one of its frames. `isUncounted`: only the timestamps of the file determine the duration of the
 * sound.
 */
export const tallied = (tally: Tally): { seconds: number; meanS: number; isUncounted: boolean } => {
  const { track, blocks, bytes, startS, lastS, endS, soundS, unheardBytes, packetS, isPartial } = tally;
  // Only the end of a stream has padding.
  const paddingS = tally.paddingS <= MAX_DELAY_S ? tally.paddingS : 0;
  const spanS = lastS - startS;
  const meanS = packetS || track.frameS || (blocks > 1 && !isPartial ? spanS / (blocks - 1) : 0);
  const byClockS = (endS > lastS ? endS : lastS + meanS) - startS;
  const hasSound = track.sound !== undefined && soundS > 0 && !isPartial;
  const isIncomplete = track.sound === undefined || (soundS === 0 && !isPartial) || isMuch(unheardBytes, bytes);
  const isUncounted = track.kind === "audio" && blocks > 0 && isIncomplete;
  const seconds = Math.max(0, (hasSound ? soundS : byClockS) - Math.min(track.delayS, MAX_DELAY_S) - paddingS);
  return { seconds, meanS, isUncounted };
};
