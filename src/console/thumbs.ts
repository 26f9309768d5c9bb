// Small pictures for lists: made when they are asked for, few at a time, and kept by the browser that asked.
import { refuse } from "../refusal.ts";

const SIDE_PX = 480;
/** What is larger is not opened for a picture of a list. */
const MOST_PIXELS = 40_000_000;
const MOST_BYTES = 64 * 1024 * 1024;
const AT_A_TIME = 2;
/** Whoever waits behind so many others is asked to come again. */
const MOST_WAITING = 200;

/** So many at a time, the others in line. */
const openLine = () => {
  const waiting: (() => void)[] = [];
  let under = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= MOST_WAITING) return refuse("busy", "Too many small pictures are being made; load the page again.");
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

/** Makes small pictures. `sha256`: of the whole one. @throws Refusal */
export const openThumbs = () => {
  const inLine = openLine();
  return async (sha256: string, bytes: number, request: Request, read: () => Promise<Blob>): Promise<Response> => {
    const etag = `"${sha256}-${SIDE_PX}"`;
    const headers = {
      etag,
      "cache-control": "private, max-age=86400, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox",
    };
    if (request.headers.get("if-none-match")?.includes(etag)) return new Response(null, { status: 304, headers });
    if (bytes > MOST_BYTES) return refuse("not_found", "This picture is too large for a small one.");
    const made = await inLine(async () => {
      const picture = new Bun.Image(await (await read()).bytes(), { maxPixels: MOST_PIXELS });
      return picture.resize(SIDE_PX, SIDE_PX, { fit: "inside", withoutEnlargement: true }).webp({ quality: 80 }).bytes();
    }).catch((fault: unknown) => {
      const code = fault instanceof Error && "code" in fault ? String(fault.code) : "";
      if (code.startsWith("ERR_IMAGE")) return refuse("not_found", "No small picture can be made of this file.");
      throw fault;
    });
    return new Response(made, { headers: { ...headers, "content-type": "image/webp" } });
  };
};
