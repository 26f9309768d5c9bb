// Recipe of a corpus file: a command, or an edit of the bytes of another file.

export type Recipe = {
  name: string;
  /** A bash command; `$O` is the file, `$FF` non-interactive ffmpeg; the working directory has the other files. */
  sh?: string;
  /** Another file of the corpus, and the edit of it. */
  from?: string;
  edit?: (bytes: Buffer) => Uint8Array;
  /** Committed: small, or made by tools that few machines have. An edit of a committed file needs no tool. */
  isKept?: boolean;
  /** Number of chained streams. ffmpeg does not restart its decoder between them, which costs one frame each. */
  chained?: number;
  /** Cut: the readers must reject it or report it as incomplete. */
  isCut?: boolean;
  /** The size as it was made, where no tool reports it. */
  size?: { width: number; height: number };
};

/** Files of a family, each with name and command. */
export const made = (rows: [name: string, sh: string][], more: Partial<Recipe> = {}): Recipe[] =>
  rows.map(([name, sh]) => ({ name, sh, ...more }));

export const edited = (
  rows: [name: string, from: string, edit: (bytes: Buffer) => Uint8Array][],
  more: Partial<Recipe> = {},
): Recipe[] => rows.map(([name, from, edit]) => ({ name, from, edit, ...more }));

export const le32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};
export const be32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

/** A copy of the file with other bytes at an offset. */
export const put = (bytes: Buffer, at: number, fresh: Uint8Array) => {
  const copy = Buffer.from(bytes);
  copy.set(fresh, at);
  return copy;
};
export const insert = (bytes: Buffer, at: number, fresh: Uint8Array) =>
  Buffer.concat([bytes.subarray(0, at), fresh, bytes.subarray(at)]);
export const share = (part: number) => (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * part));

/** Deterministic bytes that match no format. */
export const noise = (length: number, seed: number) => {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let n = 0; n < length; n++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[n] = (state >>> 24) & 0x7f;
  }
  return bytes;
};

/** An ID3 tag with a picture of `length` bytes. */
export const id3 = (length: number) => {
  const size = length + 10;
  const head = Buffer.from("ID3\x04\0\0", "latin1");
  const synch = Buffer.of((size >> 21) & 127, (size >> 14) & 127, (size >> 7) & 127, size & 127);
  const frame = Buffer.concat([
    Buffer.from("APIC"),
    Buffer.of((length >> 21) & 127, (length >> 14) & 127, (length >> 7) & 127, length & 127, 0, 0),
  ]);
  return Buffer.concat([head, synch, frame, noise(length, 7)]);
};

/** An MP4 box. */
export const box = (name: string, ...parts: Uint8Array[]) => {
  const content = Buffer.concat(parts);
  return Buffer.concat([be32(content.length + 8), Buffer.from(name, "latin1"), content]);
};
