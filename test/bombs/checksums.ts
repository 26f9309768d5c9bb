// Checksums that readers check before they parse the rest.
import { crc32 } from "node:zlib";

const OGG_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value & 0x8000_0000 ? (value << 1) ^ 0x04c1_1db7 : value << 1;
  return value >>> 0;
});

export const crc = {
  png: (bytes: Uint8Array): number => crc32(bytes),
  /** Checksum of an Ogg page whose checksum field is zero. */
  ogg: (bytes: Uint8Array): number => {
    let value = 0;
    for (const byte of bytes) value = ((value << 8) ^ (OGG_TABLE[((value >>> 24) ^ byte) & 255] ?? 0)) >>> 0;
    return value;
  },
};
