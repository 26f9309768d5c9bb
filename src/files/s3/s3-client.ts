// The bucket: the few requests of S3 that result files need, each signed, bounded in time, and judged by what its answer says.
import type { Clock } from "../../domain/clock.ts";
import { KEEPS_CONNECTIONS } from "../../http-client/keep-alive.ts";
import { type BucketSettings, bucketConfigOf } from "./bucket-config.ts";
import { BucketFault, elementOf, faultOf, unreached } from "./errors.ts";
import { createSigner, type SignedParameters } from "./sigv4.ts";

/** What is kept with an object, besides its bytes. */
export type ObjectHead = {
  bytes: number;
  sha256: string | undefined;
  /** What a rule of the bucket is going to do with it, as services tell it: `expiry-date="…", rule-id="…"`. */
  expires: string | undefined;
};
/** How an object is to be answered. */
export type ObjectHeaders = { mime: string; disposition: string; cacheControl: string };
export type Part = { n: number; etag: string };

/** Everything throws BucketFault; what the signal ended rejects with its reason. */
export interface Bucket {
  nameOf(generationId: string, object: number | string): string;
  /** Writes an object in one request. The service itself checks the hash. */
  put(name: string, bytes: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<void>;
  /** The same, and only if nothing has the name. @returns false where something has. */
  putNew(name: string, bytes: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<boolean>;
  /** Begins an object of several parts. */
  begin(name: string, sha256: string, words: ObjectHeaders, signal: AbortSignal): Promise<string>;
  part(name: string, uploadId: string, n: number, bytes: Uint8Array, sha256: string, signal: AbortSignal): Promise<Part>;
  complete(name: string, uploadId: string, parts: readonly Part[], signal: AbortSignal): Promise<void>;
  /** Gives up what was begun; fine when it is gone. */
  abort(name: string, uploadId: string, signal: AbortSignal): Promise<void>;
  /** What was begun under this very name and never ended. */
  begun(name: string, signal: AbortSignal): Promise<string[]>;
  /** What is there under a name, or undefined. */
  head(name: string, signal: AbortSignal): Promise<ObjectHead | undefined>;
  /** The whole of an object, in memory, or undefined. An object that is larger than the most is told as `too_large`. */
  read(name: string, signal: AbortSignal, mostBytes?: number): Promise<Uint8Array | undefined>;
  /** What is there of a generation: the last part of each object's name. */
  list(generationId: string, signal: AbortSignal): Promise<string[]>;
  /** What begins with a name and has no slash after it, page by page: the last part of each, and of what has one the part before the slash. */
  listBelow(beginning: string, signal: AbortSignal): Promise<{ names: string[]; folders: string[] }>;
  /** Fine when it is gone already. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  /** A link that opens an object for so many seconds. */
  link(method: "GET" | "HEAD", name: string, words: ObjectHeaders, validS: number): string;
}

/** A part of 8 MB gets through in this time at a megabit a second. */
const ANSWER_MS = 90_000;
/** Amazon takes minutes to put a large object together, and sends spaces meanwhile. */
const COMPLETE_MS = 600_000;
const MOST_ANSWER_BYTES = 1_000_000;
/** Code of a fault: an object is larger than whoever reads it can rightly expect. */
export const TOO_LARGE = "too_large";
/** Pages of a list, 500 names each: more than that has an end that is not one. */
const MOST_PAGES = 2_000;
const NOTHING = new Uint8Array(0);
const EMPTY_SHA256 = new Bun.CryptoHasher("sha256").digest("hex");
const sha256Of = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

type Asked = {
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
    if (bytes > MOST_ANSWER_BYTES) break;
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
};

const readWhole = async (response: Response, mostBytes: number): Promise<Uint8Array> => {
  if (mostBytes === Number.POSITIVE_INFINITY) return response.bytes();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new BucketFault("object", TOO_LARGE, "the object is larger than it may be");
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

/** Opens the bucket; nothing is asked yet. @throws BucketConfigError */
export const createS3Client = (settings: BucketSettings, clock: Clock): Bucket => {
  const place = bucketConfigOf(settings);
  const signer = createSigner({
    accessKey: settings.access_key,
    secretKey: settings.secret_key,
    region: settings.region,
    // The service's own clock may be ahead of the machine's after a jump; a signature has to be of the world's time.
    wallMs: () => clock.nowMs() - (clock.aheadMs?.() ?? 0),
  });

  const askFor = async <T>(
    take: (response: Response) => Promise<T>,
    method: string,
    name: string | null,
    asked: Asked,
  ): Promise<Answered<T>> => {
    const url = place.url(name, asked.query);
    const body = asked.body ?? NOTHING;
    const payload = asked.sha256 ?? (typeof body === "string" ? sha256Of(body) : EMPTY_SHA256);
    const late = new AbortController();
    const takeBack = clock.after(asked.longestMs ?? ANSWER_MS, () => late.abort());
    try {
      const init = {
        method,
        headers: { ...signer.sign(method, url, asked.headers ?? {}, payload), "accept-encoding": "identity" },
        ...(method === "PUT" || method === "POST" ? { body } : {}),
        redirect: "manual",
        keepalive: KEEPS_CONNECTIONS,
        signal: AbortSignal.any([asked.signal, late.signal]),
        // The settings say where the bucket is: a proxy that the environment names is not asked. The types do not know `false` yet.
        proxy: false,
      };
      const response = await fetch(url, init as unknown as BunFetchRequestInit);
      return { status: response.status, headers: response.headers, text: await take(response) };
    } catch (error) {
      if (asked.signal.aborted) throw asked.signal.reason;
      if (error instanceof BucketFault) throw error;
      throw unreached(error, late.signal.aborted);
    } finally {
      takeBack();
    }
  };
  const ask = (method: string, name: string | null, asked: Asked): Promise<Answered> => askFor(readBounded, method, name, asked);
  /** The same for what must succeed. */
  const insist = async (method: string, name: string | null, asked: Asked): Promise<Answered> => {
    const answered = await ask(method, name, asked);
    if (answered.status !== 200) throw faultOf(answered.status, answered.text);
    return answered;
  };
  const put = async (name: string, body: Uint8Array, sha256: string, words: ObjectHeaders, signal: AbortSignal) =>
    void (await insist("PUT", name, { body, sha256, headers: wordsOf(words, sha256), signal }));
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
  /** The same for what may be gone already. */
  const drop = async (name: string, asked: Asked): Promise<void> => {
    const { status, text } = await ask("DELETE", name, asked);
    const isGone = status === 404 && elementOf(text, "Code") !== "NoSuchBucket";
    if (status !== 200 && status !== 204 && !isGone) throw faultOf(status, text);
  };

  return {
    nameOf: place.nameOf,
    put,
    putNew: async (name, body, sha256, words, signal) => {
      const headers = { ...wordsOf(words, sha256), "if-none-match": "*" };
      const { status, text } = await ask("PUT", name, { body, sha256, headers, signal });
      if (status === 200) return true;
      // 409: somebody else is writing it at this moment.
      if (status === 412 || elementOf(text, "Code") === "ConditionalRequestConflict") return false;
      if (status !== 501) throw faultOf(status, text);
      // It knows no conditions: then as near to it as can be had.
      if (await head(name, signal)) return false;
      await put(name, body, sha256, words, signal);
      return true;
    },
    begin: async (name, sha256, words, signal) => {
      const { text } = await insist("POST", name, { query: { uploads: "" }, headers: wordsOf(words, sha256), signal });
      const id = elementOf(text, "UploadId");
      if (!id) throw new BucketFault("away", "no_upload_id", "the bucket's answer to a new upload names none");
      return id;
    },
    part: async (name, uploadId, n, body, sha256, signal) => {
      const query = { partNumber: String(n), uploadId };
      const etag = (await insist("PUT", name, { query, body, sha256, signal })).headers.get("etag");
      if (!etag) throw new BucketFault("away", "no_etag", "the bucket's answer to a part has no ETag");
      return { n, etag };
    },
    complete: async (name, uploadId, parts, signal) => {
      const escaped = (etag: string) => etag.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
      const list = parts.map(({ n, etag }) => `<Part><PartNumber>${n}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`).join("");
      const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list}</CompleteMultipartUpload>`;
      const { text } = await insist("POST", name, { query: { uploadId }, body, signal, longestMs: COMPLETE_MS });
      // It may answer 200 before it knows, and then say in the body that it failed.
      if (!text.includes("</CompleteMultipartUploadResult>")) throw faultOf(500, text);
    },
    abort: (name, uploadId, signal) => drop(name, { query: { uploadId }, signal }),
    begun: async (name, signal) => {
      const { text } = await insist("GET", null, { query: { uploads: "", prefix: name }, signal });
      return text
        .split("<Upload>")
        .slice(1)
        .filter((each) => elementOf(each, "Key") === name)
        .flatMap((each) => elementOf(each, "UploadId") ?? []);
    },
    head,
    read: async (name, signal, mostBytes = Number.POSITIVE_INFINITY) => {
      const take = async (response: Response) =>
        response.status === 200 ? readWhole(response, mostBytes) : readBounded(response);
      const { status, headers, text } = await askFor(take, "GET", name, { signal });
      if (typeof text === "string") {
        const fault = faultOf(status, text);
        if (fault.code === "NoSuchKey" || fault.code === "http_404") return undefined;
        throw fault;
      }
      if (text.length !== Number(headers.get("content-length") ?? text.length))
        throw new BucketFault("away", "cut", "the bucket's answer ended early");
      return text;
    },
    list: async (generationId, signal) => {
      const query = { "list-type": "2", prefix: place.nameOf(generationId, "") };
      const { text } = await insist("GET", null, { query, signal });
      // Only the last part of a name is read, which is ours and plain: how services escape the rest of it differs.
      return [...text.matchAll(/<Key>[^<]*\/([0-9a-f-]+)<\/Key>/g)].flatMap(([, object]) => object ?? []);
    },
    listBelow: async (beginning, signal) => {
      const found = { names: [] as string[], folders: [] as string[] };
      const query: Record<string, string> = { "list-type": "2", prefix: beginning, delimiter: "/", "max-keys": "500" };
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const { text } = await insist("GET", null, { query, signal });
        // An end that is missing would look like the end of the list.
        if (!/<\/ListBucketResult>\s*$/.test(text)) throw new BucketFault("away", "cut", "the bucket's list ended early");
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
      throw new BucketFault("object", "endless", "the bucket's list does not end");
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
