// S3 test server that rejects what S3 rejects, such as wrong signatures, and fails on request.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Came, type Credentials, errorOf, queryOf } from "./sigv4.ts";

export type Kept = { bytes: Buffer; headers: Record<string, string> };
/** A request; `key` is empty for the bucket itself. */
export type Asked = { method: string; key: string; query: Map<string, string>; isLink: boolean };
/**
 * `cut`: the connection ends after the first bytes of the body. `reset`: the connection ends after the work, before the response.
 * `hang`: no response. `lie`: 200 with an error in the body. `lose`: 200, but nothing is stored. `proxied`: the same without an entity tag.
 */
export type Failure = "cut" | "reset" | "hang" | "lie" | "lose" | "proxied" | { status: number; code: string };

export type TestBucket = {
  endpoint: string;
  settings: Record<string, string>;
  objects: Map<string, Kept>;
  uploads: Map<string, { key: string; parts: Map<number, Kept>; headers: Record<string, string> }>;
  /** Every request, with the code of its rejection. */
  seen: (Asked & { refused?: string })[];
  /** Decides for each request whether it fails. */
  fail: (asked: Asked) => Failure | undefined;
  /** The response waits for this promise. */
  hold: (asked: Asked) => Promise<void> | undefined;
  /** When a lifecycle rule of the bucket deletes an object. */
  expires: (key: string) => Date | undefined;
  /** Names in one page of a list. */
  pageKeys: number;
  /** Handling of `If-None-Match` at a PUT: some services ignore it, some reject it. */
  conditions: "known" | "ignored" | "refused";
  /** Bytes of bodies read so far. */
  received: () => number;
  /** Stops listening until `back`. */
  interrupt(): Promise<void>;
  back(): Promise<void>;
  close(): Promise<void>;
};

const BUCKET = "results";
const KNOWN: Credentials = { accessKey: "AKIDTEST", secretKey: "s3cr3t/of+the+test", region: "eu-test-1" };

