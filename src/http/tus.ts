// Headers of the tus protocol 1.0: versions, lengths, checksums and metadata.
import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Checksum } from "../uploads/receive-parts.ts";
import type { Answer } from "./response.ts";

export const TUS_VERSION = "1.0.0";
export const TUS_EXTENSIONS = "creation,expiration,termination,checksum";
export const TUS_CONTENT_TYPE = "application/offset+octet-stream";

/** Length of a digest in bytes. */
const DIGEST_BYTES: Readonly<Record<Checksum["algorithm"], number>> = { md5: 16, sha1: 20, sha256: 32 };
export const TUS_ALGORITHMS = Object.keys(DIGEST_BYTES).join(",");
const isAlgorithm = (name: string): name is Checksum["algorithm"] => Object.hasOwn(DIGEST_BYTES, name);

const METADATA_CHARS = 4096;
const WHOLE_NUMBER = /^(0|[1-9][0-9]{0,15})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const requireVersion = (request: Request): void => {
  if (request.headers.get("tus-resumable") !== TUS_VERSION)
    refuse("invalid_request", `Tus-Resumable: must be ${TUS_VERSION}.`, { status: 412, headers: { "tus-version": TUS_VERSION } });
};

/** Wraps a handler in the check of the version. Every response names the version. */
export const inTus =
  (answer: Answer): Answer =>
  async (request, requestId, params) => {
    try {
      requireVersion(request);
      const response = await answer(request, requestId, params);
      response.headers.set("tus-resumable", TUS_VERSION);
      return response;
    } catch (fault) {
      if (!(fault instanceof ApiError)) throw fault;
      const { code, message, status, retryAfterS, headers } = fault;
      const more = retryAfterS === undefined ? {} : { retryAfterS };
      throw new ApiError(code, message, { status, ...more, headers: { ...headers, "tus-resumable": TUS_VERSION } });
    }
  };

/** A header that is a number of bytes. */
const bytesOf = (request: Request, name: string): number => {
  const text = request.headers.get(name);
  const bytes = text !== null && WHOLE_NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(bytes) ? bytes : refuse("invalid_request", `${name}: must be a whole number of bytes.`);
};

/** @throws ApiError `body_too_large` above `mostBytes`, `invalid_request` */
export const uploadLengthOf = (request: Request, mostBytes: number): number => {
  if (request.headers.has("upload-defer-length"))
    refuse("invalid_request", "Upload-Defer-Length: is not supported; send Upload-Length.");
  const bytes = bytesOf(request, "Upload-Length");
  if (bytes === 0) refuse("invalid_request", "Upload-Length: the file is empty; at least 1 byte is allowed.");
  if (bytes > mostBytes)
    refuse("body_too_large", `Upload-Length: the file is over limits.upload_bytes of this service (${mostBytes} bytes).`, {
      headers: { "tus-max-size": String(mostBytes) },
    });
  return bytes;
};

export const uploadOffsetOf = (request: Request): number => bytesOf(request, "Upload-Offset");

/** `Upload-Metadata` as it was sent: pairs of a unique name and an optional value in Base64. */
export const metadataOf = (request: Request): string | null => {
  const text = request.headers.get("upload-metadata");
  if (text === null || text === "") return null;
  if (text.length > METADATA_CHARS)
    refuse("invalid_request", `Upload-Metadata: at most ${METADATA_CHARS} characters are allowed.`);
  const names = new Set<string>();
  for (const pair of text.split(",")) {
    const [name = "", value = "", ...rest] = pair.trim().split(" ");
    if (!/^[!-~]+$/.test(name) || !BASE64.test(value) || rest.length > 0)
      refuse("invalid_request", "Upload-Metadata: must be pairs of a name and a value in Base64, separated by commas.");
    if (names.has(name)) refuse("invalid_request", `Upload-Metadata: ${JSON.stringify(name)} is given twice.`);
    names.add(name);
  }
  return text;
};

export const checksumOf = (request: Request): Checksum | null => {
  const text = request.headers.get("upload-checksum");
  if (text === null) return null;
  const [algorithm = "", digest = "", ...rest] = text.split(" ");
  if (!isAlgorithm(algorithm)) return refuse("invalid_request", `Upload-Checksum: the algorithms are ${TUS_ALGORITHMS}.`);
  if (rest.length > 0 || !BASE64.test(digest) || Buffer.from(digest, "base64").length !== DIGEST_BYTES[algorithm])
    return refuse("invalid_request", `Upload-Checksum: must be ${algorithm}, a space and the digest in Base64.`);
  return { algorithm, digest };
};

export const requireOffsetStream = (request: Request): void => {
  if (request.headers.get("content-type") !== TUS_CONTENT_TYPE)
    refuse("invalid_request", `Content-Type: must be ${TUS_CONTENT_TYPE}.`, { status: 415 });
};
