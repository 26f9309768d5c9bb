// What may go wrong with a bucket, in three kinds: it is away, it refuses us, or one object alone did not work.

/**
 * `away`: not reached, too slow or broken on its side, so that the same may work in a moment.
 * `refused`: it answers and says no to all of us: credentials, rights, region, name.
 * `object`: about one object; others may work.
 */
export type FaultKind = "away" | "refused" | "object";

/** The message is a sentence without addresses, names of objects and credentials. */
export class BucketFault extends Error {
  readonly kind: FaultKind;
  /** Of the service (`SlowDown`) or the system (`ECONNREFUSED`). */
  readonly code: string;
  constructor(kind: FaultKind, code: string, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** Says that it waits, not that it never comes: told of 400 too. */
const AWAY_CODES = new Set(["RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"]);
/** About the object that was asked for, whatever the status. */
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
  AccessDenied: "the access key may not do this; deploy/S3.md has the rights that it needs",
  InvalidAccessKeyId: "the service does not know GENROUTER_S3__ACCESS_KEY",
  SignatureDoesNotMatch: "GENROUTER_S3__SECRET_KEY does not belong to the access key",
  AuthorizationHeaderMalformed: "GENROUTER_S3__REGION may be another one's",
  InvalidObjectState: "the object lies in a class that answers only after it was restored there",
  PermanentRedirect: "the bucket is in another region; see GENROUTER_S3__REGION and __ENDPOINT",
  NoSuchBucket: "there is no bucket of the name in GENROUTER_S3__BUCKET",
  RequestTimeTooSkewed: "this machine's clock is wrong",
};

/** What a text of XML holds in its first element of a name; entities are read. */
export const elementOf = (xml: string, name: string): string | undefined => {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "");
};

const kindOf = (status: number, code: string): FaultKind => {
  if (AWAY_CODES.has(code) || status === 408 || status === 429 || status >= 500) return status === 501 ? "refused" : "away";
  if (OBJECT_CODES.has(code)) return "object";
  return status === 400 || status === 404 || status === 409 || status === 412
    ? code === "NoSuchBucket" || code === "AuthorizationHeaderMalformed"
      ? "refused"
      : "object"
    : "refused";
};

/** What an answer that is no success means. @param xml its body, where there is one */
export const faultOf = (status: number, xml: string): BucketFault => {
  const told = elementOf(xml, "Code") ?? "";
  const code = /^[A-Za-z0-9.]{1,60}$/.test(told) ? told : `http_${status}`;
  const advice = WHAT_TO_DO[code];
  return new BucketFault(
    kindOf(status, code),
    code,
    `the bucket answers ${status}${told === code ? ` ${code}` : ""}${advice ? `: ${advice}` : ""}`,
  );
};

/** What a request that got no answer means. The error itself is dropped: it may hold a signed address. */
export const unreached = (error: unknown, isOver: boolean): BucketFault => {
  if (isOver) return new BucketFault("away", "timeout", "the bucket does not answer in time");
  const code = error instanceof Error && "code" in error ? String(error.code) : "no_answer";
  return new BucketFault("away", code, `the bucket cannot be reached (${code})`);
};
