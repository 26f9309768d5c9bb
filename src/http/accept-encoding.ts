// Reads the content codings that a client accepts and compresses JSON responses.
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const packed = promisify(gzip);

/**
 * A response of fewer bytes fits into one packet uncompressed. Responses that contain a new secret are shorter and therefore
 * never compressed.
 */
export const MIN_PACKED_BYTES = 1400;

/**
 * Every browser accepts both codings. A weight of zero refuses a coding, and `*` does not match a coding that is named (RFC 9110,
 * 12.5.3).
 */
export const takes = (request: Request, coding: "br" | "gzip"): boolean => {
  const requested = (request.headers.get("accept-encoding") ?? "").split(",").map((part) => {
    const [name = "", ...weights] = part.split(";").map((word) => word.replaceAll(/\s/g, "").toLowerCase());
    return { name, isWanted: !weights.some((weight) => /^q=0(\.0*)?$/.test(weight)) };
  });
  return (requested.find(({ name }) => name === coding) ?? requested.find(({ name }) => name === "*"))?.isWanted ?? false;
};

/** Returns a JSON response, compressed off the event loop if it is long enough and the client accepts the coding. */
export const jsonAnswer = async (
  request: Request,
  value: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> => {
  const bytes = Buffer.from(JSON.stringify(value));
  if (bytes.length < MIN_PACKED_BYTES) return new Response(bytes, { headers });
  const vary = { ...headers, vary: "Accept-Encoding" };
  if (!takes(request, "gzip")) return new Response(bytes, { headers: vary });
  return new Response(await packed(bytes), { headers: { ...vary, "content-encoding": "gzip" } });
};
