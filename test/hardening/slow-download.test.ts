// A large, slow result is downloaded for minutes, and no header of its server is passed on.
import { expect, test } from "bun:test";
import type { TestClock } from "../clock.ts";
import { FAL, SPARE } from "../generation/catalogue.ts";
import { expectEnd, openScene } from "../generation/fixture.ts";
import { png } from "../media/made.ts";

const MB = 1024 * 1024;
const PIECES = 240;
const PAUSE_MS = 1_250;
/** The signature of a PNG and its first chunk, which contains the size of the image. */
const HEAD_BYTES = 33;

/** A valid PNG of 240 MB with an ignorable chunk between its header and its image data. */
const hugePicture = async (): Promise<{ head: Uint8Array; piece: Uint8Array; tail: Uint8Array; bytes: number }> => {
  const picture = await png();
  const opening = Buffer.alloc(8);
  opening.writeUInt32BE(PIECES * MB);
  opening.write("fiLl", 4, "latin1");
  const head = Buffer.concat([picture.subarray(0, HEAD_BYTES), opening]);
  const piece = new Uint8Array(MB);
  const tail = Buffer.concat([Buffer.alloc(4), picture.subarray(HEAD_BYTES)]);
  return { head, piece, tail, bytes: head.length + PIECES * MB + tail.length };
};

const FOREIGN = {
  "set-cookie": "session=theirs",
  server: "their server",
  "x-powered-by": "their framework",
  "x-provider-account": "acct_123",
  link: "<https://example.com>; rel=canonical",
  refresh: "0; url=https://example.com",
  "access-control-allow-origin": "https://example.com",
  "content-disposition": 'inline; filename="theirs.html"',
  "cache-control": "public, max-age=31536000",
  etag: '"theirs"',
  "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
};
/** All response headers that a file may have. */
const ALLOWED = [
  "access-control-allow-origin",
  "access-control-expose-headers",
  "accept-ranges",
  "cache-control",
  "content-disposition",
  "content-length",
  "content-security-policy",
  "content-type",
  "cross-origin-resource-policy",
  "date",
  "etag",
  "genrouter-version",
  "referrer-policy",
  "x-content-type-options",
  "x-request-id",
];

test("collects a result of 240 MB that arrives within five minutes, in files instead of memory", async () => {
  const { head, piece, tail, bytes } = await hugePicture();
  let clock: TestClock | undefined;
  const server = Bun.serve({
    port: 0,
    idleTimeout: 60,
    fetch: () => {
      let n = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          pull: async (controller) => {
            if (n === 0) controller.enqueue(head);
            else if (n <= PIECES) {
              await new Promise<void>((go) => clock?.after(PAUSE_MS, go));
              controller.enqueue(piece);
            } else {
              controller.enqueue(tail);
              controller.close();
            }
            n += 1;
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, { headers: { ...FOREIGN, "content-type": "text/html", "content-length": String(bytes) } });
    },
  });
  try {
    const env = { GENROUTER_MEDIA__ALLOW: `127.0.0.1,localhost:${server.port}` };
    const scene = await openScene({ routes: [FAL, SPARE], env });
    clock = scene.clock;
    scene.simulator.script({ fault: "elsewhere", url: `http://localhost:${server.port}/huge.png`, endpoint: "life/fal" });
    const { id } = await scene.begin();
    const began = await scene.eventually(
      async () => ((await scene.attempts(id))[0]?.results?.length ?? 0) > 0 && scene.clock.nowMs(),
    );
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const shown = await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: ["fal"] });
    expect(scene.clock.nowMs() - began).toBeGreaterThanOrEqual(PIECES * PAUSE_MS * 0.9);
    // Memory that is not yet garbage-collected is less than half of the file.
    expect(process.memoryUsage().rss - before).toBeLessThan((PIECES / 2) * MB);

    const link = new URL(shown.output?.urls[0] ?? "");
    for (const path of [`/v1/generations/${id}/content`, `${link.pathname}${link.search}`]) {
      const response = await fetch(`${scene.url}${path}`, { headers: { authorization: `Bearer ${scene.tenant.key}` } });
      expect(response.status).toBe(200);
      expect([...response.headers.keys()].filter((name) => !ALLOWED.includes(name))).toEqual([]);
      for (const [name, theirs] of Object.entries(FOREIGN)) expect(response.headers.get(name)).not.toBe(theirs);
      expect(response.headers.get("content-type")).toBe("image/png");
      expect((await response.bytes()).length).toBe(bytes);
    }
  } finally {
    await server.stop(true);
  }
}, 60_000);
