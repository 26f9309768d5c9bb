// Serves each bomb at its path from a separate process, and expands it only while it is sent.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { BOMBS, piecesOf, type Throw } from "./all.ts";
import { type Piece, sizeOf, slice } from "./bytes.ts";

const PART_BYTES = 256 * 1024;
const PATH = /^\/bomb\/(\d+)\/(\d+)\/([01])\/([01])\//;

/** The path of a bomb; `n` makes it unique. */
export const pathOf = ({ index, bytes, isCut, hasRanges }: Throw, n: number): string =>
  `/bomb/${index}/${bytes}/${Number(isCut)}/${Number(hasRanges)}/${n}`;

const send = async (response: ServerResponse, pieces: readonly Piece[], start: number, end: number): Promise<void> => {
  for (let at = start; at < end && !response.destroyed; ) {
    const upTo = Math.min(end, at + PART_BYTES);
    if (!response.write(slice(pieces, at, upTo)))
      await new Promise<void>((go) => {
        response.once("drain", go);
        response.once("close", go);
      });
    at = upTo;
  }
  response.end();
};

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const [, index = "", bytes = "", cut = "", ranges = ""] = PATH.exec(request.url ?? "") ?? [];
  const bomb = BOMBS[Number(index)];
  if (index === "" || !bomb) return void response.writeHead(404).end();
  const pieces = piecesOf({ index: Number(index), bytes: Number(bytes), isCut: cut === "1", hasRanges: ranges === "1" });
  const size = sizeOf(pieces);
  const encoding = bomb.encoding === undefined ? {} : { "content-encoding": bomb.encoding };
  const asked = ranges === "1" ? /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") : null;
  const start = asked ? Number(asked[1]) : 0;
  const end = asked && asked[2] !== "" ? Math.min(size, Number(asked[2]) + 1) : size;
  const common = { "content-type": bomb.mime, ...encoding, ...(ranges === "1" ? { "accept-ranges": "bytes" } : {}) };
  if (asked && start >= size) return void response.writeHead(416, { "content-range": `bytes */${size}` }).end();
  response.writeHead(asked ? 206 : 200, {
    ...common,
    "content-length": Math.max(0, end - start),
    ...(asked ? { "content-range": `bytes ${start}-${end - 1}/${size}` } : {}),
  });
  if (request.method === "HEAD") return void response.end();
  await send(response, pieces, start, end);
};

/** Serves until the process ends, and prints the URL. */
export const serveBombs = (): void => {
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.stdout.write(`bombs at http://127.0.0.1:${typeof address === "object" ? address?.port : 0}\n`);
  });
};
