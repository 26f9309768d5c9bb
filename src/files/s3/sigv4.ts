// Signs S3 requests and links with AWS Signature Version 4.
//
// Credentials come only from the configuration, the time from the system clock.

export type SignerOptions = {
  accessKey: string;
  secretKey: string;
  region: string;
  /** The system time. A service rejects signatures whose time is off by more than 15 minutes. */
  wallMs: () => number;
};

/** Query parameters or headers by name; header names in lower case. */
export type SignedParameters = Readonly<Record<string, string>>;

export interface Signer {
  /**
   * Returns all headers of the request, including the given ones.
   * @param payloadSha256 SHA-256 of the body in hex; the service rejects other bytes
   */
  sign(method: string, url: URL, headers: SignedParameters, payloadSha256: string): Record<string, string>;
  /** A URL that opens the resource for `validS` seconds, without other credentials. */
  link(method: "GET" | "HEAD", url: URL, query: SignedParameters, validS: number): string;
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/** Percent-encodes everything except letters, digits and `-._~`, as the signature requires (RFC 3986). */
export const encodeRfc3986 = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** A query string in canonical order. */
export const queryText = (query: SignedParameters): string =>
  Object.entries(query)
    .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");

const sha256 = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => new Bun.CryptoHasher("sha256", key).update(text).digest();

/** Creates the signer of one access key. Path and query of a URL must be encoded as by `encodeRfc3986`. */
export const createSigner = ({ accessKey, secretKey, region, wallMs }: SignerOptions): Signer => {
  // A derived key is valid for one day, so it is derived once a day.
  let derived: { day: string; key: Buffer } = { day: "", key: Buffer.alloc(0) };
  const keyOf = (day: string): Buffer => {
    if (derived.day !== day) {
      const parts = [day, region, "s3", "aws4_request"];
      derived = { day, key: parts.reduce((key: string | Buffer, part) => hmac(key, part), `AWS4${secretKey}`) as Buffer };
    }
    return derived.key;
  };
  const now = () => {
    const time = `${new Date(wallMs()).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
    const day = time.slice(0, 8);
    return { time, day, scope: `${day}/${region}/s3/aws4_request` };
  };
  type Moment = ReturnType<typeof now>;
  const signature = (
    { time, day, scope }: Moment,
    method: string,
    url: URL,
    query: string,
    headers: SignedParameters,
    payload: string,
  ) => {
    const names = Object.keys(headers).sort();
    const lines = names.map((name) => `${name}:${headers[name]?.trim().replace(/ +/g, " ")}\n`).join("");
    const request = [method, url.pathname, query, lines, names.join(";"), payload].join("\n");
    return hmac(keyOf(day), [ALGORITHM, time, scope, sha256(request)].join("\n")).toString("hex");
  };

  return {
    sign: (method, url, headers, payloadSha256) => {
      const moment = now();
      const all = { ...headers, host: url.host, "x-amz-content-sha256": payloadSha256, "x-amz-date": moment.time };
      const made = signature(moment, method, url, url.search.slice(1), all, payloadSha256);
      const names = Object.keys(all).sort().join(";");
      return {
        ...all,
        authorization: `${ALGORITHM} Credential=${accessKey}/${moment.scope}, SignedHeaders=${names}, Signature=${made}`,
      };
    },
    link: (method, url, query, validS) => {
      const moment = now();
      const text = queryText({
        ...query,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": `${accessKey}/${moment.scope}`,
        "X-Amz-Date": moment.time,
        "X-Amz-Expires": String(validS),
        "X-Amz-SignedHeaders": "host",
      });
      const made = signature(moment, method, url, text, { host: url.host }, "UNSIGNED-PAYLOAD");
      return `${url.origin}${url.pathname}?${text}&X-Amz-Signature=${made}`;
    },
  };
};
