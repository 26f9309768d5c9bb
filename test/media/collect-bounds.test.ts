// Bounds on collecting results: allowed hosts, a full disk, memory and open files.
import { describe, expect, test } from "bun:test";
import { openSync } from "node:fs";
import { open } from "node:fs/promises";
import type { MediaKind } from "../../src/domain/types.ts";
import { type Files, StorageRefused } from "../../src/files/port.ts";
import type { CollectOutcome } from "../../src/media/port.ts";
import { inScene, rangeless, type Scene, streaming } from "./fixture.ts";
import { mp4, png } from "./made.ts";

const ID = "gen_1abc";

const collect = (scene: Scene, kind: MediaKind, urls: string[]): Promise<CollectOutcome> =>
  scene.media.collect(
    { generationId: ID, attempt: 1, kind, results: urls.map((url) => ({ url })), provider: "fal" },
    AbortSignal.timeout(10_000),
  );

describe("hosts that may deliver results", () => {
  test("allows the host of the provider's base URL for that provider only", async () => {
    const allowsResult = (provider: string, host: string) => provider === "fal" && host.startsWith("127.0.0.1:");
    await inScene({ allows: () => false, allowsResult }, async (scene) => {
      const results = [{ url: scene.at("/r", rangeless(await png())) }];
      const from = (provider: string) =>
        scene.media.collect({ generationId: ID, attempt: 1, kind: "image", results, provider }, AbortSignal.timeout(5000));
      expect((await from("replicate")).kind).toBe("unreadable");
      expect(scene.asked).toEqual([]);
      expect((await from("fal")).kind).toBe("collected");
    });
  });

  test("collects from one provider while the server of another provider hangs", async () => {
    await inScene({}, async (scene) => {
      const hanging = scene.at("/hang", () => new Promise<Response>(() => {}));
      const stop = new AbortController();
      const stuck = Array.from({ length: 40 }, (_, n) =>
        scene.media.collect(
          { generationId: `gen_0${n}`, attempt: 1, kind: "image", results: [{ url: hanging }], provider: "slow" },
          stop.signal,
        ),
      );
      expect((await collect(scene, "image", [scene.at("/r", rangeless(await png()))])).kind).toBe("collected");
      stop.abort();
      expect((await Promise.all(stuck)).every((outcome) => outcome.kind === "unreadable")).toBe(true);
    });
  });
});

describe("storage refuses a file", () => {
  test("reports storage-refused when the disk is full", async () => {
    // `/dev/full` is always full, so the error is the system's own ENOSPC.
    const full: Pick<Files, "receive"> = {
      receive: async () => {
        const device = await open("/dev/full", "w");
        let held: readonly Uint8Array[] = [];
        const write = async (...chunks: readonly Uint8Array[]) => {
          await device.writev(chunks).catch((error: NodeJS.ErrnoException) => {
            throw new StorageRefused(`the disk returned an error: ${error.code}`);
          });
        };
        return {
          path: "/dev/full",
          write,
          hold: (chunks) => {
            held = chunks;
          },
          keep: () => write(...held),
          discard: () => device.close(),
        };
      },
    };
    await inScene({ files: full }, async (scene) => {
      const outcome = await collect(scene, "image", [scene.at("/r", rangeless(await png()))]);
      expect(outcome).toEqual({ kind: "storage-refused", detail: "the disk returned an error: ENOSPC" });
    });
  });
});

test("streams a large result: memory grows by less than half of its size", async () => {
  const clip = await mp4({ seconds: 1 });
  const piece = new Uint8Array(65_536);
  const pieces = 3000;
  // A `free` box at the end announces the length of all pieces together.
  const filling = Buffer.alloc(8);
  filling.writeUInt32BE(8 + pieces * piece.length);
  filling.write("free", 4, "latin1");
  /** Collects garbage first: otherwise memory shows only how busy the machine is. */
  const rss = () => {
    Bun.gc(true);
    return process.memoryUsage().rss;
  };
  await inScene({ resultBytes: 500_000_000 }, async (scene) => {
    let most = 0;
    const url = scene.at("/r", () =>
      streaming(async (n) => {
        if (n % 250 === 0) most = Math.max(most, rss());
        return n === 0 ? Buffer.concat([clip, filling]) : n <= pieces ? piece : undefined;
      }),
    );
    const before = rss();
    const outcome = await collect(scene, "video", [url]);
    expect(outcome.kind === "collected" && outcome.output.files[0]?.bytes).toBe(clip.length + 8 + pieces * piece.length);
    expect(most).toBeGreaterThan(0);
    expect(Math.max(most, rss()) - before).toBeLessThan((pieces * piece.length) / 2);
  });
});

test("closes every file descriptor after collecting", async () => {
  await inScene({}, async (scene) => {
    const good = scene.at("/good", rangeless(await png()));
    const bad = scene.at("/bad", rangeless(new Uint8Array(100)));
    const lowestFree = () => openSync("/dev/null", "r");
    await collect(scene, "image", [good, bad]);
    const before = lowestFree();
    for (let n = 0; n < 20; n++) await collect(scene, "image", [good, n % 2 ? bad : good]);
    expect(lowestFree() - before).toBeLessThan(10);
  });
});
