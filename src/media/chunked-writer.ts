// Writes a file that comes in pieces: the first of it in one call, and of a small one all.
import type { Incoming } from "../files/port.ts";

/** A file up to this size is written in one go, and measured without reading it back. */
const GATHERED_BYTES = 1024 * 1024;
/** One that drips in comes in more pieces than can be handed on at once. */
const GATHERED_PIECES = 1000;

/** Writes what comes: the first of it together, once that is much or all; the rest piece by piece. */
export const gathering = (incoming: Pick<Incoming, "write">) => {
  let gathered: Uint8Array[] | null = [];
  let bytes = 0;
  /** Nothing is waited for as long as it is only gathered. */
  const write = (chunk: Uint8Array): Promise<void> | undefined => {
    if (gathered === null) return incoming.write(chunk);
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes <= GATHERED_BYTES && gathered.length < GATHERED_PIECES) return undefined;
    const first = gathered;
    gathered = null;
    return incoming.write(...first);
  };
  /** The whole, where it was small enough to be kept. */
  const end = async (): Promise<readonly Uint8Array[] | undefined> => {
    if (gathered !== null) await incoming.write(...gathered);
    return gathered ?? undefined;
  };
  return { write, end };
};
