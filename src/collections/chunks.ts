// Bytes in several chunks.

/** The chunks as one; a single chunk is not copied. */
export const joined = (chunks: readonly Uint8Array[]): Uint8Array =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
