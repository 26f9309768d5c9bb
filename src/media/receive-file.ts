// Streams a result body into a received file: decodes, hashes and checks it.
//
// The kind is checked by the first bytes, before the rest is downloaded.

import type { MediaKind } from "../domain/types.ts";
import type { Incoming } from "../files/port.ts";
import { decoded, Undecodable } from "../http-client/content-encoding.ts";
import { giveBack, Unreadable } from "./byte-source.ts";
import { gathering } from "./chunked-writer.ts";
import { HEADER_BYTES, type HeaderBytes, isClear, kindOfHeader, LONG_HEADER_BYTES } from "./result-kinds.ts";

/**
 * `print` identifies the received bytes, to compare two tries. `isOurs`: the file is complete and only genrouter cannot read it.
 */
export class UnreadableResult extends Unreadable {
  readonly print: string;
  readonly isOurs: boolean;
  constructor(message: string, print: string, isOurs: boolean) {
    super(message);
    this.print = print;
    this.isOurs = isOurs;
  }
}

export type Arrived = {
  bytes: number;
  sha256: string;
  mime: string;
  /** The whole file, if it was small enough to be held in memory. */
  whole: readonly Uint8Array[] | undefined;
};

/** How a result is received; `claims` are the content types that the server and the provider declare. */
export type ReceiveOptions = {
  kind: MediaKind;
  mostBytes: number;
  claims: readonly (string | null | undefined)[];
  /** Called for each received chunk. */
  alive: () => void;
  /** The result has no other file. */
  isAlone: boolean;
};

/**
 * A small body that decodes to a large file is a decompression bomb. Uncompressed pictures and silence shrink to a hundredth; no
 * legitimate file shrinks to less than 1/250 of its size.
 */
const MAX_EXPANSION = 250;
const EXPANSION_FREE_BYTES = 64 * 1024 * 1024;