const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex");
const xml = (name: string, inner: string) => `<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${inner}</${name}>`;
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Starts it on a free port. @param nowMs its clock; `base` is the path of all endpoints */
export const openTestBucket = async (nowMs: () => number, base = ""): Promise<TestBucket> => {
  const objects: TestBucket["objects"] = new Map();
  const uploads: TestBucket["uploads"] = new Map();
  const seen: TestBucket["seen"] = [];
  const own: Pick<TestBucket, "fail" | "hold" | "expires" | "pageKeys" | "conditions"> = {
    fail: () => undefined,
    hold: () => undefined,
    expires: () => undefined,
    pageKeys: 1000,
    conditions: "known",
  };
  let made = 0;
  let received = 0;

  const answer = (to: ServerResponse, status: number, headers: Record<string, string> = {}, body: string | Buffer = "") => {
    to.writeHead(status, { "content-length": String(Buffer.byteLength(body)), ...headers });
    to.end(to.req.method === "HEAD" ? undefined : body);
  };
  const refuse = (to: ServerResponse, status: number, code: string) =>
    answer(to, status, { "content-type": "application/xml" }, xml("Error", `<Code>${code}</Code><Message>no</Message>`));

  const keepable = (headers: IncomingMessage["headers"]) =>
    Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        /^(content-(type|disposition)|cache-control|x-amz-meta-.*)$/.test(name) ? [[name, String(value)]] : [],
      ),
    );

  const read = (asked: Asked, request: IncomingMessage, to: ServerResponse) => {
    const kept = objects.get(asked.key);
    if (!kept) return refuse(to, 404, "NoSuchKey");
    const overrides = [...asked.query].flatMap(([name, value]) =>
      name.startsWith("response-") ? [[name.slice("response-".length), value]] : [],
    );
    const { bytes } = kept;
    const date = own.expires(asked.key);
    const rule = date ? { "x-amz-expiration": `expiry-date="${date.toUTCString()}", rule-id="results"` } : {};
    const headers = {
      ...kept.headers,
      ...rule,
      etag: `"${md5(bytes)}"`,
      "accept-ranges": "bytes",
      ...Object.fromEntries(overrides),
    };
    if (request.headers["if-none-match"] === headers.etag) return answer(to, 304, { etag: headers.etag });
    const [, from, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    if (from === undefined) return answer(to, 200, { ...headers, "content-length": String(bytes.length) }, bytes);
    const end = last === "" ? bytes.length : Math.min(bytes.length, Number(last) + 1);
    if (Number(from) >= bytes.length) return answer(to, 416, { ...headers, "content-range": `bytes */${bytes.length}` });
    const range = `bytes ${from}-${end - 1}/${bytes.length}`;
    return answer(to, 206, { ...headers, "content-range": range }, bytes.subarray(Number(from), end));
  };

  const complete = (asked: Asked, body: Buffer, to: ServerResponse) => {
    const id = asked.query.get("uploadId") ?? "";
    const upload = uploads.get(id);
    if (upload?.key !== asked.key) return refuse(to, 404, "NoSuchUpload");
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)];
    const parts = named.map(([, n, etag]) => ({ part: upload.parts.get(Number(n)), etag: etag?.replaceAll("&quot;", '"') }));
    if (parts.length === 0 || parts.some(({ part, etag }) => !part || `"${md5(part.bytes)}"` !== etag))
      return refuse(to, 400, "InvalidPart");
    if (parts.slice(0, -1).some(({ part }) => (part?.bytes.length ?? 0) < 5 * 1024 * 1024))
      return refuse(to, 400, "EntityTooSmall");
    objects.set(asked.key, { bytes: Buffer.concat(parts.flatMap(({ part }) => part?.bytes ?? [])), headers: upload.headers });
    uploads.delete(id);
    return answer(to, 200, {}, xml("CompleteMultipartUploadResult", `<Key>${escaped(asked.key)}</Key>`));
  };

  /** A page of the stored keys, after its continuation token. */
  const list = (query: Map<string, string>, to: ServerResponse) => {
    const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter") ?? ""];
    const rollUp = (key: string) => {
      const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      return end < 0 ? key : key.slice(0, end + 1);
    };
    const from = query.get("continuation-token") ?? "";
    const keys = [...new Set([...objects.keys()].filter((key) => key.startsWith(prefix)).map(rollUp))].sort();
    const left = keys.filter((key) => key > from);
    const page = left.slice(0, own.pageKeys);
    const more = left.length > page.length ? `<NextContinuationToken>${escaped(page.at(-1) ?? "")}</NextContinuationToken>` : "";
    const entry = (key: string) =>
      objects.has(key)
        ? `<Contents><Key>${escaped(key)}</Key></Contents>`
        : `<CommonPrefixes><Prefix>${escaped(key)}</Prefix></CommonPrefixes>`;
    const head = `<Prefix>${escaped(prefix)}</Prefix><IsTruncated>${more !== ""}</IsTruncated>${more}`;
    return answer(to, 200, {}, xml("ListBucketResult", head + page.map(entry).join("")));
  };

  const work = (asked: Asked, request: IncomingMessage, body: Buffer, to: ServerResponse, failure?: Failure): unknown => {
    const { method, key, query } = asked;
    const id = query.get("uploadId");
    if (key === "" && method === "GET" && query.has("uploads")) {
      const all = [...uploads].filter(([, each]) => each.key.startsWith(query.get("prefix") ?? ""));
      const list = all.map(
        ([one, each]) => `<Upload><Key>${escaped(each.key)}</Key><UploadId>${escaped(one)}</UploadId></Upload>`,
      );
      return answer(to, 200, {}, xml("ListMultipartUploadsResult", list.join("")));
    }
    if (key === "" && method === "GET" && query.get("list-type") === "2") {
      return list(query, to);
    }
    if (key === "") return refuse(to, 405, "MethodNotAllowed");
    if (method === "GET" || method === "HEAD") return read(asked, request, to);
    if (method === "POST" && query.has("uploads")) {
      const fresh = `up/${++made}&<"=`;
      uploads.set(fresh, { key, parts: new Map(), headers: keepable(request.headers) });
      return answer(to, 200, {}, xml("InitiateMultipartUploadResult", `<UploadId>${escaped(fresh)}</UploadId>`));
    }
    if (method === "POST") return complete(asked, body, to);
    if (method === "DELETE" && id !== undefined) return uploads.delete(id) ? answer(to, 204) : refuse(to, 404, "NoSuchUpload");
    if (method === "DELETE") {
      objects.delete(key);
      return answer(to, 204);
    }
    if (method !== "PUT") return refuse(to, 405, "MethodNotAllowed");
    const kept = { bytes: body, headers: keepable(request.headers) };
    const isNew = own.conditions !== "ignored" && request.headers["if-none-match"] === "*";
    if (isNew && own.conditions === "refused") return refuse(to, 501, "NotImplemented");
    if (isNew && objects.has(key)) return refuse(to, 412, "PreconditionFailed");
    if (id === undefined) {
      if (failure !== "lose" && failure !== "proxied") objects.set(key, kept);
    } else {
      const upload = uploads.get(id);
      if (upload?.key !== key) return refuse(to, 404, "NoSuchUpload");
      upload.parts.set(Number(query.get("partNumber")), kept);
    }
    return answer(to, 200, failure === "proxied" ? {} : { etag: `"${md5(body)}"` });
  };

  const take = async (request: IncomingMessage, to: ServerResponse): Promise<void> => {
    const target = request.url ?? "/";
    const query = queryOf(target);
    const method = request.method ?? "";
    const path = decodeURIComponent(target.split("?")[0] ?? "");
    const place = `${base}/${BUCKET}`;
    const asked: Asked = { method, key: path.slice(place.length + 1), query, isLink: query.has("X-Amz-Signature") };
    const entry: TestBucket["seen"][number] = { ...asked };
    seen.push(entry);
    const failure = own.fail(asked);
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
      received += (chunk as Buffer).length;
      if (failure === "cut") return void request.socket.destroy();
    }
    if (failure === "cut") return void request.socket.destroy();
    if (failure === "hang") return;
    await own.hold(asked);
    const body = Buffer.concat(chunks);
    const came: Came = { method, target, headers: request.headers as Came["headers"] };
    const refused =
      path !== place && !path.startsWith(`${place}/`)
        ? "NoSuchBucket"
        : errorOf(came, createHash("sha256").update(body).digest("hex"), KNOWN, nowMs());
    if (refused !== undefined) {
      entry.refused = refused;
      const statuses: Record<string, number> = { NoSuchBucket: 404, XAmzContentSHA256Mismatch: 400, InvalidArgument: 400 };
      return void refuse(to, statuses[refused] ?? 403, refused);
    }
    if (failure === "lie") return void answer(to, 200, {}, xml("Error", "<Code>InternalError</Code>"));
    if (typeof failure === "object") return void refuse(to, failure.status, failure.code);
    if (failure === "lose" && method === "POST") {
      work(asked, request, body, to);
      return void objects.delete(asked.key);
    }
    if (failure === "reset") {
      work(asked, request, body, { writeHead: () => undefined, end: () => undefined, req: request } as never);
      return void request.socket.destroy();
    }
    work(asked, request, body, to, failure);
  };

  let server: Server | undefined;
  const listen = (port: number) =>
    new Promise<number>((heard) => {
      const fresh = createServer((request, to) => void take(request, to).catch(() => request.socket.destroy()));
      server = fresh;
      fresh.listen(port, "127.0.0.1", () => heard((fresh.address() as AddressInfo).port));
    });
  const interrupt = () =>
    new Promise<void>((gone) => {
      server?.close(() => gone());
      server?.closeAllConnections();
    });
  const port = await listen(0);
  const endpoint = `http://127.0.0.1:${port}${base}`;
  return {
    endpoint,
    settings: {
      GENROUTER_FILES__STORE: "s3",
      GENROUTER_S3__ENDPOINT: endpoint,
      GENROUTER_S3__REGION: KNOWN.region,
      GENROUTER_S3__BUCKET: BUCKET,
      GENROUTER_S3__ACCESS_KEY: KNOWN.accessKey,
      GENROUTER_S3__SECRET_KEY: KNOWN.secretKey,
    },
    objects,
    uploads,
    seen,
    get fail() {
      return own.fail;
    },
    set fail(next) {
      own.fail = next;
    },
    get hold() {
      return own.hold;
    },
    set hold(next) {
      own.hold = next;
    },
    get expires() {
      return own.expires;
    },
    set expires(next) {
      own.expires = next;
    },
    get pageKeys() {
      return own.pageKeys;
    },
    set pageKeys(next) {
      own.pageKeys = next;
    },
    get conditions() {
      return own.conditions;
    },
    set conditions(next) {
      own.conditions = next;
    },
    received: () => received,
    interrupt,
    back: async () => void (await listen(port)),
    close: interrupt,
  };
};
