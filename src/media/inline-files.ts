// Files that came inside answers: unpacked piece by piece, so that a large one holds nobody up.
import type { InlineContent, ResultFile } from "../domain/types.ts";

/** After so long everything else has its turn, ms. */
const TURN_MS = 5;
const PIECE_CHARACTERS = 256 * 1024;

/** Enough to tell what a file is. */
const START_BYTES = 16 * 1024;
/** Pieces of a large file are not small; of a small one these are all, or enough. */
const MOST_SMALL = 64;

/** The bytes of a `data:` address in base64; undefined for any other. */
const inAddress = (url: string): Uint8Array | undefined => {
  const found = url.startsWith("data:") ? url.indexOf(";base64,") : -1;
  return found < 0 ? undefined : Buffer.from(url.slice(found + ";base64,".length), "base64");
};

/** Characters that make whole bytes: what is left over goes to the next piece. */
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

/** The pieces of a file that came with its announcement; undefined for one that is elsewhere. */
export const inlinePieces = async ({ url, content }: ResultFile): Promise<readonly Uint8Array[] | undefined> => {
  if (content) return unpacked(content);
  const bytes = inAddress(url);
  return bytes && [bytes];
};

/** The beginning of a file in pieces. */
export const startOf = (pieces: readonly Uint8Array[]): Uint8Array => {
  const [first] = pieces;
  if (first && (pieces.length === 1 || first.length >= START_BYTES)) return first;
  return Buffer.concat(pieces.slice(0, MOST_SMALL)).subarray(0, START_BYTES);
};
