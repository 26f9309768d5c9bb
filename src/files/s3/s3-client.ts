// Minimal S3 client: signed requests with timeouts and classified errors.
import type { Clock } from "../../domain/clock.ts";
import { KEEPS_CONNECTIONS } from "../../http-client/keep-alive.ts";
import { type BucketSettings, bucketConfigOf } from "./bucket-config.ts";
import { BucketError, elementOf, faultOf, unreached } from "./errors.ts";
import { createSigner, type SignedParameters } from "./sigv4.ts";

/** Metadata of an object. */
export type ObjectHead = {
  bytes: number;
  sha256: string | undefined;
  /** The deletion scheduled by a lifecycle rule, in the form of the service: `expiry-date="…", rule-id="…"`. */
  expires: string | undefined;
};
/** Response headers of an object. */
export type ObjectHeaders = { mime: string; disposition: string; cacheControl: string };
export type Part = { n: number; etag: string };

/** All methods throw BucketError; an aborted request rejects with the reason of the signal. */
export interface Bucket {
  nameOf(generationId: string, object: number | string): string;
  /**
   * Writes an object in one request. The service verifies the hash.
   * @returns whether the response has the entity tag of the object, which a service sends when it has stored the object
   */
  put(name: string, bytes: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<boolean>;
  /** Writes an object only if the name does not exist. @returns false if it exists */
  putNew(name: string, bytes: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<boolean>;
  /** Starts a multipart upload. */
  begin(name: string, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<string>;
  part(name: string, uploadId: string, n: number, bytes: Uint8Array, sha256: string, signal: AbortSignal): Promise<Part>;
  complete(name: string, uploadId: string, parts: readonly Part[], signal: AbortSignal): Promise<void>;
  /** Aborts a multipart upload; succeeds if it no longer exists. */
  abort(name: string, uploadId: string, signal: AbortSignal): Promise<void>;
  /** The ids of unfinished multipart uploads with exactly this name. */
  begun(name: string, signal: AbortSignal): Promise<string[]>;
  /** Metadata of an object; undefined if it does not exist. */
  head(name: string, signal: AbortSignal): Promise<ObjectHead | undefined>;
  /** The whole object in memory; undefined if it does not exist. An object above `mostBytes` fails with `too_large`. */
  read(name: string, signal: AbortSignal, mostBytes?: number): Promise<Uint8Array | undefined>;
  /** The last name segments of the objects of a generation. */
  list(generationId: string, signal: AbortSignal): Promise<string[]>;
  /**
   * Lists all pages of the names that begin with `beginning`: the last segment of each, and the first segment of names that
   * contain a further slash.
   */
  listBelow(beginning: string, signal: AbortSignal): Promise<{ names: string[]; folders: string[] }>;
  /** Deletes an object; succeeds if it does not exist. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  /** A link that opens an object for `validS` seconds. */
  link(method: "GET" | "HEAD", name: string, words: ObjectHeaders, validS: number): string;
}

/** Sufficient for a part of 8 MB at 1 Mbit/s. */
const ANSWER_MS = 90_000;
/** Amazon takes minutes to assemble a large object and sends spaces in the meantime. */
const COMPLETE_MS = 600_000;
const MAX_ANSWER_BYTES = 1_000_000;
/** Error code of an object that is larger than the reader allows. */
export const TOO_LARGE = "too_large";
/** Maximum number of list pages of 500 names each; a longer list is considered endless. */
const MAX_PAGES = 2_000;
const NOTHING = new Uint8Array(0);
const EMPTY_SHA256 = new Bun.CryptoHasher("sha256").digest("hex");
const sha256Of = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

type RequestOptions = {
  query?: SignedParameters;
  headers?: SignedParameters;
  body?: Uint8Array | string;
  sha256?: string;
  signal: AbortSignal;
  longestMs?: number;
};
type Answered<T = string> = { status: number; headers: Headers; text: T };

const readBounded = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
};

const readBody = async (response: Response, mostBytes: number): Promise<Uint8Array> => {
  if (mostBytes === Number.POSITIVE_INFINITY) return response.bytes();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new BucketError("object", TOO_LARGE, "the object is larger than it may be");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const wordsOf = ({ mime, disposition, cacheControl }: ObjectHeaders, sha256: string): SignedParameters => ({
  "content-type": mime,
  "content-disposition": disposition,
  "cache-control": cacheControl,
  "x-amz-meta-sha256": sha256,
});

/** Creates the client without a request. @throws BucketConfigError */
export const createS3Client = (settings: BucketSettings, clock: Clock): Bucket => {
  const place = bucketConfigOf(settings);
  const signer = createSigner({
    accessKey: settings.access_key,
    secretKey: settings.secret_key,
    region: settings.region,
    // The service clock may be ahead of the system clock after a jump, but a signature needs the real time.
    wallMs: () => clock.nowMs() - (clock.aheadMs?.() ?? 0),
  });

  const request = async <T>(
    take: (response: Response) => Promise<T>,
    method: string,
    name: string | null,
    requested: RequestOptions,
  ): Promise<Answered<T>> => {
    const url = place.url(name, requested.query);
    const body = requested.body ?? NOTHING;
    const payload = requested.sha256 ?? (typeof body === "string" ? sha256Of(body) : EMPTY_SHA256);
    const late = new AbortController();
    const takeBack = clock.after(requested.longestMs ?? ANSWER_MS, () => late.abort());
    try {
      const init = {
        method,
        headers: { ...signer.sign(method, url, requested.headers ?? {}, payload), "accept-encoding": "identity" },
        ...(method === "PUT" || method === "POST" ? { body } : {}),
        redirect: "manual",
        keepalive: KEEPS_CONNECTIONS,
        signal: AbortSignal.any([requested.signal, late.signal]),
        // The settings define where the bucket is, so a proxy in the environment is not used. Bun's types do not declare `false`
        // yet.
        proxy: false,
      };
      const response = await fetch(url, init as unknown as BunFetchRequestInit);
      return { status: response.status, headers: response.headers, text: await take(response) };
    } catch (error) {
      if (requested.signal.aborted) throw requested.signal.reason;
      if (error instanceof BucketError) throw error;
      throw unreached(error, late.signal.aborted);
    } finally {
      takeBack();
    }
  };
  const ask = (method: string, name: string | null, requested: RequestOptions): Promise<Answered> =>
    request(readBounded, method, name, requested);
  /** Like `ask`, for requests that must succeed. */
  const sendWithRetry = async (method: string, name: string | null, requested: RequestOptions): Promise<Answered> => {
    const answered = await ask(method, name, requested);
    if (answered.status !== 200) throw faultOf(answered.status, answered.text);
    return answered;
  };
  const put = async (name: string, body: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal) => {
    const { headers } = await sendWithRetry("PUT", name, { body, sha256, headers: wordsOf(words, sha256), signal });
    return headers.has("etag");
  };
  const head = async (name: string, signal: AbortSignal): Promise<ObjectHead | undefined> => {
    const { status, headers, text } = await ask("HEAD", name, { signal });
    if (status === 404) return undefined;
    if (status !== 200) throw faultOf(status, text);
    return {
      bytes: Number(headers.get("content-length") ?? Number.NaN),
      sha256: headers.get("x-amz-meta-sha256") ?? undefined,
      expires: headers.get("x-amz-expiration") ?? undefined,
    };
  };
  /** Like `ask`, for deletions of objects that may no longer exist. */
  const drop = async (name: string, requested: RequestOptions): Promise<void> => {
    const { status, text } = await ask("DELETE", name, requested);
    const isMissing = status === 404 && elementOf(text, "Code") !== "NoSuchBucket";
    if (status !== 200 && status !== 204 && !isMissing) throw faultOf(status, text);
  };

  return {
    nameOf: place.nameOf,
    put,
    putNew: async (name, body, sha256, words, signal) => {
      const headers = { ...wordsOf(words, sha256), "if-none-match": "*" };
      const { status, text } = await ask("PUT", name, { body, sha256, headers, signal });
      if (status === 200) return true;
      // 409: another writer is writing the object at the moment.
      if (status === 412 || elementOf(text, "Code") === "ConditionalRequestConflict") return false;
      if (status !== 501) throw faultOf(status, text);
      // The service does not support conditional writes, so the existence is checked first.
      if (await head(name, signal)) return false;
      await put(name, body, sha256, words, signal);
      return true;
    },
    begin: async (name, sha256, words, signal) => {
      const { text } = await sendWithRetry("POST", name, { query: { uploads: "" }, headers: wordsOf(words, sha256), signal });
      const id = elementOf(text, "UploadId");
      if (!id) throw new BucketError("unavailable", "no_upload_id", "the bucket's answer to a new upload names none");
      return id;
    },
    part: async (name, uploadId, n, body, sha256, signal) => {
      const query = { partNumber: String(n), uploadId };
      const etag = (await sendWithRetry("PUT", name, { query, body, sha256, signal })).headers.get("etag");
      if (!etag) throw new BucketError("unavailable", "no_etag", "the bucket's answer to a part has no ETag");
      return { n, etag };
    },
    complete: async (name, uploadId, parts, signal) => {
      const escaped = (etag: string) => etag.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
      const list = parts.map(({ n, etag }) => `<Part><PartNumber>${n}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`).join("");
      const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list}</CompleteMultipartUpload>`;
      const { text } = await sendWithRetry("POST", name, { query: { uploadId }, body, signal, longestMs: COMPLETE_MS });
      // The service may send status 200 before it has finished, and report a failure in the body.
      if (!text.includes("</CompleteMultipartUploadResult>")) throw faultOf(500, text);
    },
    abort: (name, uploadId, signal) => drop(name, { query: { uploadId }, signal }),
    begun: async (name, signal) => {
      const { text } = await sendWithRetry("GET", null, { query: { uploads: "", prefix: name }, signal });
      return text
        .split("<Upload>")
        .slice(1)
        .filter((each) => elementOf(each, "Key") === name)
        .flatMap((each) => elementOf(each, "UploadId") ?? []);
    },
    head,
    read: async (name, signal, mostBytes = Number.POSITIVE_INFINITY) => {
      const take = async (response: Response) =>
        response.status === 200 ? readBody(response, mostBytes) : readBounded(response);
      const { status, headers, text } = await request(take, "GET", name, { signal });
      if (typeof text === "string") {
        const fault = faultOf(status, text);
        if (fault.code === "NoSuchKey" || fault.code === "http_404") return undefined;
        throw fault;
      }
      if (text.length !== Number(headers.get("content-length") ?? text.length))
        throw new BucketError("unavailable", "cut", "the bucket's answer ended early");
      return text;
    },
    list: async (generationId, signal) => {
      const query = { "list-type": "2", prefix: place.nameOf(generationId, "") };
      const { text } = await sendWithRetry("GET", null, { query, signal });
      // Only the last name segment is parsed, which is generated by genrouter and plain. Services escape the rest differently.
      return [...text.matchAll(/<Key>[^<]*\/([0-9a-f-]+)<\/Key>/g)].flatMap(([, object]) => object ?? []);
    },
    listBelow: async (beginning, signal) => {
      const found = { names: [] as string[], folders: [] as string[] };
      const query: Record<string, string> = { "list-type": "2", prefix: beginning, delimiter: "/", "max-keys": "500" };
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const { text } = await sendWithRetry("GET", null, { query, signal });
        // A truncated response would look like the end of the list.
        if (!/<\/ListBucketResult>\s*$/.test(text)) throw new BucketError("unavailable", "cut", "the bucket's list ended early");
        found.names.push(...[...text.matchAll(/<Key>(?:[^<]*\/)?([\w.-]+)<\/Key>/g)].flatMap(([, name]) => name ?? []));
        found.folders.push(
          ...[...text.matchAll(/<CommonPrefixes>\s*<Prefix>(?:[^<]*\/)?([\w.-]+)\/<\/Prefix>/g)].flatMap(
            ([, name]) => name ?? [],
          ),
        );
        const next = elementOf(text, "NextContinuationToken");
        if (elementOf(text, "IsTruncated") !== "true") return found;
        if (!next) break;
        query["continuation-token"] = next;
      }
      throw new BucketError("object", "endless", "the bucket's list does not end");
    },
    delete: (name, signal) => drop(name, { signal }),
    link: (method, name, { mime, disposition, cacheControl }, validS) => {
      const query = {
        "response-cache-control": cacheControl,
        "response-content-disposition": disposition,
        "response-content-type": mime,
      };
      return signer.link(method, place.url(name), query, validS);
    },
  };
};
