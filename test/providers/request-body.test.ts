// Bodies of requests with files: their bytes, their length, their repetition, and files that cannot be read.
import { afterEach, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import type { FileBytes } from "../../src/domain/types.ts";
import { blobFile, verifiedFile } from "../../src/files/verified-file.ts";
import { callProvider } from "../../src/providers/http-call.ts";
import type { ProviderRequest } from "../../src/providers/port.ts";
import { bodyOf, placeholderOf, readPlaceholder } from "../../src/providers/request-body.ts";
import { eventually } from "../eventually.ts";

const BYTES = Uint8Array.from({ length: 10_007 }, (_, at) => (at * 31) % 256);
const SHA256 = Bun.SHA256.hash(BYTES, "hex");
/** A file that is read in pieces of changing size. */
const inPieces = (...sizes: number[]): FileBytes => ({
  size: BYTES.length,
  async *read() {
    for (let at = 0, turn = 0; at < BYTES.length; turn += 1) {
      const end = at + (sizes[turn % sizes.length] ?? 1);
      yield BYTES.slice(at, end);
      at = end;
    }
  },
});
const place = (text: "data_uri" | "base64" | "part", n = 1) => placeholderOf({ n, sha256: SHA256, text, mime: "image/png" });
const at = "http://provider.invalid/";
const signal = new AbortController().signal;

const wholeOf = async (request: ProviderRequest): Promise<Buffer> => {
  const { body = "" } = bodyOf(request, signal);
  return Buffer.from(await new Response(body as ConstructorParameters<typeof Response>[0]).bytes());
};
const jsonWith = (file: FileBytes): ProviderRequest => ({
  ...{ method: "POST", url: at, headers: {} },
  body: { prompt: "in oil", images: [{ image_url: place("data_uri") }], raw: place("base64") },
  files: new Map([
    [place("data_uri"), file],
    [place("base64"), file],
  ]),
});
const formWith = (file: FileBytes): ProviderRequest => ({
  ...{ method: "POST", url: at, headers: {} },
  form: { image: place("part"), prompt: "ein Hase, größer" },
  files: new Map([[place("part"), file]]),
});

describe("a body with files", () => {
  test.each([[[1]], [[2, 3]], [[4096]], [[10_007]], [[5, 1, 7]]])(
    "is the same JSON however the file is read (%p)",
    async (sizes) => {
      const base64 = Buffer.from(BYTES).toString("base64");
      const expected = { prompt: "in oil", images: [{ image_url: `data:image/png;base64,${base64}` }], raw: base64 };
      const request = jsonWith(inPieces(...sizes));
      expect((await wholeOf(request)).toString()).toBe(JSON.stringify(expected));
      expect(bodyOf(request, signal).headers["content-length"]).toBe(String(Buffer.byteLength(JSON.stringify(expected))));
    },
  );

  test("is a form with its texts first, the file as a part, and its length", async () => {
    const request = formWith(inPieces(100, 7));
    const whole = await wholeOf(request);
    const { headers } = bodyOf(request, signal);
    expect(headers["content-length"]).toBe(String(whole.length));
    const form = await new Response(whole, { headers: { "content-type": headers["content-type"] ?? "" } }).formData();
    expect([...form.keys()]).toEqual(["prompt", "image"]);
    expect(form.get("prompt")).toBe("ein Hase, größer");
    const file = form.get("image") as File;
    expect([file.name, file.type, Buffer.from(await file.bytes()).equals(BYTES)]).toEqual(["input-1.png", "image/png", true]);
  });

  test("has the same bytes each time", async () => {
    for (const request of [jsonWith(inPieces(1000)), formWith(inPieces(3))])
      expect((await wholeOf(request)).equals(await wholeOf(request))).toBe(true);
  });

  test("contains a text that only resembles a placeholder unchanged", async () => {
    const request = { ...jsonWith(inPieces(50)), body: { prompt: `see ${place("base64")}`, raw: place("base64") } };
    expect(JSON.parse((await wholeOf(request)).toString()).prompt).toBe(`see ${place("base64")}`);
    expect(readPlaceholder("genrouter-input:1:abc:base64:image/png")).toBeUndefined();
  });
});

describe("over HTTP", () => {
  let server: ReturnType<typeof Bun.serve> | undefined;
  afterEach(() => server?.stop(true));
  const rules = { headers: {}, timeoutMs: 5_000, maxBytes: 1_000_000, signal };

  test("a file arrives with its length and type, as a body and as a part", async () => {
    server = Bun.serve({
      port: 0,
      fetch: async (request) =>
        Response.json([
          request.headers.get("content-length"),
          request.headers.get("content-type"),
          Bun.SHA256.hash(await request.bytes(), "hex"),
        ]),
    });
    const file = { field: null, name: "a.png", mime: "image/png", bytes: inPieces(999) };
    const put = await callProvider(
      { method: "PUT", url: server.url.href, headers: { "content-type": "image/png" }, file },
      rules,
    );
    expect(put).toMatchObject({ kind: "answered", response: { json: [String(BYTES.length), "image/png", SHA256] } });
  });

  test.each([
    ["its bytes are others than recorded", verifiedFile(blobFile(new Blob([BYTES.toReversed()])), SHA256)],
    ["it is shorter than recorded", verifiedFile({ ...blobFile(new Blob([BYTES.slice(1)])), size: BYTES.length }, SHA256)],
    [
      "its storage fails",
      {
        size: BYTES.length,
        async *read() {
          yield BYTES.slice(0, 5000);
          throw new Error("the bucket is gone");
        },
      } satisfies FileBytes,
    ],
  ])("no whole request is received if a file cannot be read because %s", async (_, file) => {
    let received = 0;
    server = Bun.serve({
      port: 0,
      fetch: async (request) => {
        await request.bytes().then(() => {
          received += 1;
        });
        return Response.json({});
      },
    });
    const url = server.url.href;
    expect(await callProvider({ ...jsonWith(file), url }, rules)).toEqual({
      kind: "not_sent",
      detail: "an input file cannot be read",
    });
    expect(received).toBe(0);
  });

  test("the reading of a file ends with the time of the call", async () => {
    // Accepts the connection and reads nothing.
    const deaf = createServer({ pauseOnConnect: true });
    await new Promise<void>((listening) => void deaf.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}/`;
    let released = false;
    const endless: FileBytes = {
      size: Number.MAX_SAFE_INTEGER,
      async *read() {
        try {
          for (;;) yield BYTES;
        } finally {
          released = true;
        }
      },
    };
    const file = { field: null, name: "a", mime: "image/png", bytes: endless };
    const called = await callProvider({ method: "PUT", url, headers: {}, file }, { ...rules, timeoutMs: 50 });
    expect(called).toMatchObject({ kind: "broken", detail: "no whole answer within 50 ms" });
    await eventually(() => released, "the end of the reading");
    deaf.close();
  });
});
