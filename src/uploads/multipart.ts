// Reads the part `file` of a multipart body as a stream, within bounds.
import type { Readable } from "node:stream";
import { Busboy } from "@fastify/busboy";
import { ApiError, refuse } from "../domain/api-errors.ts";
import { createHeldChunks } from "./release-chunk.ts";

/** Receives the next bytes of the file; the following ones are read when its promise has resolved. */
export type Sink = (chunk: Uint8Array) => Promise<void>;

/** Bounds of everything in the form beside the bytes of the file. */
const LIMITS = { fieldNameSize: 100, fieldSize: 1024, fields: 1, files: 2, parts: 2, headerPairs: 20, headerSize: 8192 };
const ONLY = "The form takes one part, `file`, with the bytes of the file";

const parserOf = (contentType: string): Busboy => {
  try {
    return new Busboy({ headers: { "content-type": contentType }, limits: LIMITS, isPartAFile: (name) => name === "file" });
  } catch {
    return refuse("invalid_request", "Content-Type: multipart/form-data needs the boundary of its parts.");
  }
};

const endedEarly = () => new ApiError("invalid_request", "The form did not arrive whole: its last boundary is missing.");
const shown = (name: string | undefined): string => JSON.stringify((name ?? "").slice(0, 80));

const consume = async (part: Readable, sink: Sink): Promise<void> => {
  const pieces = part[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (;;) {
    const { done, value } = await pieces.next().catch(() => Promise.reject(endedEarly()));
    if (done) return;
    await sink(value);
  }
};

/** Resolves when the parser accepts further bytes, or has been destroyed. */
const drained = (parser: Busboy): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      parser.off("drain", done);
      parser.off("close", done);
      resolve();
    };
    parser.on("drain", done);
    parser.on("close", done);
  });

/**
 * Passes the bytes of the part `file` to the sink.
 * @throws ApiError `invalid_request` for a form without this part, with another one, or that ends early; the errors of the sink
 */
export const readFilePart = async (contentType: string, body: AsyncIterable<Uint8Array>, sink: Sink): Promise<void> => {
  const parser = parserOf(contentType);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const finished = new Promise<void>((resolve) => void parser.once("finish", resolve));
  let received: Promise<void> | undefined;
  let isOver = false;
  const chunks = createHeldChunks();
  const take: Sink = async (piece) => {
    const { byteLength } = piece;
    await sink(piece);
    chunks.taken(byteLength);
  };
  parser.on("file", (_, part) => {
    if (received) {
      part.resume();
      return reject(new ApiError("invalid_request", `${ONLY}; this one has two.`));
    }
    received = consume(part, take);
    received.catch(reject);
  });
  parser.on("field", (name) => reject(new ApiError("invalid_request", `${ONLY}; ${shown(name)} is not taken.`)));
  for (const limit of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
    parser.on(limit, () => reject(new ApiError("invalid_request", `${ONLY}; this one has more parts.`)));
  parser.on("error", () => reject(endedEarly()));
  const feed = async (): Promise<void> => {
    for await (const chunk of body) {
      if (isOver) return;
      chunks.hold(chunk);
      if (!parser.write(chunk)) await drained(parser);
    }
    parser.end();
    await finished;
    await received;
  };
  try {
    await Promise.race([feed(), failed]);
  } finally {
    isOver = true;
    parser.destroy();
  }
  if (!received) refuse("invalid_request", `${ONLY}; this one has none.`);
};
