// Malicious clips, whose tables announce endless work, are rejected at once.
import { describe, expect, test } from "bun:test";
import { Unreadable } from "../../src/media/byte-source.ts";
import { inspect } from "../../src/media/formats/inspect.ts";
import { inMemory } from "./formats/reader.ts";
import { mp4 } from "./made.ts";

const measure = (bytes: Uint8Array): Promise<unknown> =>
  inspect(inMemory(bytes), { signal: AbortSignal.timeout(5000), depth: "whole" }).catch((error: unknown) => error);

/** Expects a rejection or the length of the actual data: one step for each announced number would not end. */
const endsWell = (said: unknown, ms: number) =>
  said instanceof Unreadable
    ? expect(said.message).toBe("its index is not one of a real clip")
    : expect(said).toMatchObject({ ms });

const box = (name: string, ...parts: Uint8Array[]): Uint8Array => {
  const length = Buffer.alloc(4);
  const content = Buffer.concat(parts);
  length.writeUInt32BE(8 + content.length);
  return Buffer.concat([length, Buffer.from(name, "latin1"), content]);
};
const words = (...values: number[]): Uint8Array => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [n, value] of values.entries()) bytes.writeUInt32BE(value, n * 4);
  return bytes;
};

/** Replaces the table `name` of the first track and corrects the lengths of the boxes around it. */
const withTable = (clip: Uint8Array, name: string, ...tables: Uint8Array[]): Uint8Array => {
  const path = ["moov", "trak", "mdia", "minf", "stbl"];
  const rebuild = (bytes: Buffer, depth: number): Buffer => {
    const out: Uint8Array[] = [];
    let isDone = false;
    for (let at = 0; at + 8 <= bytes.length; ) {
      const length = bytes.readUInt32BE(at);
      const type = bytes.toString("latin1", at + 4, at + 8);
      const content = bytes.subarray(at + 8, at + length);
      if (depth < path.length && type === path[depth] && !isDone) {
        out.push(box(type, rebuild(content, depth + 1)));
        isDone = true;
      } else if (depth === path.length && type === name && !isDone) {
        out.push(...tables);
        isDone = true;
      } else out.push(bytes.subarray(at, at + length));
      at += length;
    }
    if (depth === path.length && !isDone) out.push(...tables);
    return Buffer.concat(out);
  };
  return rebuild(Buffer.from(clip), 0);
};

const MANY = 0xffffffff;

describe("the index of a malicious clip", () => {
  const bombs: [string, (clip: Uint8Array) => Uint8Array][] = [
    [
      "4,294,967,295 reordered frames",
      (clip) => withTable(withTable(clip, "stts", box("stts", words(0, 1, MANY, 1))), "ctts", box("ctts", words(0, 1, 1, 1))),
    ],
    [
      "a thousand rows of a million reordered frames",
      (clip) =>
        withTable(
          withTable(
            clip,
            "stts",
            box("stts", words(0, 1000, ...Array.from({ length: 2000 }, (_, n) => (n % 2 ? 1 : 1_000_000)))),
          ),
          "ctts",
          box("ctts", words(0, 1, 1, 1)),
        ),
    ],
    ["4,294,967,295 samples in one chunk", (clip) => withTable(clip, "stsc", box("stsc", words(0, 1, 1, MANY, 1)))],
    ["a chunk number of 4,294,967,295", (clip) => withTable(clip, "stsc", box("stsc", words(0, 2, 1, 1, 1, MANY, 1, 1)))],
    ["a sample table inside a udta box", (clip) => withTable(clip, "udta", box("udta", box("stts", words(0, 1, MANY, 1))))],
  ];
  test.each(bombs)("rejects or measures a clip with %s", async (_, make) => {
    const bomb = make(await mp4({ seconds: 1 }));
    endsWell(await measure(bomb), 1000);
  });

  test("measures a clip whose table is replaced with valid numbers", async () => {
    const clip = await mp4({ seconds: 1 });
    const honest = withTable(clip, "stts", box("stts", words(0, 1, 25, 2304)));
    expect(await measure(honest)).toMatchObject({ kind: "video", width: 320 });
  });

  const fragments: [string, Uint8Array][] = [
    ["4,294,967,295 samples in one run", box("trun", words(0, MANY))],
    ["ten runs of a hundred thousand samples", Buffer.concat(Array.from({ length: 10 }, () => box("trun", words(0, 100_000))))],
    ["a table of an encrypted clip", box("senc", words(0, MANY))],
  ];
  test.each(fragments)("rejects fragments with %s", async (_, run) => {
    const clip = Buffer.from(await mp4({ seconds: 3, index: "fragments" }));
    // The last box lists the fragments. Without it, the parser walks them, including the first and its bomb.
    const start = clip.indexOf("moof", 0, "latin1") - 4;
    const track = clip.subarray(clip.indexOf("tfhd", 0, "latin1") - 4);
    const head = track.subarray(0, track.readUInt32BE(0));
    const bomb = Buffer.concat([
      clip.subarray(0, start),
      box("moof", box("mfhd", words(0, 1)), box("traf", head, run)),
      box("mdat"),
    ]);
    expect(await measure(bomb)).toBeInstanceOf(Unreadable);
  });
});

test("rejects a file that has the header of a clip and no content", async () => {
  for (const bytes of [
    box("ftyp", Buffer.from("isom"), words(0, 0)),
    Buffer.concat([box("ftyp", Buffer.from("isom"), words(0, 0)), box("moov", box("mvhd", Buffer.alloc(100)))]),
    Buffer.concat([box("ftyp", Buffer.from("isom"), words(0, 0)), words(MANY), Buffer.from("moov")]),
    Buffer.concat([box("ftyp", Buffer.from("isom"), words(0, 0)), words(1), Buffer.from("moov"), words(MANY, MANY)]),
  ])
    expect(await measure(bytes)).toBeInstanceOf(Unreadable);
});

test("measures or rejects 1,500 mutated clips without any other error", async () => {
  const seed = 20261019;
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
  const clips = [await mp4({ seconds: 1, audio: true }), await mp4({ seconds: 2, index: "fragments" })];
  for (let round = 0; round < 1500; round++) {
    const clip = Buffer.from(clips[round % clips.length] ?? new Uint8Array(0));
    const where = round % 3 === 0 ? clip.length : 1500;
    for (let n = 0; n <= random(8); n++)
      clip[12 + random(Math.min(where, clip.length) - 12)] = [0, 1, 0x7f, 0xff][random(4)] ?? 0;
    const said = await measure(clip);
    const isLength = typeof said === "object" && said !== null && "ms" in said;
    if (!isLength && !(said instanceof Unreadable)) throw new Error(`seed ${seed}, round ${round}: ${String(said)}`);
  }
});
