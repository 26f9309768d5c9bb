// Computes MP4 sample times run by run, never sample by sample.
//
// A few bytes can declare billions of samples.
import { Unreadable } from "../byte-source.ts";
import { type Box, rowsIn, viewOf } from "./mp4-boxes.ts";

/**
 * `samples` consecutive samples with the same `delta`, each displayed `offset` after its decode time, in the track's timescale.
 */
export type Run = { samples: number; delta: number; offset: number };
export type Edit = { at: number; length: number; mediaAt: number };
/** The displayed part of a track, in seconds on the clip's clock, and its number of samples. */
export type Shown = { start: number; end: number; samples: number; soundS: number };

/** Maximum number of edits of one track; each requires a pass over its runs. */
const MAX_EDITS = 256;
const MAX_STEPS = 20_000_000;
/** Maximum display offset. A decoder discards a table with a larger offset in any row. */
const MAX_OFFSET = 2 ** 28;

/** Total duration of all runs, in the track's timescale. */
export const lengthOf = (runs: readonly Run[]): number => runs.reduce((sum, { samples, delta }) => sum + samples * delta, 0);

const rowsOf = (bytes: Uint8Array, box: Box | undefined, rowBytes: number): { count: number; view: DataView } => {
  if (!box) return { count: 0, view: viewOf(bytes.subarray(0, 0)) };
  rowsIn(1, box.end - box.start, 8);
  const view = viewOf(bytes.subarray(box.start + 8, box.end));
  return { count: rowsIn(viewOf(bytes).getUint32(box.start + 4), view.byteLength, rowBytes), view };
};

/**
 * Runs of one delta and one offset for all samples. The last delta applies to samples that the table omits.
 * @throws Unreadable
 */
export const runsOf = (bytes: Uint8Array, stts: Box | undefined, ctts: Box | undefined, samples: number): Run[] => {
  const times = rowsOf(bytes, stts, 8);
  const offsets = rowsOf(bytes, ctts, 8);
  const runs: Run[] = [];
  let [time, offset, left] = [0, 0, samples];
  let [timeLeft, delta, offsetLeft, shift] = [0, 0, 0, 0];
  let declared = 0;
  for (let n = 0; n < times.count; n++) declared += times.view.getUint32(n * 8);
  // Writers may omit a sample or count one too many. A larger difference indicates a file that is crafted to mislead a parser.
  if (declared > samples * 2 + 1000) throw new Unreadable("its index is not one of a real clip");
  for (let n = 0; n < offsets.count; n++) {
    const isFar = Math.abs(offsets.view.getInt32(n * 8 + 4)) > MAX_OFFSET || offsets.view.getInt32(n * 8) < 0;
    if (isFar) throw new Unreadable("its index is not one of a real clip");
  }
  while (left > 0) {
    while (timeLeft === 0 && time < times.count) {
      timeLeft = times.view.getUint32(time * 8);
      delta = times.view.getUint32(time++ * 8 + 4);
      // Some writers stored small negative numbers.
      if (delta > 0x7fffffff) delta = 1;
    }
    while (offsetLeft === 0 && offset < offsets.count) {
      offsetLeft = offsets.view.getUint32(offset * 8);
      shift = offsets.view.getInt32(offset++ * 8 + 4);
    }
    const count = Math.min(left, timeLeft || left, offsetLeft || left);
    if (offsetLeft === 0) shift = 0;
    runs.push({ samples: count, delta, offset: shift });
    left -= count;
    timeLeft = Math.max(0, timeLeft - count);
    offsetLeft = Math.max(0, offsetLeft - count);
  }
  return runs;
};

