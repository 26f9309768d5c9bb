// HTTP compression of long JSON, and ETags for each content coding.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 0 });
  visitor = await openVisitor(harness, "operator", harness.tenant);
});
afterAll(() => harness.close());

/** The response as it is transferred, without decompression. */
const raw = async (path: string, headers: Record<string, string>, method = "GET") => {
  const answered = await fetch(harness.url + path, {
    ...{ method, decompress: false },
    headers: { cookie: visitor.cookie, "accept-encoding": "identity", ...headers },
  });
  return { status: answered.status, headers: answered.headers, bytes: Buffer.from(await answered.arrayBuffer()) };
};
const PACKED = { "accept-encoding": "gzip, br" };

test.each(["/console/api/models", "/console/api/operator/routes", "/v1/models", "/models.json", "/openapi.json"])(
  "compresses %s only for clients that accept gzip",
  async (path) => {
    const [plain, packed] = [await raw(path, {}), await raw(path, PACKED)];
    expect([plain.status, packed.status]).toEqual([200, 200]);
    expect([plain.headers.get("content-encoding"), packed.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    expect([plain.headers.get("vary"), packed.headers.get("vary")]).toEqual(["Accept-Encoding", "Accept-Encoding"]);
    expect(JSON.parse(gunzipSync(packed.bytes).toString())).toEqual(JSON.parse(plain.bytes.toString()));
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 3);
    for (const refusing of ["gzip;q=0, br", "*, gzip; q=0.0", "identity;q=1, *;q=0"]) {
      const refused = await raw(path, { "accept-encoding": refusing });
      expect([refusing, refused.headers.get("content-encoding")]).toEqual([refusing, null]);
    }
  },
);

test("each content coding has its own ETag, and If-None-Match with it returns 304 without a body", async () => {
  const tags = [await raw("/models.json", {}), await raw("/models.json", PACKED)].map(({ headers }) => headers.get("etag") ?? "");
  expect(new Set(tags).size).toBe(2);
  for (const [at, headers] of [{}, PACKED].entries()) {
    const known = await raw("/models.json", { ...headers, "if-none-match": tags[at] ?? "" });
    expect([known.status, known.bytes.length, known.headers.get("content-encoding")]).toEqual([304, 0, null]);
    expect(known.headers.get("etag")).toBe(tags[at] ?? "");
    expect((await raw("/models.json", { ...headers, "if-none-match": tags[1 - at] ?? "" })).status).toBe(200);
  }
});

test("never compresses short responses, which can contain secrets", async () => {
  const { headers } = await raw("/console/api/me", PACKED);
  expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([null, null]);
});
