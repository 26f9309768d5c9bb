// Validates the bucket settings and builds the URLs of its objects.
import { encodeRfc3986, queryText, type SignedParameters } from "./sigv4.ts";

/** The settings of `s3`. */
export type BucketSettings = {
  endpoint: string;
  region: string;
  bucket: string;
  prefix: string;
  access_key: string;
  secret_key: string;
};

export type BucketConfig = {
  /** The URL of an object, or of the bucket itself if `name` is null. */
  url(name: string | null, query?: SignedParameters): URL;
  /** The object name of a result file below its generation: its file number, or the recorded name (`StoredFile.object`). */
  nameOf(generationId: string, object: number | string): string;
};

/** An invalid bucket setting. The message is one sentence and never contains credentials. */
export class BucketConfigError extends Error {}

const BUCKET = "{bucket}";

/**
 * Amazon's endpoint with the bucket in the host. Names with dots are in the path, because Amazon's certificates do not cover
 * them.
 */
const amazonOf = ({ region, bucket }: BucketSettings): string => {
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  return bucket.includes(".") ? `https://${host}` : `https://${BUCKET}.${host}`;
};

const pathOf = (text: string): string => text.split("/").map(encodeRfc3986).join("/");

/** @throws BucketConfigError */
const baseOf = (settings: BucketSettings): URL => {
  const given = settings.endpoint || amazonOf(settings);
  const isInHost = given.includes(BUCKET);
  const text = given.replace(BUCKET, settings.bucket);
  if (!URL.canParse(text))
    throw new BucketConfigError("GENROUTER_S3__ENDPOINT: expected a URL, for example https://s3.example.com");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new BucketConfigError(
      "GENROUTER_S3__ENDPOINT: expected an http or https URL without user, query and fragment, for example https://s3.example.com",
    );
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = pathOf(decodeURIComponent(path)) + (isInHost ? "" : `/${encodeRfc3986(settings.bucket)}`);
  return url;
};

/**
 * Validates the settings of a bucket.
 * @throws BucketConfigError with the setting that is missing or invalid
 */
export const bucketConfigOf = (settings: BucketSettings): BucketConfig => {
  for (const key of ["bucket", "access_key", "secret_key"] as const)
    if (settings[key] === "")
      throw new BucketConfigError(
        `GENROUTER_S3__${key.toUpperCase()} is missing; result files on S3 need GENROUTER_S3__BUCKET, __ACCESS_KEY and __SECRET_KEY`,
      );
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(settings.bucket))
    throw new BucketConfigError(
      "GENROUTER_S3__BUCKET: a bucket's name has 2 to 255 letters, digits, dots and hyphens, and begins with a letter or a digit",
    );
  if (!/^[A-Za-z0-9-]{1,60}$/.test(settings.region))
    throw new BucketConfigError("GENROUTER_S3__REGION: a region's name has letters, digits and hyphens, like eu-central-1");
  for (const key of ["access_key", "secret_key"] as const)
    if (!/^[\x21-\x7e]+$/.test(settings[key]))
      throw new BucketConfigError(
        `GENROUTER_S3__${key.toUpperCase()}: it has a character that no such key has, a space or a line break`,
      );
  const { prefix } = settings;
  // URL parsers resolve dot segments, and services treat empty segments differently.
  if (/^\/|\/\/|(^|\/)\.{1,2}(\/|$)|\p{Cc}/u.test(prefix) || Buffer.byteLength(prefix) > 500)
    throw new BucketConfigError(
      "GENROUTER_S3__PREFIX: at most 500 bytes, not beginning with a slash, without //, ./ and ../, like genrouter/",
    );
  const base = baseOf(settings);
  return {
    url: (name, query) => {
      const url = new URL(base);
      url.pathname = name === null ? url.pathname || "/" : `${url.pathname.replace(/\/$/, "")}/${pathOf(name)}`;
      url.search = query === undefined ? "" : queryText(query);
      return url;
    },
    nameOf: (generationId, object) => `${prefix}${generationId}/${object}`,
  };
};