const hashOf = (...parts: (string | Uint8Array)[]): string => {
  const hash = new Bun.CryptoHasher("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, 32);
};

/**
 * State of a body while it is received. The fingerprint depends on the headers of the server and the number of received bytes.
 */
class Passage {
  /** Bytes received over the wire. */
  came = 0;
  start: Uint8Array = new Uint8Array(0);
  private readonly announced: string | null;
  private readonly tag: string | null;

  constructor(headers: Headers) {
    this.announced = headers.get("content-length");
    this.tag = headers.get("etag");
  }
  /** Rejects a body of which only the beginning was checked. */
  refuse(message: string, isOurs = false): UnreadableResult {
    const head = this.start.subarray(0, HEADER_BYTES);
    return new UnreadableResult(message, hashOf("look", `${this.announced} ${this.tag} `, head), isOurs);
  }
  /** Rejects a body that is incomplete or too large. */
  broken(message: string): UnreadableResult {
    return new UnreadableResult(message, hashOf("broken", `${this.announced} ${this.tag} ${this.came}`), false);
  }
  end(): void {
    if (this.announced === null || Number(this.announced) === this.came) return;
    throw this.broken(`${this.came} of ${this.announced} bytes came`);
  }
}

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;
/** Returns the next chunk of a body; undefined at its end. @throws UnreadableResult */
type NextPiece = () => Promise<Uint8Array | undefined>;

const piecesFrom = (reader: Reader, passage: Passage, { mostBytes, alive }: ReceiveOptions): NextPiece => {
  const lost = (): never => {
    throw passage.broken("its connection broke");
  };
  return async () => {
    const { done, value } = await reader.read().catch(lost);
    if (done) {
      passage.end();
      return undefined;
    }
    alive();
    passage.came += value.length;
    if (passage.came > mostBytes) throw passage.broken(`it is larger than ${mostBytes} bytes`);
    return value;
  };
};

/** A body without a declared content coding is not decoded. */
const isIdentity = (header: string | null): boolean => /^\s*(?:identity)?\s*$/i.test(header ?? "");

const each = async function* (next: NextPiece): AsyncGenerator<Uint8Array> {
  for (let piece = await next(); piece !== undefined; piece = await next()) yield piece;
};

const UNKNOWN_SOUND = "audio/mpeg";

const vet = (look: HeaderBytes, kind: MediaKind, passage: Passage): string => {
  if (look.sort === "words") throw passage.refuse(`it is ${look.what}, not ${kind}`);
  // Audio may begin with unrecognized bytes; the frame check after the download decides.
  if (look.sort === "unknown" && kind === "audio") return UNKNOWN_SOUND;
  if (look.sort === "unknown") throw passage.refuse(`it is nothing known, not ${kind}`, true);
  if (!look.answers.includes(kind)) throw passage.refuse(`it is ${look.mime}, not ${kind}`);
  return look.mime;
};

/** Collects the first bytes until the kind of the file is clear. */
const openLooking = (passage: Passage, { kind, claims }: ReceiveOptions) => {
  let mime: string | undefined;
  return {
    mime: () => mime,
    see: (piece: Uint8Array | null) => {
      if (mime !== undefined) return;
      if (piece !== null && passage.start.length < LONG_HEADER_BYTES)
        passage.start =
          passage.start.length === 0
            ? piece.subarray(0, LONG_HEADER_BYTES)
            : Buffer.concat([passage.start, piece.subarray(0, LONG_HEADER_BYTES - passage.start.length)]);
      if (piece === null && passage.start.length === 0) throw passage.broken("it is empty");
      const isAll = piece === null || passage.start.length >= LONG_HEADER_BYTES;
      if (!isAll && passage.start.length < HEADER_BYTES) return;
      const look = kindOfHeader(passage.start, claims);
      if (isAll || isClear(look, kind)) mime = vet(look, kind, passage);
    },
  };
};

/**
 * Streams a body into `incoming`.
 * @throws UnreadableResult, and the errors of the storage
 */
export const receiveBody = async (response: Response, incoming: Incoming, options: ReceiveOptions): Promise<Arrived> => {
  const { mostBytes } = options;
  const { headers } = response;
  const passage = new Passage(headers);
  if (Number(headers.get("content-length") ?? 0) > mostBytes) {
    await response.body?.cancel().catch(() => {});
    throw passage.broken(`it is larger than ${mostBytes} bytes`);
  }
  const reader = response.body?.getReader();
  if (!reader) throw passage.broken("it is empty");
  const hash = new Bun.CryptoHasher("sha256");
  const kept = gathering(incoming, options.isAlone);
  const looking = openLooking(passage, options);
  let bytes = 0;
  try {
    const next = piecesFrom(reader, passage, options);
    const take = (piece: Uint8Array): Promise<void> | undefined => {
      bytes += piece.length;
      if (bytes > mostBytes) throw passage.broken(`it is larger than ${mostBytes} bytes`);
      if (bytes > EXPANSION_FREE_BYTES && bytes > passage.came * MAX_EXPANSION)
        throw passage.broken(`its ${passage.came} bytes become more than ${bytes}`);
      looking.see(piece);
      hash.update(piece);
      return kept.write(piece);
    };
    const coding = headers.get("content-encoding");
    if (isIdentity(coding))
      for (let piece = await next(); piece !== undefined; piece = await next()) {
        const written = take(piece);
        if (!written) continue;
        await written;
        giveBack(piece);
      }
    else
      for await (const piece of (await decoded(each(next), coding, mostBytes)).chunks)
        try {
          await take(piece);
        } catch (fault) {
          // The decoder reads ahead, and the loop ends only after the decoder. Without the cancellation, a slow server would
          // delay the error.
          await reader.cancel().catch(() => {});
          throw fault;
        }
    looking.see(null);
  } catch (fault) {
    throw fault instanceof Undecodable ? passage.broken(fault.isTooLarge ? `it is ${fault.message}` : fault.message) : fault;
  } finally {
    await reader.cancel().catch(() => {});
  }
  return { bytes, sha256: hash.digest("hex"), mime: looking.mime() ?? "", whole: await kept.end() };
};
