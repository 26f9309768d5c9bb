// Tells files apart by their first bytes, written apart from the code under test.

const starts = (bytes: Uint8Array, at: number, word: string) =>
  Buffer.from(bytes.subarray(at, at + word.length)).toString("latin1") === word;

export const FILE_TYPES = {
  png: (bytes: Uint8Array) => starts(bytes, 0, "\x89PNG\r\n\x1a\n"),
  jpeg: (bytes: Uint8Array) => starts(bytes, 0, "\xff\xd8\xff"),
  webp: (bytes: Uint8Array) => starts(bytes, 0, "RIFF") && starts(bytes, 8, "WEBP"),
  mp4: (bytes: Uint8Array) => starts(bytes, 4, "ftyp"),
  mp3: (bytes: Uint8Array) => starts(bytes, 0, "ID3") || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0),
  wav: (bytes: Uint8Array) => starts(bytes, 0, "RIFF") && starts(bytes, 8, "WAVE"),
};
export const typeOf = (bytes: Uint8Array): string => Object.entries(FILE_TYPES).find(([, is]) => is(bytes))?.[0] ?? "none";
