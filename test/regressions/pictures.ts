// Images from real tools that were once rejected: very large ones, and JPEGs with long metadata.
import { deflateSync } from "node:zlib";

const chunk = (name: string, payload: Uint8Array): Buffer => {
  const content = Buffer.concat([Buffer.from(name, "latin1"), payload]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(payload.length, 0);
  ends.writeUInt32BE(Bun.hash.crc32(content), 4);
  return Buffer.concat([ends.subarray(0, 4), content, ends.subarray(4)]);
};

/** A black PNG with one bit per pixel. At 16,384 x 16,384 it has a few tens of kilobytes. */
export const largePng = (width: number, height: number): Uint8Array => {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([1, 0, 0, 0, 0], 8);
  const rows = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  const signature = Buffer.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
};

/** A JPEG with `bytes` of metadata before its image data, as content credentials and depth maps produce. */
export const notedJpeg = (jpeg: Uint8Array, bytes: number): Uint8Array => {
  const parts: Uint8Array[] = [jpeg.subarray(0, 2)];
  for (let left = bytes; left > 0; ) {
    const length = Math.min(left, 65_533);
    const note = Buffer.alloc(length + 2);
    note.set([0xff, 0xeb, (length >> 8) & 255, length & 255]);
    parts.push(note);
    left -= length;
  }
  return Buffer.concat([...parts, jpeg.subarray(2)]);
};
