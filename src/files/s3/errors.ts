// Classifies bucket errors: bucket unavailable, request refused, or single object.

/**
 * The kind of a fault:
 * - `unavailable`: not reached, too slow or failing on its side; the same request may succeed soon.
 * - `refused`: the bucket rejects every request of this client: credentials, permissions, region or name.
 * - `object`: concerns one object; others may succeed.
 */
export type FaultKind = "unavailable" | "refused" | "object";

/** The message is a sentence without URLs, object names and credentials. */
export class BucketError extends Error {
  readonly kind: FaultKind;
  /** Error code of the service (`SlowDown`) or the system (`ECONNREFUSED`). */
  readonly code: string;
  constructor(kind: FaultKind, code: string, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** Codes of temporary errors, which are also sent with status 400. */
const UNAVAILABLE_CODES = new Set(["RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"]);
/** Codes that concern the requested object, regardless of the status. */
const OBJECT_CODES = new Set([
  "BadDigest",
  "EntityTooLarge",
  "EntityTooSmall",
  "IncompleteBody",
  "InvalidPart",
  "InvalidPartOrder",
  "NoSuchKey",
  "NoSuchUpload",
  "XAmzContentSHA256Mismatch",
]);

const WHAT_TO_DO: Readonly<Record<string, string>> = {
  AccessDenied: "the access key lacks a permission; deploy/S3.md lists the required ones",
  InvalidAccessKeyId: "GENROUTER_S3__ACCESS_KEY is unknown to the service",
  SignatureDoesNotMatch: "GENROUTER_S3__SECRET_KEY does not belong to the access key",
  AuthorizationHeaderMalformed: "GENROUTER_S3__REGION may be wrong",
  InvalidObjectState: "the storage class of the object requires a restore first",
  PermanentRedirect: "the bucket is in another region; see GENROUTER_S3__REGION and __ENDPOINT",
  NoSuchBucket: "there is no bucket of the name in GENROUTER_S3__BUCKET",
  RequestTimeTooSkewed: "this machine's clock is wrong",
};

/** The content of the first XML element with a name, with entities decoded. */
export const elementOf = (xml: string, name: string): string | undefined => {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "");
};

const kindOf = (status: number, code: string): FaultKind => {
  if (UNAVAILABLE_CODES.has(code) || status === 408 || status === 429 || status >= 500)
    return status === 501 ? "refused" : "unavailable";
  if (OBJECT_CODES.has(code)) return "object";
  return status === 400 || status === 404 || status === 409 || status === 412
    ? code === "NoSuchBucket" || code === "AuthorizationHeaderMalformed"
      ? "refused"
      : "object"
    : "refused";
};

/** Classifies an unsuccessful response. @param xml its body, if there is one */
export const faultOf = (status: number, xml: string): BucketError => {
  const reported = elementOf(xml, "Code") ?? "";
  const code = /^[A-Za-z0-9.]{1,60}$/.test(reported) ? reported : `http_${status}`;
  const advice = WHAT_TO_DO[code];
  return new BucketError(
    kindOf(status, code),
    code,
    `the bucket returned ${status}${reported === code ? ` ${code}` : ""}${advice ? `: ${advice}` : ""}`,
  );
};

/** Classifies a request without a response. The error itself is dropped, because it may contain a signed URL. */
export const unreached = (error: unknown, isOver: boolean): BucketError => {
  if (isOver) return new BucketError("unavailable", "timeout", "the bucket does not respond in time");
  const code = error instanceof Error && "code" in error ? String(error.code) : "no_answer";
  return new BucketError("unavailable", code, `the bucket cannot be reached (${code})`);
};
