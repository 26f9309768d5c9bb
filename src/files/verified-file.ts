// Reads a file in pieces, and compares it with its recorded size and hash.
import type { FileBytes } from "../domain/types.ts";
import { StorageUnavailable } from "./port.ts";

/** The bytes of a file on disk. */
export const blobFile = (blob: Blob): FileBytes => ({ size: blob.size, read: () => blob.stream() });

/**
 * The same bytes, of which the last are held back until all of them have the recorded hash. So a reader never receives another
 * file as a whole. @throws StorageUnavailable while streaming, if the file is not the recorded one
 */
export const verifiedFile = (file: FileBytes, sha256: string): FileBytes => ({
  size: file.size,
  async *read(signal) {
    const hash = new Bun.CryptoHasher("sha256");
    let bytes = 0;
    let held: Uint8Array | undefined;
    for await (const piece of file.read(signal)) {
      hash.update(piece);
      bytes += piece.byteLength;
      if (held) yield held;
      held = piece;
    }
    if (bytes !== file.size || hash.digest("hex") !== sha256)
      throw new StorageUnavailable("a stored file is not the recorded one");
    if (held) yield held;
  },
});
