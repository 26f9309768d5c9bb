// Signature Version 4: the verifier, our signer and Bun's client agree with the examples that AWS publishes.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createSigner } from "../../../src/files/s3/sigv4.ts";
import { type Came, errorOf, signatureOf } from "./sigv4.ts";

const ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const HOST = "examplebucket.s3.amazonaws.com";
const TIME = "20130524T000000Z";
const SCOPE = "20130524/us-east-1/s3/aws4_request";
const AT_MS = Date.UTC(2013, 4, 24);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const EMPTY = sha256("");

/** "Examples: Signature Calculations in AWS Signature Version 4", Amazon S3 API reference. */
const PUBLISHED: [
  name: string,
  method: string,
  target: string,
  headers: Record<string, string>,
  body: string,
  signature: string,
][] = [
  [
    "GET of a range",
    "GET",
    "/test.txt",
    { range: "bytes=0-9" },
    "",
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  ],
  [
    "PUT of a name with a dollar",
    "PUT",
    "/test%24file.text",
    { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
    "Welcome to Amazon S3.",
    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  ],
  ["GET of the lifecycle", "GET", "/?lifecycle=", {}, "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"],
  ["GET of a list", "GET", "/?max-keys=2&prefix=J", {}, "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"],
];
const PUBLISHED_LINK = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";

const signerOf = (nowMs = AT_MS) =>
  createSigner({ accessKey: ACCESS_KEY, secretKey: SECRET_KEY, region: "us-east-1", wallMs: () => nowMs });

describe.each(PUBLISHED)("the published example: %s", (_name, method, target, more, body, published) => {
  test("matches the signature that the verifier computes", () => {
    const headers = { ...more, host: HOST, "x-amz-content-sha256": sha256(body), "x-amz-date": TIME };
    const signed = { scope: SCOPE, time: TIME, names: Object.keys(headers).sort(), payload: sha256(body) };
    expect(signatureOf({ method, target, headers }, signed, SECRET_KEY)).toBe(published);
  });
  test("matches the signature that the signer computes", () => {
    const { authorization } = signerOf().sign(method, new URL(`https://${HOST}${target}`), more, sha256(body));
    expect(authorization).toEndWith(`Signature=${published}`);
    expect(authorization).toStartWith(`AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/${SCOPE}, SignedHeaders=`);
  });
});

test("the signer creates the published link, and the verifier accepts it until its expiry", () => {
  const link = signerOf().link("GET", new URL(`https://${HOST}/test.txt`), {}, 86_400);
  expect(link).toEndWith(`X-Amz-Signature=${PUBLISHED_LINK}`);
  const { pathname, search } = new URL(link);
  const judged = (nowMs: number, method = "GET") =>
    errorOf(
      { method, target: pathname + search, headers: { host: HOST } },
      EMPTY,
      { accessKey: ACCESS_KEY, secretKey: SECRET_KEY, region: "us-east-1" },
      nowMs,
    );
  expect(judged(AT_MS)).toBeUndefined();
  expect(judged(AT_MS + 86_399_999)).toBeUndefined();
  expect(judged(AT_MS + 86_400_000)).toBe("AccessDenied");
  expect(judged(AT_MS - 1)).toBe("AccessDenied");
  expect(judged(AT_MS, "HEAD")).toBe("SignatureDoesNotMatch");
});

describe("a signed request", () => {
  const known = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY, region: "us-east-1" };
  const sent = (text: string, headers: Record<string, string> = {}, body = ""): Came => {
    const url = new URL(text);
    const signed = signerOf().sign("PUT", url, headers, sha256(body));
    return { method: "PUT", target: url.pathname + url.search, headers: signed };
  };
  const PLAIN = sent("https://s3.example.com:8443/base/b/k%C3%BCche%20%28a%29/1?partNumber=1&uploadId=a%2Fb%3D%26", {
    "content-type": "image/png",
  });

  test("is accepted with special characters in path and query", () => {
    expect(errorOf(PLAIN, EMPTY, known, AT_MS)).toBeUndefined();
  });
  const ALTERED: [what: string, came: Came, body: string, nowMs: number, code: string][] = [
    ["other bytes", PLAIN, sha256("x"), AT_MS, "XAmzContentSHA256Mismatch"],
    ["another method", { ...PLAIN, method: "DELETE" }, EMPTY, AT_MS, "SignatureDoesNotMatch"],
    ["another name", { ...PLAIN, target: PLAIN.target.replace("/1?", "/2?") }, EMPTY, AT_MS, "SignatureDoesNotMatch"],
    ["another query", { ...PLAIN, target: `${PLAIN.target}x` }, EMPTY, AT_MS, "SignatureDoesNotMatch"],
    ["another host", { ...PLAIN, headers: { ...PLAIN.headers, host: "evil" } }, EMPTY, AT_MS, "SignatureDoesNotMatch"],
    ["a header more", { ...PLAIN, headers: { ...PLAIN.headers, "x-amz-acl": "public-read" } }, EMPTY, AT_MS, "AccessDenied"],
    ["a clock behind", PLAIN, EMPTY, AT_MS + 901_000, "RequestTimeTooSkewed"],
  ];
  test.each(ALTERED)("with %s is rejected", (_what, came, body, nowMs, code) => {
    expect(errorOf(came, body, known, nowMs)).toBe(code);
  });
  test("for another region, access key or secret key is rejected", () => {
    expect(errorOf(PLAIN, EMPTY, { ...known, region: "eu-west-1" }, AT_MS)).toBe("AuthorizationHeaderMalformed");
    expect(errorOf(PLAIN, EMPTY, { ...known, accessKey: "AKID" }, AT_MS)).toBe("InvalidAccessKeyId");
    expect(errorOf(PLAIN, EMPTY, { ...known, secretKey: "other" }, AT_MS)).toBe("SignatureDoesNotMatch");
  });
});

test("the verifier accepts links of Bun's own S3 client until their expiry", () => {
  const nowMs = Date.now();
  const options = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY, region: "us-east-1", bucket: "b" };
  const link = new Bun.S3Client({ ...options, endpoint: "http://s3.example.com", sessionToken: "" }).presign("gen_1/1", {
    expiresIn: 60,
    type: "image/png",
    contentDisposition: 'inline; filename="a.png"',
  });
  const { pathname, search, host } = new URL(link);
  const known = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY, region: "us-east-1" };
  const came = { method: "GET", target: pathname + search, headers: { host } };
  expect(errorOf(came, EMPTY, known, nowMs + 2_000)).toBeUndefined();
  expect(errorOf(came, EMPTY, known, nowMs + 120_000)).toBe("AccessDenied");
});
