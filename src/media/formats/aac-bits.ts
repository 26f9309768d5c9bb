// Reads AAC bit streams, most significant bit first.
//
// Bits that are not valid AAC cause `NoFrame`.

/** The bits are not valid AAC or end too early. */
export class NoFrame extends Error {}

export const createBits = (bytes: Uint8Array, fromByte: number) => {
  const end = bytes.length * 8;
  let at = fromByte * 8;
  /** Returns the next bits (at most 24) without consuming them; zeros after the end. */
  const peek = (count: number): number => {
    const from = at >> 3;
    const word =
      ((bytes[from] ?? 0) << 24) | ((bytes[from + 1] ?? 0) << 16) | ((bytes[from + 2] ?? 0) << 8) | (bytes[from + 3] ?? 0);
    return (word << (at & 7)) >>> (32 - count);
  };
  const skip = (count: number): void => {
    at += count;
    if (at > end) throw new NoFrame();
  };
  return {
    peek,
    skip,
    take: (count: number): number => {
      const value = peek(count);
      skip(count);
      return value;
    },
    align: () => skip((8 - (at & 7)) & 7),
    byte: () => at >> 3,
    at: () => at,
  };
};
export type Bits = ReturnType<typeof createBits>;

export const ensure = (isRight: boolean): void => {
  if (!isRight) throw new NoFrame();
};
