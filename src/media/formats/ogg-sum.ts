// Computes the checksum of an Ogg page.
//
// The checksum is a CRC-32, most significant bit first, over the page with its checksum field set to zero.

const POLYNOMIAL = 0x04c1_1db7;
const TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  let sum = value << 24;
  for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ POLYNOMIAL : sum << 1;
  return sum >>> 0;
});
const SUM_AT = 22;
const SUM_BYTES = 4;

export const pageSum = (page: Uint8Array): number => {
  let sum = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = at >= SUM_AT && at < SUM_AT + SUM_BYTES ? 0 : (page[at] ?? 0);
    sum = (sum << 8) ^ (TABLE[((sum >>> 24) ^ byte) & 255] ?? 0);
  }
  return sum >>> 0;
};
