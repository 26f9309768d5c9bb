// Measuring linked inputs: formats, faulty servers, and bounds on bytes, requests and time.
import { describe, expect, test } from "bun:test";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { Measured, MediaKind, MediaLink } from "../../src/domain/types.ts";
import { type Answer, honest, inScene, rangeless, type Scene, streaming } from "./fixture.ts";
import { bmp, jpeg, mp3, mp4, png, wav, webp } from "./made.ts";

/** Measures one link. @returns the measurement, or the API error as `code message`. */
const measureOne = async (scene: Scene, kind: MediaKind, url: string, field = "input.video_url") => {
  try {
    return (await scene.media.measure([{ field, url, kind }], "acc"))[0];
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
};

const one = async (kind: MediaKind, answer: Answer, options = {}) => {
  let found: unknown;
  let requests = 0;
  await inScene(options, async (scene) => {
    const measured = Object(await measureOne(scene, kind, scene.at("/media", answer))) as Partial<Measured>;
    const { url: _url, field: _field, bytes: _bytes, frameMs: _frame, ...rest } = measured;
    found = Object.keys(rest).length > 0 && !("0" in rest) ? rest : Object.values(rest).join("");
    requests = scene.asked.length;
    expect(await scene.leftovers()).toEqual([]);
  });
  return { found, requests };
};

describe("measuring a link", () => {
  const rows: [string, MediaKind, () => Promise<Uint8Array> | Uint8Array, object][] = [
    ["png", "image", () => png(64, 48), { width: 64, height: 48 }],
    ["jpeg", "image", () => jpeg(320, 200), { width: 320, height: 200 }],
    ["webp", "image", () => webp(33, 17), { width: 33, height: 17 }],
    ["wav", "audio", () => wav(3.25), { ms: 3250 }],
    ["long wav", "audio", () => wav(30), { ms: 30_000 }],
    ["mp3", "audio", () => mp3(5), { ms: 5016 }],
    ["long mp3 without a header", "audio", () => mp3(120), { ms: 120_000 }],
    ["clip, index in front", "video", () => mp4({ seconds: 5 }), { ms: 5000, width: 320, height: 176 }],
    ["clip with sound", "video", () => mp4({ seconds: 5, audio: true }), { ms: 5000, width: 320, height: 176 }],
    [
      "large clip, index at the end",
      "video",
      () => mp4({ seconds: 30, audio: true, index: "end", frameBytes: 4000, width: 1280, height: 720 }),
      { ms: 30_000, width: 1280, height: 720 },
    ],
    [
      "clip in fragments",
      "video",
      () => mp4({ seconds: 30, index: "fragments", frameBytes: 4000 }),
      { ms: 30_000, width: 320, height: 176 },
    ],
  ];
  for (const [name, kind, make, expected] of rows) {
    test(`measures with range requests: ${name}`, async () => {
      const { found, requests } = await one(kind, honest(await make()));
      expect(found).toEqual({ kind, ...expected });
      expect(requests).toBeLessThanOrEqual(8);
    });
    test(`measures from a server without ranges: ${name}`, async () => {
      const { found, requests } = await one(kind, rangeless(await make()));
      expect(found).toEqual({ kind, ...expected });
      expect(requests).toBe(1);
    });
    test(`measures from a server that sends no Content-Length: ${name}`, async () => {
      const bytes = await make();
      const { found } = await one(kind, () =>
        streaming(async (n) => (n * 50_000 < bytes.length ? bytes.slice(n * 50_000, (n + 1) * 50_000) : undefined)),
      );
      expect(found).toEqual({ kind, ...expected });
    });
  }

  test("measures a picture whose size comes late in the file", async () => {
    const plain = await jpeg(40, 30);
    const note = new Uint8Array(65_000);
    note.set([0xff, 0xe1, (note.length - 2) >> 8, (note.length - 2) & 255]);
    const noted = Buffer.concat([plain.subarray(0, 2), note, note, plain.subarray(2)]);
    expect((await one("image", honest(noted))).found).toEqual({ kind: "image", width: 40, height: 30 });
  });

  test("ignores the Content-Type of the server and reads the type from the bytes", async () => {
    expect((await one("image", honest(await png(), "text/html"))).found).toEqual({ kind: "image", width: 64, height: 48 });
  });
});

describe("links that cannot be measured", () => {
  const page = new TextEncoder().encode("<!doctype html><title>SECRET of the server</title>".padEnd(500));
  const svg = new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>');
  const playlist = new TextEncoder().encode(
    "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://127.0.0.1:1/a.ts\n#EXT-X-ENDLIST\n",
  );
  const cases: [string, MediaKind, () => Answer | Promise<Answer>, string][] = [
    ["a web page instead of a picture", "image", () => honest(page), "not a picture"],
    ["an SVG instead of a picture", "image", () => honest(svg), "not a picture"],
    ["an unsupported BMP picture", "image", () => honest(bmp(9, 9)), "not a picture"],
    ["a playlist instead of a clip", "video", () => honest(playlist), "not a clip"],
    ["an empty file", "video", () => rangeless(new Uint8Array(0)), "not a clip"],
    ["a picture instead of a clip", "video", async () => honest(await png()), "not a clip"],
    ["a clip instead of a picture", "image", async () => honest(await mp4({ seconds: 1 })), "not a picture"],
    ["audio instead of a clip", "video", () => honest(wav(1)), "not a clip"],
    ["a clip instead of audio", "audio", async () => honest(await mp4({ seconds: 1, audio: true })), "not sound"],
    ["half of a PNG header", "image", async () => honest((await png()).slice(0, 20)), "its header is not that of a PNG"],
    ["a truncated clip", "video", async () => honest((await mp4({ seconds: 9, index: "end" })).slice(0, 9000)), "no index"],
    ["a response with status 404", "video", () => () => new Response("gone", { status: 404 }), "answers 404"],
    ["a response with status 500", "video", () => () => new Response("SECRET", { status: 500 }), "answers 500"],
    [
      "a compressed body",
      "image",
      async () => {
        const zipped = Bun.gzipSync(new Uint8Array(20_000_000));
        return () => new Response(zipped, { headers: { "content-encoding": "gzip" } });
      },
      "compressed",
    ],
  ];
  test.each(cases)("rejects %s with invalid_input and names the field", async (_, kind, answer, why) => {
    await inScene({}, async (scene) => {
      const said = await measureOne(scene, kind, scene.at("/media", await answer()), "input.image_urls[2]");
      expect(said).toStartWith("invalid_input input.image_urls[2]: ");
      expect(said).toContain(why);
      expect(said).not.toContain("SECRET");
      expect(said).not.toContain("127.0.0.1");
    });
  });

  test("rejects an address that is not public and opens no connection", async () => {
    await inScene({ allows: () => false }, async (scene) => {
      const url = scene.at("/media", honest(await png())).replace("http:", "https:");
      expect(await measureOne(scene, "image", url)).toContain("port 443");
      expect(await measureOne(scene, "image", "https://127.0.0.1/a.png")).toContain("no public address");
      expect(scene.asked).toEqual([]);
    });
  });

  test("reports the first of several bad links, in the order of the request", async () => {
    await inScene({}, async (scene) => {
      const good = scene.at("/good", honest(await png()));
      const slow = scene.at("/slow", async () => {
        await Bun.sleep(50);
        return new Response("no", { status: 404 });
      });
      const links: MediaLink[] = [good, slow, scene.at("/fast", () => new Response("no", { status: 410 }))].map((url, n) => ({
        field: `input.image_urls[${n}]`,
        url,
        kind: "image",
      }));
      const refused = await scene.media.measure(links, "acc").catch((error: unknown) => error);
      expect(refused instanceof ApiError && refused.message).toStartWith("input.image_urls[1]: ");
    });
  });

  test("fetches a link used in two fields once and reports it for both", async () => {
    await inScene({}, async (scene) => {
      const url = scene.at("/p", honest(await png()));
      const measured = await scene.media.measure(
        [
          { field: "input.image_urls[0]", url, kind: "image" },
          { field: "input.image_urls[1]", url, kind: "image" },
        ],
        "acc",
      );
      expect(measured.map((each) => [each.field, each.width])).toEqual([
        ["input.image_urls[0]", 64],
        ["input.image_urls[1]", 64],
      ]);
      expect(scene.asked.length).toBe(1);
    });
  });
});

describe("incorrect servers", () => {
  const big = () => mp4({ seconds: 30, audio: true, index: "end", frameBytes: 4000 });

  /** A clip whose index contains a `free` box of 400 KiB, which a parser has to skip. */
  const padded = async () => {
    const clip = await mp4({ seconds: 1, index: "end" });
    const moov = Buffer.from(clip).lastIndexOf("moov") - 4;
    const free = Buffer.alloc(400 * 1024);
    free.writeUInt32BE(free.length, 0);
    free.write("free", 4, "latin1");
    const whole = Buffer.concat([clip, free]);
    whole.writeUInt32BE(whole.length - moov, moov);
    return whole;
  };

  test("reads no more of a link than the byte limit, with and without ranges", async () => {
    const clip = await padded();
    const most = 256 * 1024;
    let served = 0;
    const counted: Answer = async (request) => {
      const response = await honest(clip)(request);
      served += (await response.clone().bytes()).length;
      return response;
    };
    const byRanges = await one("video", counted, { budget: { bytes: most } });
    expect(byRanges.found).toContain("cannot be measured within 256 KiB");
    expect(served).toBeLessThanOrEqual(most);
    expect((await one("video", rangeless(clip), { budget: { bytes: most } })).found).toBe(byRanges.found);
  });

  test("reads a large index within the byte limit, with and without ranges", async () => {
    const clip = await padded();
    const { found, requests } = await one("video", honest(clip));
    expect(found).toEqual({ kind: "video", ms: 1000, width: 320, height: 176 });
    expect(requests).toBeLessThanOrEqual(8);
    expect((await one("video", rangeless(clip))).found).toEqual(found);
  });

  test("stops at the request limit when a server returns short ranges", async () => {
    const clip = await big();
    const { found, requests } = await one("video", (request) => {
      const [start = 0, last = 0] = (request.headers.get("range") ?? "").match(/\d+/g)?.map(Number) ?? [];
      const headers = { "content-range": `bytes ${start}-${last}/${clip.length}` };
      return new Response(clip.slice(start, start + 3), { status: 206, headers });
    });
    expect(found).toStartWith("invalid_input");
    expect(requests).toBeLessThanOrEqual(64);
  });

  const wrong: [string, Record<string, string>][] = [
    ["no Content-Range", {}],
    ["another position", { "content-range": "bytes 5-99/1000" }],
    ["an end before the start", { "content-range": "bytes 0-0/0" }],
    ["an impossible size", { "content-range": "bytes 0-99/99999999999999999999" }],
  ];
  test.each(wrong)("rejects a range with %s", async (_, headers) => {
    const clip = await big();
    const { found, requests } = await one("video", () => new Response(clip.slice(0, 100), { status: 206, headers }));
    expect(found).toContain("answers ranges wrongly");
    expect(requests).toBe(1);
  });

  test("rejects a server that stops serving ranges or changes the file size between requests", async () => {
    const clip = await big();
    const answer = honest(clip);
    let n = 0;
    expect((await one("video", (request) => (n++ === 0 ? answer(request) : new Response(clip)))).found).toContain(
      "changes its answers",
    );
    let m = 0;
    expect((await one("video", (request) => (m++ === 0 ? answer : honest(clip.slice(0, -1)))(request))).found).toContain(
      "changes its answers",
    );
  });

  test("stops reading an endless body without ranges at the byte limit", async () => {
    const first = (await mp4({ seconds: 1, index: "end" })).slice(0, 600);
    let sent = 0;
    const { found } = await one(
      "video",
      () =>
        streaming(async (n) => {
          sent += 100_000;
          return n === 0 ? first : new Uint8Array(100_000);
        }),
      { budget: { bytes: 2 * 1024 * 1024 } },
    );
    expect(found).toContain("within 2 MiB");
    // The socket buffers of both sides are added to the limit.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  const slow: [string, Answer][] = [
    ["never responds", () => new Promise<Response>(() => {})],
    ["sends one byte at a time", () => streaming(() => Bun.sleep(20).then(() => Uint8Array.of(0)))],
    [
      "stops half way",
      async () => {
        const bytes = await mp4({ seconds: 5, index: "end", frameBytes: 2000 });
        return streaming((n) => (n === 0 ? Promise.resolve(bytes.slice(0, 40_000)) : new Promise(() => {})), {
          "content-length": String(bytes.length),
        });
      },
    ],
  ];
  test.each(slow)("gives up after the time limit on a server that %s", async (_, answer) => {
    const began = performance.now();
    const { found } = await one("video", answer, { timeouts: { measureMs: 200 } });
    expect(found).toContain("not read within 0.2 s");
    expect(performance.now() - began).toBeLessThan(3000);
  });

  test("applies one time limit to all links of a request together", async () => {
    await inScene({ timeouts: { measureMs: 300 } }, async (scene) => {
      const links: MediaLink[] = Array.from({ length: 30 }, (_, n) => ({
        field: `input.image_urls[${n}]`,
        url: scene.at(`/${n}`, () => new Promise<Response>(() => {})),
        kind: "image",
      }));
      const began = performance.now();
      expect(await scene.media.measure(links, "acc").catch((error: unknown) => error instanceof ApiError)).toBe(true);
      expect(performance.now() - began).toBeLessThan(2000);
    });
  });
});
