// Locates the samples of an MP4 track by its tables: offset and size.
import { type Box, rowsIn, viewOf } from "./mp4-boxes.ts";

/** Maximum number of visited samples; 32 MiB of index contain no more sizes. */
const MAX_SAMPLES = 8_000_000;

/** `isSingle`: single samples of PCM or packed sound, regardless of the size in the table. */
export type Sizes = { count: number; sizeOf: (n: number) => number; isSingle?: true };
export type SampleRange = { at: number; bytes: number };

/** Sizes of the samples. @throws Unreadable if the table has fewer rows than it declares */
export const sizesOf = (bytes: Uint8Array, stsz: Box | undefined): Sizes => {
  if (!stsz) return { count: 0, sizeOf: () => 0 };
  const view = viewOf(bytes.subarray(stsz.start, stsz.end));
  rowsIn(1, view.byteLength, 12);
  const count = view.getUint32(8);
  if (stsz.name === "stz2") {
    const bits = view.getUint8(7);
    const there = rowsIn(count, (view.byteLength - 12) * 8, Math.max(bits, 4));
    const sizeOf = (n: number) => {
      if (bits === 16) return view.getUint16(12 + n * 2);
      const byte = view.getUint8(12 + Math.floor((n * bits) / 8));
      return bits === 8 ? byte : n % 2 === 0 ? byte >> 4 : byte & 15;
    };
    return { count: there, sizeOf };
  }
  const same = view.getUint32(4);
  if (same > 0) return { count, sizeOf: () => same };
  return { count: rowsIn(count, view.byteLength - 12, 4), sizeOf: (n) => view.getUint32(12 + n * 4) };
};

const chunksOf = (bytes: Uint8Array, stsc: Box, stco: Box) => {
  const groups = viewOf(bytes.subarray(stsc.start, stsc.end));
  const chunks = viewOf(bytes.subarray(stco.start, stco.end));
  const wide = stco.name === "co64" ? 8 : 4;
  for (const table of [groups, chunks]) rowsIn(1, table.byteLength, 8);
  const chunkCount = rowsIn(chunks.getUint32(4), chunks.byteLength - 8, wide);
  const groupCount = rowsIn(groups.getUint32(4), groups.byteLength - 8, 12);
  return { groups, chunks, wide, chunkCount, groupCount };
};

/** Total number of samples in all chunks, according to the chunk tables. */
const inChunks = (bytes: Uint8Array, stsc: Box | undefined, stco: Box | undefined): number => {
  if (!stsc || !stco) return 0;
  const { groups, groupCount, chunkCount } = chunksOf(bytes, stsc, stco);
  const firstOf = (group: number) => (group < groupCount ? groups.getUint32(8 + group * 12) - 1 : chunkCount);
  let count = 0;
  let from = 0;
  for (let group = 0; group < groupCount; group++) {
    // A decoder advances through the groups in stored order, regardless of the chunk numbers.
    const to = Math.min(chunkCount, Math.max(from, firstOf(group + 1)));
    count += (to - from) * groups.getUint32(12 + group * 12);
    from = to;
  }
  return count;
};

/**
 * Sound whose time table has one row, of single samples. Decoders read such sound chunk by chunk and ignore the size table.
 * @param leastBytes bytes of one sample according to the description
 */
export const singleSamples = (
  bytes: Uint8Array,
  { stts, stsc, stco }: Record<"stts" | "stsc" | "stco", Box | undefined>,
  sizes: Sizes,
  leastBytes: number,
): Sizes => {
  const times = stts && stts.end - stts.start >= 16 ? viewOf(bytes.subarray(stts.start, stts.end)) : undefined;
  if (times?.getUint32(4) !== 1 || times.getUint32(12) !== 1) return sizes;
  const each = Math.min(leastBytes, sizes.sizeOf(0));
  return { count: inChunks(bytes, stsc, stco), sizeOf: () => each, isSingle: true };
};

type Tables = { stsc: Box | undefined; stco: Box | undefined; sizes: Sizes };

/** Visits the samples in order, chunk by chunk, while `visit` returns true. */
export const eachSample = (
  bytes: Uint8Array,
  { stsc, stco, sizes }: Tables,
  visit: (place: SampleRange, n: number) => boolean,
): void => {
  if (!stsc || !stco) return;
  const { groups, chunks, wide, chunkCount, groupCount } = chunksOf(bytes, stsc, stco);
  const most = Math.min(sizes.count, MAX_SAMPLES);
  let [group, n] = [0, 0];
  for (let chunk = 0; chunk < chunkCount && n < most; chunk++) {
    while (group + 1 < groupCount && groups.getUint32(8 + (group + 1) * 12) <= chunk + 1) group++;
    let at = wide === 8 ? Number(chunks.getBigUint64(8 + chunk * 8)) : chunks.getUint32(8 + chunk * 4);
    for (let left = groups.getUint32(12 + group * 12); left > 0 && n < most; left--, n++) {
      const size = sizes.sizeOf(n);
      if (!visit({ at, bytes: size }, n)) return;
      at += size;
    }
  }
};
