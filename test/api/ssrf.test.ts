// Tests of the SSRF guard over HTTP: a media URL with a forbidden address returns 422 and causes no connection.
// Without the guard, the same URLs do cause a connection.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import type { Harness, ParsedResponse } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

/** Host names that resolve to a forbidden address, or to a public and a forbidden one. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  "rebound.example": ["127.0.0.1"],
  "six.rebound.example": ["::1"],
  "mapped.rebound.example": ["::ffff:127.0.0.1"],
  "two.rebound.example": ["127.0.0.1", "93.184.216.34"],
  "metadata.rebound.example": ["169.254.169.254"],
  "translated.rebound.example": ["64:ff9b::7f00:1"],
  "private.rebound.example": ["10.0.0.1"],
};
/** Spellings of this machine, where a listener counts connections. */
const HERE = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "017700000001",
  "0.0.0.0",
  "0",
  "①②⑦.⓪.⓪.①",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "rebound.example",
  "six.rebound.example",
  "mapped.rebound.example",
  "two.rebound.example",
];
/** Addresses on which a test cannot listen. */
const ELSEWHERE = [
  "10.0.0.1",
  "172.16.0.1",
  "192.168.0.1",
  "100.64.0.1",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "224.0.0.1",
  "255.255.255.255",
  "[::ffff:10.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::a00:1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd12:3456::1]",
  "metadata.rebound.example",
  "translated.rebound.example",
  "private.rebound.example",
];
const LINK_FIELDS: readonly (readonly [model: string, path: string])[] = [
  ["vidmodel-2.5", "image_url"],
  ["vidmodel-2.5", "end_image_url"],
  ["vidmodel-2.5", "image_urls[1]"],
  ["vidmodel-2.5", "video_url"],
  ["vidmodel-2.5", "video_urls[0]"],
  ["vidmodel-2.5", "audio_urls[0]"],
  ["vidmodel-2.0", "video_url"],
  ["sim-edit-1", "image_urls[1]"],
  ["sim-upscale-1", "image_url"],
  ["sim-lipsync-1", "audio_url"],
];

let connections = 0;
const counting = {
  open: () => {
    connections += 1;
  },
  data: (socket: { end(text: string): unknown }) =>
    void socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
};
/** Listens on one port of every address of this machine; on 443 only if the system permits it. */
const listenAt = (port: number) => {
  for (const hostname of ["::", "0.0.0.0"])
    try {
      return Bun.listen({ hostname, port, socket: counting });
    } catch {
      // This machine has no IPv6, or the process has no permission for the port.
    }
  return undefined;
};
const free = listenAt(0);
const https = listenAt(443);

/** A host on the allowlist: it serves an image, or redirects to `?to=`. */
let picture: Uint8Array = new Uint8Array();
const named = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    const to = new URL(request.url).searchParams.get("to");
    if (to === null) return new Response(new Uint8Array(picture), { headers: { "content-type": "image/png" } });
    // Headers are ASCII: other characters are percent-encoded, as real servers do.
    return new Response(null, { status: 302, headers: { location: to.replace(/[^ -~]/gu, encodeURIComponent) } });
  },
});
const byRedirect = (url: string) => `${named.url.origin}/?to=${encodeURIComponent(url)}`;
const byThree = (url: string) => byRedirect(byRedirect(byRedirect(url)));

const open = (guard?: "off") =>
  openApiHarness({
    factor: 0,
    env: { GENROUTER_MEDIA__ALLOW: named.url.host },
    media: { resolve: async (name) => NAMES[name] ?? [], ...(guard ? { guard } : {}) },
  });
let harness: Harness;
let unguarded: Harness;
beforeAll(async () => {
  [harness, unguarded] = await Promise.all([open(), open("off")]);
  picture = await (await fetch(`${harness.simulator.url}/samples/picture.png?width=16&height=16`)).bytes();
});
afterAll(async () => {
  await Promise.all([harness.close(), unguarded.close()]);
  free?.stop(true);
  https?.stop(true);
  await named.stop(true);
});

