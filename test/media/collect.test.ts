// Collecting results: every outcome, the measurements, and no partial files.
import { describe, expect, test } from "bun:test";
import type { MediaKind, Output } from "../../src/domain/types.ts";
import type { CollectOutcome } from "../../src/media/port.ts";
import { type Answer, honest, inScene, rangeless, type Scene, streaming } from "./fixture.ts";
import { jpeg, mp3, mp4, noted, png, wav, webp } from "./made.ts";

const ID = "gen_1abc";
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

const collect = (scene: Scene, kind: MediaKind, urls: string[], signal = AbortSignal.timeout(10_000)): Promise<CollectOutcome> =>
  scene.media.collect({ generationId: ID, attempt: 1, kind, results: urls.map((url) => ({ url })), provider: "fal" }, signal);

const keptHash = async (scene: Scene, n = 1): Promise<string> => {
  const blob = await scene.files.open(ID, n);
  return blob ? sha256(await blob.bytes()) : "not there";
};

const nothingKept = async (scene: Scene) => {
  expect(await scene.leftovers()).toEqual([]);
  expect(await scene.files.open(ID, 1)).toBeUndefined();
};

describe("collecting valid results", () => {
  const rows: [string, MediaKind, () => Promise<Uint8Array> | Uint8Array, string, Partial<Output>][] = [
    ["png", "image", () => png(64, 48), "image/png", { width: 64, height: 48 }],
    ["jpeg", "image", () => jpeg(640, 360), "image/jpeg", { width: 640, height: 360 }],
    [
      "jpeg behind 240 kB of metadata",
      "image",
      async () => noted(await jpeg(640, 360), 4),
      "image/jpeg",
      { width: 640, height: 360 },
    ],
    ["webp", "image", () => webp(48, 64), "image/webp", { width: 48, height: 64 }],
    [
      "silent clip",
      "video",
      () => mp4({ seconds: 5 }),
      "video/mp4",
      { width: 320, height: 176, durationMs: 5000, hasAudio: false },
    ],
    [
      "clip with sound",
      "video",
      () => mp4({ seconds: 6, audio: true, width: 1280, height: 720, frameBytes: 5000, index: "end" }),
      "video/mp4",
      { width: 1280, height: 720, durationMs: 6000, hasAudio: true },
    ],
    [
      "fragmented clip",
      "video",
      () => mp4({ seconds: 4, index: "fragments" }),
      "video/mp4",
      { width: 320, height: 176, durationMs: 4000, hasAudio: false },
    ],
    ["mp3", "audio", () => mp3(4), "audio/mpeg", {}],
    ["wav", "audio", () => wav(2), "audio/wav", {}],
  ];
  test.each(rows)("measures and hashes the stored file: %s", async (_name, kind, make, mime, measured) => {
    const bytes = await make();
    const { hasAudio: _, ...shown } = measured;
    const ofFile = kind === "audio" ? { durationMs: mime === "audio/wav" ? 2000 : 4008 } : shown;
    await inScene({}, async (scene) => {
      const outcome = await collect(scene, kind, [scene.at("/r", honest(bytes, "text/html"))]);
      expect(outcome).toEqual({
        kind: "collected",
        output: { kind, files: [{ n: 1, sha256: sha256(bytes), bytes: bytes.length, mime, ...ofFile }], ...measured },
      });
      expect(await keptHash(scene)).toBe(sha256(bytes));
      expect(await scene.leftovers()).toEqual([]);
    });
  });

  test("keeps several pictures in their order", async () => {
    const pictures = [await png(10, 20), await jpeg(30, 40), await webp(50, 60)];
    await inScene({}, async (scene) => {
      const urls = pictures.map((bytes, n) => scene.at(`/${n}`, rangeless(bytes)));
      const outcome = await collect(scene, "image", urls);
      const output = outcome.kind === "collected" ? outcome.output : undefined;
      expect(output?.files.map((file) => `${file.n} ${file.sha256}`)).toEqual(
        pictures.map((bytes, n) => `${n + 1} ${sha256(bytes)}`),
      );
      expect([output?.width, output?.height]).toEqual([10, 20]);
    });
  });

  test("returns the same output when collected twice, and stores the bytes of the last collection", async () => {
    const [first, second] = [await png(10, 10), await png(20, 20)];
    await inScene({}, async (scene) => {
      let bytes = first;
      const url = scene.at("/r", (request) => honest(bytes)(request));
      const once = await collect(scene, "image", [url]);
      expect(await collect(scene, "image", [url])).toEqual(once);
      bytes = second;
      await collect(scene, "image", [url]);
      expect(await keptHash(scene)).toBe(sha256(second));
      expect(await scene.files.open(ID, 2)).toBeUndefined();
    });
  });

  test("does not mix the files of two concurrent collections of one generation", async () => {
    const [small, large] = [await png(10, 10), await png(20, 20)];
    await inScene({}, async (scene) => {
      const all = (bytes: Uint8Array, path: string) => [1, 2, 3].map((n) => scene.at(`${path}/${n}`, rangeless(bytes)));
      const [a, b] = await Promise.all([collect(scene, "image", all(small, "/a")), collect(scene, "image", all(large, "/b"))]);
      expect([a.kind, b.kind]).toEqual(["collected", "collected"]);
      const kept = await Promise.all([1, 2, 3].map((n) => keptHash(scene, n)));
      expect(kept).toEqual(Array(3).fill(sha256(large)));
    });
  });
});

