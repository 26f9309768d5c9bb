// Decodes result files that a provider embeds in its response.
//
// Large files are decoded in slices, so that decoding does not block the event loop.
import type { InlineContent, ResultFile } from "../domain/types.ts";

/** Decoding yields to the event loop after this time, ms. */
const TURN_MS = 5;
const PIECE_CHARACTERS = 256 * 1024;

/** Sufficient to detect the kind of a file. */
const START_BYTES = 16 * 1024;
/** The chunks of a large file are large. For a small file, this number covers all chunks or enough of them. */
const MAX_SMALL = 64;

/** Decodes a base64 `data:` URL; undefined for any other URL. */
const inAddress = (url: string): Uint8Array | undefined => {
  const found = url.startsWith("data:") ? url.indexOf(";base64,") : -1;
  return found < 0 ? undefined : Buffer.from(url.slice(found + ";base64,".length), "base64");
};

/** Number of characters that encode whole bytes. A remainder is carried over to the next slice. */
const GROUP = { base64: 4, hex: 2 } as const;

const unpacked = async ({ as, pieces }: InlineContent): Promise<readonly Uint8Array[]> => {
  const made: Uint8Array[] = [];
  let rest = "";
  let turnEndsAt = performance.now() + TURN_MS;
  const unpack = async (text: string, as: "base64" | "hex") => {
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      const part = rest + text.slice(at, at + PIECE_CHARACTERS).replace(/\s+/g, "");
      const whole = part.length - (part.length % GROUP[as]);
      made.push(Buffer.from(part.slice(0, whole), as));
      rest = part.slice(whole);
      if (performance.now() < turnEndsAt) continue;
      await new Promise(setImmediate);
      turnEndsAt = performance.now() + TURN_MS;
    }
  };
  for (const piece of pieces)
    if (typeof piece !== "string") made.push(piece);
    else if (as !== "raw") await unpack(piece, as);
  if (rest !== "" && as !== "raw") made.push(Buffer.from(rest, as));
  return made;
};

/** The chunks of a file that is embedded in the response; undefined if the file is at a URL. */
export const inlinePieces = async ({ url, content }: ResultFile): Promise<readonly Uint8Array[] | undefined> => {
  if (content) return unpacked(content);
  const bytes = inAddress(url);
  return bytes && [bytes];
};

/** The first bytes of a file that is held in chunks. */
export const startOf = (pieces: readonly Uint8Array[]): Uint8Array => {
  const [first] = pieces;
  if (first && (pieces.length === 1 || first.length >= START_BYTES)) return first;
  return Buffer.concat(pieces.slice(0, MAX_SMALL)).subarray(0, START_BYTES);
};
