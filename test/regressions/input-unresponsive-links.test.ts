// Unresponsive input links occupy only the download slots of the account that submitted them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Harness, openHarness } from "../harness.ts";
import { png } from "../media/made.ts";

let harness: Harness;
let server: Bun.Server<undefined>;
let silent = 0;

beforeAll(async () => {
  const picture = await png(640, 480);
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: (request) => {
      if (new URL(request.url).pathname === "/picture.png") return new Response(new Uint8Array(picture));
      silent += 1;
      return new Promise<Response>(() => undefined);
    },
  });
  harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.url.host } });
});
afterAll(async () => {
  await harness.close();
  await server.stop(true);
});

test("reads the image of one account while the links of another account do not respond", async () => {
  const evil = await harness.newTenant();
  const stop = new AbortController();
  const attacks = Array.from({ length: 6 }, (_, n) => {
    const urls = Array.from({ length: 9 }, (_, at) => `${server.url.origin}/silent/${n}/${at}`);
    const input = { prompt: "x", image_urls: urls.map((url) => `${url}.png`), audio_urls: urls.slice(0, 3) };
    return fetch(`${harness.url}/v1/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${evil.key}` },
      body: JSON.stringify({ model: "vidmodel-2.5", input }),
      signal: stop.signal,
    }).then(
      (answer) => answer.status,
      () => undefined,
    );
  });
  await harness.eventually(() => silent >= 8, "eight open unresponsive links");
  for (let n = 0; n < 6; n++) {
    const taken = await harness.request("POST", "/v1/generations", {
      body: {
        model: "vidmodel-2.0-fast",
        input: { prompt: "x", image_url: `${server.url.origin}/picture.png`, resolution: "480p", duration: 4 },
      },
    });
    expect([taken.status, taken.text.slice(0, 0)]).toEqual([202, ""]);
  }
  // The account uses no more than its eight slots.
  expect(silent).toBe(8);
  stop.abort();
  await Promise.all(attacks);
});
