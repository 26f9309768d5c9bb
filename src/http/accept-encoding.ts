// Which codings of an answer its caller unpacks by itself, and JSON in one of them.
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const packed = promisify(gzip);

/** Fewer bytes than these fit into one packet either way. A secret that was just made is in such an answer, and is never compressed. */
export const LEAST_PACKED_BYTES = 1400;

/** As every browser does; a weight of zero says no, and what is named is not meant by `*` (RFC 9110, 12.5.3). */
export const takes = (request: Request, coding: "br" | "gzip"): boolean => {
  const asked = (request.headers.get("accept-encoding") ?? "").split(",").map((part) => {
    const [name = "", ...weights] = part.split(";").map((word) => word.replaceAll(/\s/g, "").toLowerCase());
    return { name, isWanted: !weights.some((weight) => /^q=0(\.0*)?$/.test(weight)) };
  });
  return (asked.find(({ name }) => name === coding) ?? asked.find(({ name }) => name === "*"))?.isWanted ?? false;
};

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