describe("collecting unreadable results", () => {
  const page = new TextEncoder().encode("<!doctype html><title>An error occurred</title>".padEnd(600));
  const cases: [string, MediaKind, () => Answer | Promise<Answer>, string][] = [
    ["a web page with status 200", "video", () => rangeless(page), "a web page, not video"],
    ["an empty file", "image", () => rangeless(new Uint8Array(0)), "empty"],
    ["a file of three bytes", "image", () => rangeless(Uint8Array.of(0x89, 0x50, 0x4e)), "nothing known"],
    ["a picture instead of a clip", "video", async () => rangeless(await png()), "image/png, not video"],
    ["a clip instead of a picture", "image", async () => rangeless(await mp4({ seconds: 1 })), "video/mp4, not image"],
    ["audio instead of a clip", "video", () => rangeless(wav(1)), "audio/wav, not video"],
    ["a truncated PNG", "image", async () => rangeless((await png(800, 600)).slice(0, -20)), "cut short"],
    ["a truncated JPEG", "image", async () => rangeless((await jpeg(800, 600)).slice(0, -2)), "cut short"],
    ["a truncated WebP", "image", async () => rangeless((await webp(800, 600)).slice(0, -10)), "cut short"],
    [
      "a truncated clip",
      "video",
      async () => rangeless((await mp4({ seconds: 5, frameBytes: 500 })).slice(0, -700)),
      "cut short",
    ],
    ["truncated audio", "audio", () => rangeless(wav(3).slice(0, -100)), "cut short"],
    [
      "a clip without an index",
      "video",
      () => rangeless(Buffer.from("00000010667479706d70343200000000".padEnd(160, "0"), "hex")),
      "no index",
    ],
    ["a response with status 500", "image", () => () => new Response("no", { status: 500 }), "answers 500"],
    ["a response with status 429", "image", () => () => new Response("no", { status: 429 }), "answers 429"],
    [
      "a response with status 206 to a request without a range",
      "image",
      async () => {
        const bytes = await png();
        return () =>
          new Response(bytes.slice(0, 50), { status: 206, headers: { "content-range": `bytes 0-49/${bytes.length}` } });
      },
      "answers 206",
    ],
    [
      "a truncated gzip body",
      "image",
      async () => {
        const zipped = Bun.gzipSync(new Uint8Array(await png())).slice(0, -9);
        return () => new Response(zipped, { headers: { "content-encoding": "gzip" } });
      },
      "its gzip is damaged or cut short",
    ],
    [
      "a file larger than the limit, with Content-Length,",
      "image",
      () => rangeless(new Uint8Array(70_000)),
      "larger than 65536 bytes",
    ],
    [
      "a file larger than the limit, without Content-Length,",
      "video",
      async () => {
        const first = await mp4({ seconds: 1 });
        return () => streaming(async (n) => (n === 0 ? first : new Uint8Array(10_000)));
      },
      "larger than 65536 bytes",
    ],
    [
      "a redirect to an address that is not public",
      "image",
      () => () => Response.redirect("https://169.254.169.254/x.png", 302),
      "no public address",
    ],
  ];
  test.each(cases)("reports %s as unreadable and stores no file", async (_, kind, answer, why) => {
    await inScene({ resultBytes: 65_536 }, async (scene) => {
      const outcome = await collect(scene, kind, [scene.at("/r", await answer())]);
      expect(outcome.kind).toBe("unreadable");
      expect(outcome.kind === "unreadable" && outcome.detail).toContain(why);
      await nothingKept(scene);
    });
  });

  /** A server below HTTP: sends the head and the bytes unchanged, then closes the connection. */
  const raw = async (head: string, bytes: Uint8Array): Promise<CollectOutcome> => {
    let outcome: CollectOutcome = { kind: "unreadable", detail: "not run" };
    await inScene({}, async (scene) => {
      const listener = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: {
          data: (socket) => {
            socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
            socket.write(bytes);
            socket.end();
          },
        },
      });
      outcome = await collect(scene, "image", [`http://127.0.0.1:${listener.port}/r.png`]);
      listener.stop(true);
      if (outcome.kind !== "collected") await nothingKept(scene);
    });
    return outcome;
  };

  test("reports a body shorter than its Content-Length as unreadable", async () => {
    const bytes = await png();
    expect((await raw(`Content-Length: ${bytes.length + 1}`, bytes)).kind).toBe("unreadable");
    expect((await raw(`Content-Length: ${bytes.length}`, bytes)).kind).toBe("collected");
  });

  test("reports a chunked body without its last chunk as unreadable", async () => {
    const bytes = await png();
    const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
    expect((await raw("Transfer-Encoding: chunked", chunk)).kind).toBe("unreadable");
    expect((await raw("Transfer-Encoding: chunked", Buffer.concat([chunk, Buffer.from("0\r\n\r\n")]))).kind).toBe("collected");
  });

  test("reports a result on an unreachable server as unreadable", async () => {
    await inScene({}, async (scene) => {
      const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
      const { port } = listener;
      listener.stop(true);
      expect(await collect(scene, "image", [`http://127.0.0.1:${port}/`])).toEqual({
        kind: "unreadable",
        detail: "file 1: its server could not be reached",
      });
    });
  });

  test("stores none of three files when the second is unreadable", async () => {
    await inScene({}, async (scene) => {
      const good = scene.at("/good", rangeless(await png()));
      const outcome = await collect(scene, "image", [good, scene.at("/bad", rangeless(page)), good]);
      expect(outcome.kind === "unreadable" && outcome.detail).toStartWith("file 2: ");
      await nothingKept(scene);
    });
  });

  test("reports a delivery without files as unreadable", async () => {
    await inScene({}, async (scene) => expect((await collect(scene, "image", [])).kind).toBe("unreadable"));
  });

  test("gives up on a server that stops sending", async () => {
    const bytes = await png(400, 400);
    await inScene({ timeouts: { idleMs: 100 } }, async (scene) => {
      const url = scene.at("/r", () =>
        streaming((n) => (n === 0 ? Promise.resolve(bytes.slice(0, 100)) : new Promise(() => {}))),
      );
      const began = performance.now();
      expect((await collect(scene, "image", [url])).kind).toBe("unreadable");
      expect(performance.now() - began).toBeLessThan(3000);
      await nothingKept(scene);
    });
  });

  test("gives up on a slow body at the deadline, and stores nothing after an abort", async () => {
    await inScene({}, async (scene) => {
      const first = (await png(400, 400)).slice(0, 100);
      const url = scene.at("/r", () => streaming((n) => Bun.sleep(10).then(() => (n === 0 ? first : Uint8Array.of(0)))));
      const outcome = await collect(scene, "image", [url], AbortSignal.timeout(200));
      expect(outcome).toEqual({ kind: "unreadable", detail: "file 1: the time was over" });
      await nothingKept(scene);
      expect((await collect(scene, "image", [url], AbortSignal.abort())).kind).toBe("unreadable");
    });
  });
});

test.each([403, 404, 410])("reports the link as expired when the server returns %d", async (status) => {
  await inScene({}, async (scene) => {
    const outcome = await collect(scene, "video", [scene.at("/r", () => new Response("over", { status }))]);
    expect(outcome).toEqual({ kind: "expired", detail: `file 1: its server answers ${status}` });
    await nothingKept(scene);
  });
});
