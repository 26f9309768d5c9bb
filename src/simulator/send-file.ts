// Sends result files with transfer faults: compressed, misnamed, without length, or late.
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { type Fault, isFault, numberOf } from "./faults.ts";
import { type Reply, ranged, type SimulatorRequest } from "./http-server.ts";

/** Compresses in separate threads, because an embedded simulator must not block the service. */
const PACK: Readonly<Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  gzip: promisify(zlib.gzip),
  deflate: promisify(zlib.deflate),
  br: (bytes) => promisify(zlib.brotliCompress)(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: promisify(zlib.zstdCompress),
};

const wordOf = (fault: Fault, param: string, byDefault: string): string => {
  const word = fault[param];
  return typeof word === "string" ? word : byDefault;
};

/** @param file the whole file with its bytes; a range request returns a part of it, unless it is compressed */
export const sendAs = async (
  request: SimulatorRequest,
  file: Reply & { body: Uint8Array },
  fault: Fault | undefined,
): Promise<Reply> => {
  if (!fault) return ranged(request, file);
  const headers = (more: Record<string, string>) => ({ ...file.headers, ...more });
  const pack = PACK[fault.name];
  if (pack) return { ...file, headers: headers({ "content-encoding": fault.name }), body: await pack(file.body) };
  if (isFault(fault, "misnamed-coding"))
    return ranged(request, { ...file, headers: headers({ "content-encoding": wordOf(fault, "coding", "aws-chunked") }) });
  if (isFault(fault, "wrong-type"))
    return ranged(request, { ...file, headers: headers({ "content-type": wordOf(fault, "type", "application/octet-stream") }) });
  if (isFault(fault, "no-length")) return { ...file, isUntold: true };
  return { ...ranged(request, file), delayMs: numberOf(fault, "ms") };
};