/** The edit list of a track: the displayed ranges of its media in sequence, on the clip's clock. @throws Unreadable */
export const editsOf = (bytes: Uint8Array, elst: Box | undefined, movieScale: number, mediaScale: number): Edit[] => {
  if (!elst) return [];
  const isLong = bytes[elst.start] === 1;
  const { count, view } = rowsOf(bytes, elst, isLong ? 20 : 12);
  if (count > MAX_EDITS) throw new Unreadable("its index is not one of a real clip");
  const edits: Edit[] = [];
  let at = 0;
  for (let n = 0; n < count; n++) {
    const from = n * (isLong ? 20 : 12);
    const length = (isLong ? Number(view.getBigInt64(from)) : view.getUint32(from)) / movieScale;
    const mediaAt = isLong ? Number(view.getBigInt64(from + 8)) : view.getInt32(from + 4);
    // Decoders differ in what they show for these edits; at a gap, some repeat the preceding media.
    const isGap = mediaAt === -1 && n > 0;
    const isUnclear = mediaAt < -1 || length < 0 || isGap || (length === 0 && mediaAt >= 0 && n < count - 1);
    if (isUnclear) throw new Unreadable("its index is not one of a real clip");
    // An initial empty edit delays the track. A length of 0 covers all remaining media.
    if (mediaAt >= 0) edits.push({ at, length: (length === 0 ? Number.POSITIVE_INFINITY : length) * mediaScale, mediaAt });
    at += length;
  }
  return edits;
};

/** First and last sample of a run with a time in [from, to), as indexes in the run; undefined if there is none. */
const within = ({ samples, delta }: Run, firstAt: number, from: number, to: number): [number, number] | undefined => {
  if (delta === 0) return firstAt >= from && firstAt < to ? [0, samples - 1] : undefined;
  const first = Math.max(0, Math.ceil((from - firstAt) / delta));
  const last = Math.min(samples - 1, Math.ceil((to - firstAt) / delta) - 1);
  return first <= last ? [first, last] : undefined;
};

/**
 * Display duration of the last picture. If pictures are reordered, the table contains the time to the next decoded picture, which
 * is not the next displayed one. In that case the shortest duration applies.
 */
const lastDelta = (runs: readonly Run[]): ((run: Run) => number) => {
  if (!runs.some(({ offset }) => offset !== 0)) return ({ delta }) => delta;
  const shortest = runs.reduce((least, { delta }) => (delta > 0 ? Math.min(least, delta) : least), Number.POSITIVE_INFINITY);
  return ({ delta }) => Math.min(delta, shortest);
};

/** The part that one edit displays, in the track's timescale. */
const shownIn = (runs: readonly Run[], from: number, to: number) => {
  const shownFor = lastDelta(runs);
  let [decodeAt, start, end, samples, sound] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (const run of runs) {
    const firstAt = decodeAt + run.offset;
    const found = within(run, firstAt, from, to);
    if (found) {
      start = Math.min(start, firstAt + found[0] * run.delta);
      end = Math.max(end, firstAt + found[1] * run.delta + shownFor(run));
      samples += found[1] - found[0] + 1;
    }
    // An encoded audio frame in which the edit begins or ends is played in part.
    const whole = run.samples * run.delta;
    sound += Math.max(0, Math.min(to, firstAt + whole) - Math.max(from, firstAt));
    decodeAt += whole;
  }
  return { start, end, samples, sound };
};

/** The displayed part of a track. */
export const shownOf = (runs: readonly Run[], edits: readonly Edit[], scale: number): Shown => {
  const passes = edits.length > 0 ? edits : [{ at: 0, length: Number.POSITIVE_INFINITY, mediaAt: Number.NEGATIVE_INFINITY }];
  if (passes.length * runs.length > MAX_STEPS) throw new Unreadable("its index is not one of a real clip");
  const all: Shown = { start: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY, samples: 0, soundS: 0 };
  for (const { at, length, mediaAt } of passes) {
    const zero = Number.isFinite(mediaAt) ? mediaAt : 0;
    const found = shownIn(runs, mediaAt, mediaAt + length || Number.POSITIVE_INFINITY);
    if (found.samples > 0) {
      all.start = Math.min(all.start, at + (found.start - zero) / scale);
      all.end = Math.max(all.end, at + (found.end - zero) / scale);
    }
    all.samples += found.samples;
    all.soundS += found.sound / scale;
  }
  return all;
};
