// Writes a streamed file, with up to its first 1 MiB gathered into one call.
import type { Incoming } from "../files/port.ts";

/** A file up to this size is measured without reading it back. */
const GATHERED_BYTES = 1024 * 1024;
/** A slow stream can deliver more chunks than one write call accepts. */
const GATHERED_PIECES = 1000;

/**
 * Gathers the first chunks and writes them together at the end of the stream or above a bound. Later chunks are written one by
 * one.
 * @param isAlone no other file is received for the same result, so a gathered one can stay in memory until it is kept
 */
export const gathering = (incoming: Pick<Incoming, "write" | "hold">, isAlone = false) => {
  let buffered: Uint8Array[] | null = [];
  let bytes = 0;
  /** Returns undefined while chunks are only gathered, so the caller has nothing to await. */
  const write = (chunk: Uint8Array): Promise<void> | undefined => {
    if (buffered === null) return incoming.write(chunk);
    buffered.push(chunk);
    bytes += chunk.length;
    if (bytes <= GATHERED_BYTES && buffered.length < GATHERED_PIECES) return undefined;
    const first = buffered;
    buffered = null;
    return incoming.write(...first);
  };
  /** Returns the chunks of the whole file if it was small enough to be gathered; undefined otherwise. */
  const end = async (): Promise<readonly Uint8Array[] | undefined> => {
    if (buffered === null) return undefined;
    if (isAlone) incoming.hold(buffered);
    else await incoming.write(...buffered);
    return buffered;
  };
  return { write, end };
};
