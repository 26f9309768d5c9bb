// Creates thumbnails on demand with bounded concurrency; only the browser caches them.

import { refuse } from "../domain/api-errors.ts";
import type { Thumbnail } from "../media/thumbnail.ts";

const SIDE_PX = 480;
/** A larger image is not decoded for a thumbnail. */
const MAX_BYTES = 64 * 1024 * 1024;
const AT_A_TIME = 2;
/** Requests beyond this queue length are rejected. */
const MAX_WAITING = 200;

/** Limits the number of concurrent calls and queues the others. */
const openLine = () => {
  const waiting: (() => void)[] = [];
  let under = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= MAX_WAITING) return refuse("busy", "Too many thumbnails are being created; reload the page.");
    if (under >= AT_A_TIME) await new Promise<void>((turn) => waiting.push(turn));
    else under += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else under -= 1;
    }
  };
};

/** A stored image: its hash, size, owner and reader. */
type Whole = { sha256: string; bytes: number; account: string; read: () => Promise<Blob> };

/** Answers with the thumbnail of a stored image. @throws ApiError */
export type AnswerThumbnail = (whole: Whole, request: Request) => Promise<Response>;

/** Image types that thumbnails can be made of. */
export const hasThumbnail = (mime: string): boolean => /^image\/(png|jpeg|webp|gif|bmp)$/.test(mime);

/** Creates the thumbnail handler. */
export const createThumbnails = (thumbnail: Thumbnail): AnswerThumbnail => {
  const queue = openLine();
  return async ({ sha256, bytes, account, read }, request) => {
    const etag = `"${sha256}-${SIDE_PX}"`;
    const headers = {
      etag,
      "cache-control": "private, max-age=86400, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox",
    };
    if (request.headers.get("if-none-match")?.includes(etag)) return new Response(null, { status: 304, headers });
    if (bytes > MAX_BYTES) return refuse("not_found", "The picture is too large for a thumbnail.");
    const made = await queue(async () => thumbnail(await (await read()).bytes(), SIDE_PX, account));
    return new Response(made, { headers: { ...headers, "content-type": "image/webp" } });
  };
};