const port = free?.port ?? 0;
/** URLs of a host, by scheme and port. */
const written = (host: string) => [`https://${host}/a.png`, `https://${host}:${port}/a.png`, `http://${host}:${port}/a.png`];

const inputOf = (model: string, path: string, url: string): JsonObject => {
  const [name = ""] = path.split("[");
  const good = `${named.url.origin}/a.png`;
  const value = path.endsWith("[1]") ? [good, url] : path.endsWith("[0]") ? [url] : url;
  const needed = name === "end_image_url" || ["sim-edit-1", "sim-lipsync-1"].includes(model) ? { image_url: good } : {};
  return { ...(model === "sim-upscale-1" ? {} : { prompt: "x" }), ...needed, [name]: value };
};
const send = (to: Harness, model: string, path: string, url: string): Promise<ParsedResponse> =>
  to.request("POST", "/v1/generations", { body: { model, input: inputOf(model, path, url) } });

const expectRefused = async (model: string, path: string, url: string) => {
  const [before, seen] = [await harness.balance(), connections];
  const answered = await send(harness, model, path, url);
  expect([url, answered.status, codeOf(answered)]).toEqual([url, 422, "invalid_input"]);
  expect(messageOf(answered)).toStartWith(`input.${path}: `);
  expect(connections).toBe(seen);
  expect(await harness.balance()).toEqual(before);
};

test("accepts an image from an allowed host, directly and by a redirect to the same host", async () => {
  expect((await send(harness, "sim-upscale-1", "image_url", `${named.url.origin}/a.png`)).status).toBe(202);
  expect((await send(harness, "sim-upscale-1", "image_url", byRedirect(`${named.url.origin}/a.png`))).status).toBe(202);
});

describe("with the SSRF guard", () => {
  test.each([...HERE, ...ELSEWHERE])("rejects %s, directly and by redirect, without a connection", async (host) => {
    for (const url of written(host))
      for (const way of [url, byRedirect(url), byThree(url)]) await expectRefused("vidmodel-2.5", "image_url", way);
  });

  test.each(LINK_FIELDS)("for the model %s checks the field input.%s", async (model, path) => {
    for (const host of ["127.0.0.1", "[::ffff:7f00:1]", "rebound.example", "169.254.169.254"])
      for (const url of written(host)) for (const way of [url, byRedirect(url)]) await expectRefused(model, path, way);
  });

  test("rejects other schemes and a fourth redirect, also behind an allowed host", async () => {
    for (const url of ["file:///etc/passwd", "ftp://127.0.0.1/a.png", "data:image/png;base64,AAAA", "//127.0.0.1/a.png"])
      await expectRefused("vidmodel-2.5", "image_url", byRedirect(url));
    await expectRefused("vidmodel-2.5", "image_url", byThree(byRedirect(`${named.url.origin}/a.png`)));
  });
});

describe("without the SSRF guard, the same listener receives a connection", () => {
  /** Whether the port of a URL has a listener. */
  const isHeard = (url: string) => https !== undefined || url.includes(`:${port}`);
  test.each(HERE)("for the host %s", async (host) => {
    for (const url of written(host).filter(isHeard))
      for (const way of [url, byRedirect(url)]) {
        const seen = connections;
        await send(unguarded, "vidmodel-2.5", "image_url", way);
        expect([way, connections > seen]).toEqual([way, true]);
      }
  });
  test.each(LINK_FIELDS)("for the model %s and the field input.%s", async (model, path) => {
    for (const way of [`http://127.0.0.1:${port}/a.png`, byRedirect(`http://127.0.0.1:${port}/a.png`)]) {
      const seen = connections;
      await send(unguarded, model, path, way);
      expect([way, connections > seen]).toEqual([way, true]);
    }
  });
});
