// Finds Matroska clusters by their id: the last one, and the next after damage.
import type { Cursor } from "./cursor.ts";
import { elementAt, ID, MAX_HEADER_BYTES } from "./ebml.ts";

/** Sizes of the searched range at the end of the file. A cluster holds a few seconds of a clip. */
const PIECES_BYTES = [1024 * 1024, 8 * 1024 * 1024];
const CLUSTER = Buffer.of(0x1f, 0x43, 0xb6, 0x75);

/** Start of the last cluster from `from`; undefined if none is found near the end. */
export const lastClusterFrom = async (cursor: Cursor, from: number): Promise<number | undefined> => {
  for (const piece of PIECES_BYTES) {
    const start = Math.max(from, cursor.sizeBytes - piece);
    if (start >= cursor.sizeBytes || !(await cursor.load(start, cursor.sizeBytes - start))) return undefined;
    const bytes = Buffer.from(cursor.part(start, cursor.sizeBytes - start));
    for (let at = bytes.lastIndexOf(CLUSTER); at >= 0; at = at > 0 ? bytes.lastIndexOf(CLUSTER, at - 1) : -1) {
      const cluster = elementAt(bytes, at, start);
      // The four bytes may also occur in encoded pictures. A cluster begins with its timestamp, or with a checksum before it.
      const first = cluster && elementAt(bytes, cluster.start - start, start);
      const isReal = first && (first.id === ID.clusterTime || first.id === 0xbf);
      if (isReal && (cluster.end === undefined || cluster.end <= cursor.sizeBytes)) return start + at;
    }
    if (start === from) return undefined;
  }
  return undefined;
};

const SEARCHED_BYTES = 1024 * 1024;

/** Index elements beside the clusters, which a decoder skips entirely, regardless of their contents. */
export const TABLES: ReadonlySet<number> = new Set([
  ...[ID.info, ID.tracks, 0x114d9b74, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367],
]);
/** Elements that may be first in a cluster. */
const IN_CLUSTER: ReadonlySet<number> = new Set([
  ...[ID.clusterTime, ID.simpleBlock, ID.group, 0xec, 0xbf, 0x5854, 0xa7, 0xab, 0xaf],
]);

/** Start of the next cluster between two offsets, searched as a decoder does after damage; undefined if there is none. */
export const nextClusterFrom = async (cursor: Cursor, from: number, to: number): Promise<number | undefined> => {
  for (let start = from; start + MAX_HEADER_BYTES < to; start += SEARCHED_BYTES) {
    // The ranges overlap, so a cluster that spans two ranges is found in the second.
    const length = Math.min(SEARCHED_BYTES + 2 * MAX_HEADER_BYTES, to - start);
    if (!(await cursor.load(start, length))) return undefined;
    const { buffer, byteOffset } = cursor.part(start, length);
    const bytes = Buffer.from(buffer, byteOffset, length);
    for (let at = bytes.indexOf(CLUSTER); at >= 0; at = bytes.indexOf(CLUSTER, at + 1)) {
      const cluster = elementAt(bytes, at, start);
      const first = cluster && elementAt(bytes, cluster.start - start, start);
      const end = cluster?.end ?? cursor.sizeBytes;
      if (first?.end !== undefined && first.end <= end && IN_CLUSTER.has(first.id)) return start + at;
    }
  }
  return undefined;
};
