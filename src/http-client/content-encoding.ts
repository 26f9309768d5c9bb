// Decodes compressed response bodies that were sent without being requested.
//
// Decoding is bounded and incremental; plain bodies are passed through.
import * as zlib from "node:zlib";

export type Coding = "gzip" | "zstd" | "br" | "deflate" | "deflate-raw";

/** The body is compressed, but damaged, truncated, or larger than the bound after decoding. */
export class Undecodable extends Error {
  readonly isTooLarge: boolean;
  constructor(message: string, isTooLarge: boolean) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

export type Decoded = {
  /** The removed codings, outermost first; empty for a plain body. */
  codings: readonly Coding[];
  /** The decoded body. Errors of its source are rethrown unchanged; decoding errors are thrown as `Undecodable`. */
  chunks: AsyncIterable<Uint8Array>;
};

/** First bytes of a body that are used to detect its coding. */
const START_BYTES = 64;
/** Bytes that are decoded as a trial. */
const TRIED_BYTES = 4096;
/** Maximum number of nested codings; more are not an accident. */
const MAX_LAYERS = 3;
const CHUNK_BYTES = 64 * 1024;

/** Decoding runs in this thread and yields to the event loop after this time, ms. */
const TURN_MS = 5;

const FORMATS: Readonly<Record<Coding, string>> = {
  gzip: "gzip",
  zstd: "zstd",
  br: "brotli",
  deflate: "deflate",
  "deflate-raw": "deflate-raw",
};

/** Trial decoders for codings without a signature. `finishFlush` permits truncated input. */
const TRY: Readonly<Partial<Record<Coding, (start: Uint8Array) => unknown>>> = {
  br: (start) =>
    zlib.brotliDecompressSync(start, { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH, maxOutputLength: CHUNK_BYTES }),
  deflate: (start) => zlib.inflateSync(start, { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: CHUNK_BYTES }),
  "deflate-raw": (start) =>
    zlib.inflateRawSync(start, { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: CHUNK_BYTES }),
};

const goesThrough = (coding: Coding, start: Uint8Array): boolean => {
  try {
    TRY[coding]?.(start);
    return true;
  } catch (fault) {
    // The output exceeds the limit, so the input is compressed.
    return fault instanceof Error && "code" in fault && fault.code === "ERR_BUFFER_TOO_LARGE";
  }
};

const beginsWith = (start: Uint8Array, bytes: readonly number[], at = 0): boolean =>
  bytes.every((byte, i) => start[at + i] === byte);
const ascii = (text: string): number[] => [...Buffer.from(text, "latin1")];

/** Signatures of plain media files. */
const PLAIN_STARTS: readonly (readonly [bytes: readonly number[], at: number])[] = [
  [[0x89, ...ascii("PNG\r\n")], 0],
  [[0xff, 0xd8, 0xff], 0],
  [ascii("GIF8"), 0],
  [ascii("RIFF"), 0],
  [ascii("ftyp"), 4],
  [ascii("ID3"), 0],
  [ascii("OggS"), 0],
  [ascii("fLaC"), 0],
  [ascii("glTF"), 0],
  [[0x1a, 0x45, 0xdf, 0xa3], 0],
];
/** Every byte of text is printable; compressed data almost always has other bytes near its beginning. */
const isText = (start: Uint8Array): boolean =>
  start.length > 0 && start.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d || byte === 0x09);
const isPlain = (start: Uint8Array): boolean =>
  PLAIN_STARTS.some(([bytes, at]) => beginsWith(start, bytes, at)) || isText(start.subarray(0, START_BYTES));

/** The codings in a header that cannot be detected by their bytes. The others have signatures. */
const namedBy = (header: string | null): Coding[] =>
  (header ?? "")
    .toLowerCase()
    .split(",")
    .map((word) => word.trim())
    .flatMap((word): Coding[] => (word === "br" || word === "deflate" ? [word] : []));

/**
 * The coding of a body by its first bytes. The header alone is not reliable: some servers declare `gzip`, `aws-chunked`, `utf-8`
 * or `none` for plain bytes, and some declare one coding and use another.
 */
const codingOf = (start: Uint8Array, named: readonly Coding[]): Coding | undefined => {
  if (beginsWith(start, [0x1f, 0x8b, 0x08])) return "gzip";
  if (beginsWith(start, [0x28, 0xb5, 0x2f, 0xfd])) return "zstd";
  if (named.length === 0 || start.length === 0 || isPlain(start)) return undefined;
  const tried: Coding[] = named.flatMap((coding): Coding[] => (coding === "deflate" ? ["deflate", "deflate-raw"] : [coding]));
  return tried.find((coding) => goesThrough(coding, start.subarray(0, TRIED_BYTES)));
};

/** Reads the first bytes and returns an iterator that replays them. */
const peek = async (source: AsyncIterable<Uint8Array>) => {
  const pieces = source[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let bytes = 0;
  let isOver = false;
  while (!isOver && bytes < START_BYTES) {
    const { done, value } = await pieces.next();
    if (done) isOver = true;
    else {
      seen.push(value);
      bytes += value.length;
    }
  }
  const again = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* seen;
      while (!isOver) {
        const { done, value } = await pieces.next();
        isOver = done === true;
        if (!done) yield value;
      }
    } finally {
      // Releases the socket when the reader stops.
      await pieces.return?.();
    }
  };
  const [first] = seen;
  return { start: seen.length === 1 && first ? first : Buffer.concat(seen), again };
};

/** A stream that pulls the chunks one by one. */
const streamOf = (source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const pieces = source[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await pieces.return?.()),
  });
};

const decode = async function* (
  source: AsyncIterable<Uint8Array>,
  coding: Coding,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let fault: unknown;
  const watched = async function* () {
    try {
      yield* source;
    } catch (error) {
      fault = error;
      throw error;
    }
  };
  // Bun supports more formats than its types declare.
  const through = new DecompressionStream(FORMATS[coding] as ConstructorParameters<typeof DecompressionStream>[0]);
  let bytes = 0;
  let turnEndsAt = performance.now() + TURN_MS;
  try {
    // Decoding follows the consumer, so the unread part of a decompression bomb is never in memory.
    for await (const chunk of streamOf(watched()).pipeThrough(through as TransformStream<Uint8Array, Uint8Array>)) {
      bytes += chunk.length;
      if (bytes > mostBytes) throw new Undecodable(`larger than ${mostBytes} bytes when it is decoded`, true);
      yield chunk;
      if (performance.now() < turnEndsAt) continue;
      await new Promise(setImmediate);
      turnEndsAt = performance.now() + TURN_MS;
    }
  } catch (error) {
    if (error instanceof Undecodable) throw error;
    if (fault !== undefined) throw fault;
    throw new Undecodable(`its ${coding} is damaged or cut short`, false);
  }
};

/**
 * Decodes a response body.
 * @param header the `Content-Encoding` of the response
 * @param mostBytes maximum output of each coding
 */
export const decoded = async (body: AsyncIterable<Uint8Array>, header: string | null, mostBytes: number): Promise<Decoded> => {
  const named = namedBy(header);
  const codings: Coding[] = [];
  for (let chunks = body; ; ) {
    const { start, again } = await peek(chunks);
    const coding = codings.length < MAX_LAYERS ? codingOf(start, named) : undefined;
    if (coding === undefined) return { codings, chunks: again() };
    codings.push(coding);
    const at = named.indexOf(coding === "deflate-raw" ? "deflate" : coding);
    if (at >= 0) named.splice(at, 1);
    chunks = decode(again(), coding, mostBytes);
  }
};
