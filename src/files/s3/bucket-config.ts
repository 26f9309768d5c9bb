// Where the objects of result files are: the settings of a bucket, judged once, and the address of everything in it.
import { encodeRfc3986, queryText, type SignedParameters } from "./sigv4.ts";

/** As the settings of `s3` have it. */
export type BucketSettings = {
  endpoint: string;
  region: string;
  bucket: string;
  prefix: string;
  access_key: string;
  secret_key: string;
};

export type BucketConfig = {
  /** The address of an object, or of the bucket itself where no name is given. */
  url(name: string | null, query?: SignedParameters): URL;
  /**
   * The name of the object of a result file: below its generation, its place, or what is written down of it (`StoredFile.object`).
   */
  nameOf(generationId: string, object: number | string): string;
};

/** A setting that names no bucket. One sentence; credentials are never repeated in it. */
export class BucketConfigError extends Error {}

const BUCKET = "{bucket}";

/** Amazon's own address: with the bucket in the host, but for names with dots, which no certificate of theirs covers. */
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
    throw new BucketConfigError("GENROUTER_S3__ENDPOINT: that is not an address; give one like https://s3.example.com");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new BucketConfigError(
      "GENROUTER_S3__ENDPOINT: give an http or https address without user, query and fragment, like https://s3.example.com",
    );
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = pathOf(decodeURIComponent(path)) + (isInHost ? "" : `/${encodeRfc3986(settings.bucket)}`);
  return url;
};

/**
 * Judges the settings of a bucket.
 * @throws BucketConfigError naming the setting that is missing or cannot be used.
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
  // An address takes dots between slashes for a way up, and services disagree about empty parts.
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
