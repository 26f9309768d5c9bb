// Generates requests that no HTTP client sends: odd methods, paths and headers, broken framing, and noise.
import fc from "fast-check";
import type { Bytes } from "./case.ts";

const BODY = '{"model":"sim-image-1","input":{"prompt":"prompt-canary-7f3a [sim:invalid]"}}';

/** Bytes as text, one character for each byte. */
const noise = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => String.fromCharCode(...bytes));
const TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const token = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 12 });

const methods = fc.oneof(fc.constantFrom("GET", "POST", "HEAD", "TRACE", "CONNECT", "get", "PRI", "PURGE", "M-SEARCH"), token);
const paths = fc.oneof(
  fc.constantFrom(
    "/v1/models",
    "/v1/generations",
    "/v1/generations/{done}",
    "/v1/generations/../models",
    "/v1/generations/%2e%2e/%2e%2e/etc/passwd",
    "//",
    "/v1//models",
    "*",
    "http://other.example/v1/models",
    "/v1/models#x",
    "/v1/models?%",
    "/files/{done}/../../genrouter.db",
    "/v1/generations/{done}/content/..;/",
    "/\\..\\..\\x",
    "/v1/generations/{done}%0d%0aX-A:%201",
    `/${"a".repeat(9_000)}`,
    "/v1/generations/\xe9",
    "/%",
  ),
  fc.string({ unit: fc.constantFrom(..."/.%2fFeE?=&;:@a0_-~"), minLength: 0, maxLength: 40 }).map((text) => `/${text}`),
);
const headers = fc.oneof(
  fc.constantFrom(
    "Authorization: Bearer {key}",
    "authorization: bearer {key}",
    "Authorization: Basic {key}",
    "Authorization: Bearer {key}\r\nAuthorization: Bearer {key}",
    "Accept: application/xml",
    "Accept-Encoding: gzip, br",
    "Expect: 100-continue",
    "Upgrade: websocket\r\nConnection: upgrade",
    "X-Forwarded-For: 127.0.0.1",
    "X-HTTP-Method-Override: DELETE",
    "Range: bytes=0-,-1",
    "If-None-Match: \x80\xff",
    "Cookie: a=b",
    "X-Request-Id: a b\tc",
    "X-Request-Id: \xc3\xa9",
    "Idempotency-Key: \xc3\xa9\xff",
    "Content-Type: \x01",
    "Forwarded: host=evil.example",
    `X-Long: ${"x".repeat(20_000)}`,
    Array.from({ length: 300 }, (_, i) => `X-${i}: 1`).join("\r\n"),
  ),
  fc
    .tuple(token, fc.string({ minLength: 0, maxLength: 30 }))
    .map(([name, value]) => `X-${name}: ${value.replace(/[^\x20-\x7e]/g, "")}`),
);

/** One complete request with Connection: close, which requires a response. */
const framed: fc.Arbitrary<Bytes> = fc
  .record({ method: methods, path: paths, lines: fc.array(headers, { maxLength: 4 }), hasBody: fc.boolean() })
  .map(({ method, path, lines, hasBody }) => {
    // HTTP defines special semantics and responses for these.
    const isBodied = hasBody && method !== "HEAD";
    const all = ["Host: localhost", "Connection: close", ...lines, ...(isBodied ? [`Content-Length: ${BODY.length}`] : [])];
    return {
      kind: "bytes",
      framed: true,
      bytes: `${method} ${path} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${isBodied ? BODY : ""}`,
    };
  });

const NEXT = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const post = (...lines: string[]) =>
  `POST /v1/generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
/** A request with an ambiguous or missing end. */
const broken: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${NEXT}`,
    `${post("Transfer-Encoding: chunked", "Transfer-Encoding: identity")}0\r\n\r\n${NEXT}`,
    `${post("Transfer-Encoding: xchunked")}${BODY}${NEXT}`,
    `${post(`Content-Length: ${BODY.length}`, "Content-Length: 0")}${BODY}${NEXT}`,
    `${post("Content-Length: -1")}${NEXT}`,
    `${post("Content-Length: 99999999999999999999")}${BODY}`,
    `${post("Content-Length: 1e2")}${BODY}`,
    `${post(`Content-Length : ${BODY.length}`)}${BODY}`,
    `${post("Transfer-Encoding: chunked")}zz\r\n${BODY}\r\n0\r\n\r\n`,
    `${post("Transfer-Encoding: chunked")}ffffffffffffffff\r\n${BODY}`,
    `${post("Transfer-Encoding: chunked")}5\r\nhello`,
    `${post("Content-Length: 100")}${BODY}`,
    "GET /v1/models HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "GET /v1/models\r\n\r\n",
    "GET /v1/models HTTP/1.1\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  ),
  noise,
  fc
    .tuple(noise, noise)
    .map(([a, b]) => `GET /v1/models HTTP/1.1\r\nHost: x\r\n${a.replace(/[\r\n]/g, "")}: ${b.replace(/[\r\n]/g, "")}\r\n\r\n`),
  fc
    .tuple(
      fc.constantFrom(NEXT, post(`Content-Length: ${BODY.length}`) + BODY),
      fc.nat(300),
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
    )
    .map(([whole, at, odd]) => `${whole.slice(0, at)}${String.fromCharCode(...odd)}${whole.slice(at)}`),
);

/** Requests for a plain socket. */
export const rawRequests: fc.Arbitrary<Bytes> = fc.oneof(
  { weight: 3, arbitrary: framed },
  { weight: 1, arbitrary: broken.map((bytes): Bytes => ({ kind: "bytes", framed: false, bytes })) },
);
