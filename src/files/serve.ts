// Serves a result file, whole or as a range, streamed from disk.
//
// Headers prevent browsers from rendering a file as a page of this origin.

export type ServeOptions = {
  blob: Blob;
  /** The type detected when the file was collected. */
  mime: string;
  /** SHA-256 of the content in hex, used as a strong entity tag. */
  sha256: string;
  /** File name without path or quotes, e.g. `gen_1abc-1.mp4`. */
  name: string;
  request: Request;
  cacheControl: string;
};

/** Types that browsers only display or play; others are served as attachments. */
const SHOWN =
  /^(image\/(png|jpeg|webp|gif|bmp|avif)|video\/(mp4|webm|quicktime|x-matroska)|audio\/(mpeg|wav|flac|ogg|mp4|aac|webm))$/;

/** A file never changes, so a client may cache it, but a shared cache must not. */
export const FILE_CACHE_CONTROL = "private, max-age=3600";

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/bmp": "bmp",
  "image/avif": "avif",
  "image/heic": "heic",
  "image/heif": "heif",
  "image/tiff": "tiff",
  "image/jxl": "jxl",
  "image/jp2": "jp2",
  "image/svg+xml": "svg",
  "image/vnd.adobe.photoshop": "psd",
  "image/x-exr": "exr",
  "image/vnd.radiance": "hdr",
  "image/vnd.microsoft.icon": "ico",
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "video/webm": "webm",
  "video/x-matroska": "mkv",
  "video/x-msvideo": "avi",
  "video/mp2t": "ts",
  "video/mpeg": "mpg",
  "video/ogg": "ogv",
  "video/3gpp": "3gp",
  "video/3gpp2": "3g2",
  "video/x-flv": "flv",
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "audio/flac": "flac",
  "audio/ogg": "ogg",
  "audio/mp4": "m4a",
  "audio/aac": "aac",
  "audio/webm": "weba",
  "audio/x-matroska": "mka",
  "audio/aiff": "aiff",
  "audio/x-caf": "caf",
  "audio/amr": "amr",
  "audio/midi": "mid",
  "model/gltf-binary": "glb",
  "model/gltf+json": "gltf",
  "model/obj": "obj",
  "model/x-ply": "ply",
  "model/vnd.fbx": "fbx",
  "application/zip": "zip",
  "application/gzip": "gz",
  "application/pdf": "pdf",
};

/** The extension of a type with its dot, at most 5 characters. */
export const extensionOf = (mime: string): string => `.${EXTENSIONS[mime] ?? "bin"}`;

/** The file name for downloads. */
export const fileName = (generationId: string, n: number, mime: string): string => `${generationId}-${n}${extensionOf(mime)}`;

/** The `Content-Disposition` of a result file. */
export const dispositionOf = (mime: string, name: string): string =>
  `${SHOWN.test(mime) ? "inline" : "attachment"}; filename="${name}"`;

type Range = { start: number; end: number };

/**
 * The single requested range, `end` exclusive. Undefined if the whole file is the response (no range, several ranges, another
 * unit or invalid syntax); `unsatisfiable` if the range begins past the end (RFC 9110, 14.1.2).
 */
const rangeOf = (header: string | null, size: number): Range | "unsatisfiable" | undefined => {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? "");
  const [from = "", to = ""] = (match ?? []).slice(1);
  if (from === "" && to === "") return undefined;
  if (from === "") {
    const last = Math.min(Number(to), size);
    return last === 0 ? "unsatisfiable" : { start: size - last, end: size };
  }
  if (to !== "" && Number(to) < Number(from)) return undefined;
  if (Number(from) >= size) return "unsatisfiable";
  return { start: Number(from), end: to === "" ? size : Math.min(size, Number(to) + 1) };
};

/** Reports whether a list of entity tags contains this one; the comparison is weak, as RFC 9110, 13.1.2 requires. */
const lists = (header: string | null, etag: string): boolean =>
  (header?.split(",") ?? []).some((part) => ["*", etag, `W/${etag}`].includes(part.trim()));

/** Memory used by one client of such a stream. */
const PIECE_BYTES = 64 * 1024;

/** Streams the same bytes without exposing the file to the server, which would otherwise apply the `Range` header to it. */
const opaque = (blob: Blob): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const piece = await blob.slice(at, at + PIECE_BYTES).bytes();
        at += piece.length;
        if (piece.length > 0) controller.enqueue(piece);
        if (at >= blob.size || piece.length === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
};

/**
 * Redirects to a file that is stored elsewhere (302), or returns 304 to a client that has it. The URL is short-lived and must not
 * be cached: a later request receives another URL or the file itself.
 */
export const serveElsewhere = (what: { location: string; sha256: string; request: Request }): Response => {
  const etag = `"${what.sha256}"`;
  const headers = { "Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer" };
  if (lists(what.request.headers.get("if-none-match"), etag))
    return new Response(null, { status: 304, headers: { ...headers, "Cache-Control": FILE_CACHE_CONTROL, ETag: etag } });
  return new Response(null, { status: 302, headers: { ...headers, Location: what.location } });
};

/** Returns 200, 206, 304 or 416 for GET and HEAD. The body is streamed; a slow client does not increase memory use. */
export const serveFile = ({ blob, mime, sha256, name, request, cacheControl }: ServeOptions): Response => {
  const etag = `"${sha256}"`;
  const headers = new Headers({
    ETag: etag,
    "Cache-Control": cacheControl,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox",
  });
  if (lists(request.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  headers.set("Accept-Ranges", "bytes");
  headers.set("Content-Type", mime);
  headers.set("Content-Disposition", dispositionOf(mime, name));

  if (request.method === "HEAD") {
    headers.set("Content-Length", String(blob.size));
    return new Response(null, { headers });
  }
  const requested = request.headers.get("range");
  const ifRange = request.headers.get("if-range");
  // If the tag does not match, the client holds a part of another file. A date never matches, because files have no date.
  const range = ifRange === null || ifRange.trim() === etag ? rangeOf(requested, blob.size) : undefined;
  if (range === "unsatisfiable") {
    headers.set("Content-Range", `bytes */${blob.size}`);
    for (const header of ["Content-Type", "Content-Disposition"]) headers.delete(header);
    return new Response(null, { status: 416, headers });
  }
  if (range !== undefined) {
    headers.set("Content-Range", `bytes ${range.start}-${range.end - 1}/${blob.size}`);
    return new Response(blob.slice(range.start, range.end), { status: 206, headers });
  }
  headers.set("Content-Length", String(blob.size));
  if (requested !== null) return new Response(opaque(blob), { headers });
  // Without a `Range` header in the request, Bun does not apply one to the file.
  return new Response(blob, { headers });
};
