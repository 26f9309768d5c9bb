// Streams a file from the bucket to a client that can reach no other host.

import { FileMissing, StorageUnavailable } from "./port.ts";
import { FILE_CACHE_CONTROL } from "./serve.ts";

/** Headers of the bucket's response that are passed on. */

const FORWARDED_HEADERS = ["content-type", "content-length", "content-range", "accept-ranges", "content-disposition"] as const;

/**
 * @param location a short-lived link to the file
 * @throws StorageUnavailable if the bucket cannot be reached, FileMissing if it does not have the file
 */
export const serveThrough = async (location: string, sha256: string, request: Request): Promise<Response> => {
  const etag = `"${sha256}"`;
  const headers = new Headers({
    etag,
    "cache-control": FILE_CACHE_CONTROL,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
  });
  if (request.headers.get("if-none-match")?.includes(etag)) return new Response(null, { status: 304, headers });
  const requested = new Headers();
  // The bucket uses its own entity tags, so `If-Range` is evaluated here and only the range is forwarded.
  const isOfAnother = request.headers.has("if-range") && request.headers.get("if-range")?.trim() !== etag;
  const range = request.headers.get("range");
  if (range !== null && !isOfAnother) requested.set("range", range);
  // A signed link is valid for one method only.
  const method = request.method === "HEAD" ? "HEAD" : "GET";
  const init = { method, headers: requested, redirect: "error", signal: request.signal } as const;
  const answer = await fetch(location, init).catch((fault: unknown) => {
    if (request.signal.aborted) throw fault;
    throw new StorageUnavailable("the bucket cannot be asked");
  });
  if (answer.status !== 200 && answer.status !== 206 && answer.status !== 416) {
    await answer.body?.cancel();
    if (answer.status === 404) throw new FileMissing("the bucket has no such file");
    throw new StorageUnavailable(`the bucket answered ${answer.status}`);
  }
  for (const name of FORWARDED_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null && (answer.status !== 416 || name === "content-range")) headers.set(name, value);
  }
  if (answer.status !== 416) return new Response(answer.body, { status: answer.status, headers });
  await answer.body?.cancel();
  return new Response(null, { status: 416, headers });
};
