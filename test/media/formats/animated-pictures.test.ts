// Animated pictures: their length is the sum of their frames, and still pictures have none.
import { expect, test } from "bun:test";
import { inspect } from "../../../src/media/formats/inspect.ts";
import { OTHER_KINDS } from "../../../src/simulator/rare-formats.ts";
import { jpeg, png, webp } from "../made.ts";
import { inMemory } from "./reader.ts";

/** Three frames of 100, 250 and 400 ms, 16 by 12, written by Pillow. */
const MADE = {
  "image/png":
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAIAAADkharWAAAACGFjVEwAAAADAAAAAM7tusAAAAAaZmNUTAAAAAAAAAAQAAAADAAAAAAAAAAAAAEACgAAYtH5jgAAABdJREFUeJxjZGhoYCAFMJGkelTDCNIAAGd6ARhDGjnOAAAAGmZjVEwAAAABAAAAEAAAAAwAAAAAAAAAAAABAAQAAPM8PlAAAAAaZmRBVAAAAAJ4nGM8EcBAEmAiTfmohpGjAQCfsgEw2ONCRAAAABpmY1RMAAAAAwAAABAAAAAMAAAAAAAAAAAAAgAFAABYyP1eAAAAG2ZkQVQAAAAEeJxj5OLiYiAFMJGkelTDCNIAAGKIADZ08FRtAAAAAElFTkSuQmCC",
  "image/webp":
    "UklGRrYAAABXRUJQVlA4WAoAAAACAAAADwAACwAAQU5JTQYAAAAAAAAAAABBTk1GKAAAAAAAAAAAAA8AAAsAAGQAAAJWUDhMEAAAAC8PwAIAB1DAKGD/AxHR/wBBTk1GKAAAAAAAAAAAAA8AAAsAAPoAAABWUDhMEAAAAC8PwAIAB1CoIkf/AxHR/wBBTk1GKgAAAAAAAAAAAA8AAAsAAJABAABWUDhMEQAAAC8PwAIAB1CFKlSh/4GI6H8AAA==",
  "image/gif":
    "R0lGODlhEAAMAIEAAACAgAAAAAAAAAAAACH5BAAKAAAALAAAAAAQAAwAAAgZAAEIHEiwoMGDCBMqXMiwocOHECNKnCgwIAAh+QQBGQABACwAAAAAEAAMAIHIUAAAAAAAAAAAAAAIGQABCBxIsKDBgwgTKlzIsKHDhxAjSpwoMCAAIfkEASgAAQAsAAAAABAADACBCgoKAAAAAAAAAAAACBkAAQgcSLCgwYMIEypcyLChw4cQI0qcKDAgADs=",
};

const look = (bytes: Uint8Array) => inspect(inMemory(bytes), { signal: new AbortController().signal, depth: "whole" });

for (const [mime, coded] of Object.entries(MADE))
  test(`${mime}: adds up the times of its frames`, async () => {
    const bytes = Uint8Array.fromBase64(coded);
    expect(await look(bytes)).toEqual({ mime, kind: "image", width: 16, height: 12, ms: 750, isComplete: true });
    expect((await look(bytes.subarray(0, bytes.length - 30))).isComplete).toBe(false);
  });

test("reports no length for still pictures, and the length of four frames for an animated GIF of the simulator", async () => {
  for (const bytes of [await png(8, 8), await jpeg(8, 8), await webp(8, 8)]) expect((await look(bytes)).ms).toBeUndefined();
  const wanted = { width: 30, height: 20, ms: 5000, sound: false };
  expect((await look(await OTHER_KINDS.gif.make(wanted, 1))).ms).toBeUndefined();
  expect((await look(await OTHER_KINDS["moving-gif"].make(wanted, 1))).ms).toBe(2000);
});
