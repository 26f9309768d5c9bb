// Measurement queue: each account has its own places and its own waiting time.
import { expect, test } from "bun:test";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { MediaLink } from "../../src/domain/types.ts";
import { createSandbox } from "../../src/media/sandbox/sandbox.ts";
import { honest, inScene, type Scene } from "./fixture.ts";
import { mp4, png, wav } from "./made.ts";

const links = (scene: Scene, name: string, count: number): MediaLink[] =>
  Array.from({ length: count }, (_, n) => ({
    field: `input.image_urls[${n}]`,
    url: scene.at(`/${name}/${n}`, () => new Promise<Response>(() => {})),
    kind: "image",
  }));
const codeOf = (measuring: Promise<unknown>): Promise<unknown> =>
  measuring.then(
    () => "measured",
    (fault: unknown) => (fault instanceof ApiError ? fault.code : fault),
  );

test("returns busy to an account that waits too long, while another account is measured", async () => {
  await inScene({ timeouts: { measureMs: 200, waitMs: 100 } }, async (scene) => {
    const first = codeOf(scene.media.measure(links(scene, "first", 8), "slow"));
    const second = codeOf(scene.media.measure(links(scene, "second", 8), "slow"));
    const url = scene.at("/picture", honest(await png()));
    const other = codeOf(scene.media.measure([{ field: "input.image_url", url, kind: "image" }], "other"));
    expect(await other).toBe("measured");
    expect(await first).toBe("invalid_input");
    expect(await second).toBe("busy");
  });
});

test("does not count the waiting time as measuring time", async () => {
  await inScene({ timeouts: { measureMs: 300, waitMs: 20_000 } }, async (scene) => {
    const picture = await png();
    const slow = (name: string): MediaLink[] =>
      Array.from({ length: 8 }, (_, n) => ({
        field: `input.image_urls[${n}]`,
        url: scene.at(`/${name}/${n}`, async (request) => {
          await Bun.sleep(150);
          return honest(picture)(request);
        }),
        kind: "image",
      }));
    // The fourth waits longer than the measuring time allows.
    const all = ["1", "2", "3", "4"].map((name) => codeOf(scene.media.measure(slow(name), "one")));
    expect(await Promise.all(all)).toEqual(["measured", "measured", "measured", "measured"]);
  });
});

test("measures other files in the only child process while a server is slow", async () => {
  const one = createSandbox({ workers: 1, niceness: 0 });
  await inScene({ sandbox: one }, async (scene) => {
    const asked: string[] = [];
    const [clip, sound] = [await mp4({ seconds: 30, index: "end", frameBytes: 4000 }), wav(3)];
    const url = scene.at("/clip", async (request) => {
      asked.push(request.headers.get("range") ?? "");
      // Meanwhile, the only child process measures another file.
      const other = scene.at(`/sound${asked.length}`, honest(sound));
      expect(await codeOf(scene.media.measure([{ field: "input.audio_url", url: other, kind: "audio" }], "2"))).toBe("measured");
      return honest(clip)(request);
    });
    expect(await codeOf(scene.media.measure([{ field: "input.video_url", url, kind: "video" }], "1"))).toBe("measured");
    expect(asked.length).toBeGreaterThan(1);
  });
  await one.close();
});
