// Which codings of an answer its caller unpacks by itself, and JSON in one of them.
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const packed = promisify(gzip);

/** Fewer bytes than these fit into one packet either way. A secret that was just made is in such an answer, and is never compressed. */
export const LEAST_PACKED_BYTES = 1400;

/** As every browser does; a weight of zero says no. */
export const takes = (request: Request, coding: "br" | "gzip"): boolean =>
  (request.headers.get("accept-encoding") ?? "").split(",").some((part) => {
    const [named = "", ...weights] = part.split(";").map((word) => word.trim().toLowerCase());
    return (named === coding || named === "*") && !weights.some((weight) => /^q=0(\.0*)?$/.test(weight));
  });

/** A JSON answer, compressed beside the event loop where it is long and its caller takes that. */
export const jsonAnswer = async (
  request: Request,
  value: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> => {
  const bytes = Buffer.from(JSON.stringify(value));
  if (bytes.length < LEAST_PACKED_BYTES) return new Response(bytes, { headers });
  const vary = { ...headers, vary: "Accept-Encoding" };
  if (!takes(request, "gzip")) return new Response(bytes, { headers: vary });
  return new Response(await packed(bytes), { headers: { ...vary, "content-encoding": "gzip" } });
};
