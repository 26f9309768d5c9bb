// Tests when the memory of received chunks is released: never before their last byte was taken.
import { expect, test } from "bun:test";
import { readFilePart } from "../../src/uploads/multipart.ts";
import { createHeldChunks, releaseChunk } from "../../src/uploads/release-chunk.ts";

const isReleased = ({ buffer }: Uint8Array): boolean => (buffer as ArrayBuffer).detached;

test("releases a chunk once, and no view of a part of a buffer", () => {
  const whole = new Uint8Array(100);
  releaseChunk(whole);
  releaseChunk(whole);
  expect(isReleased(whole)).toBe(true);
  const view = new Uint8Array(100).subarray(0, 50);
  releaseChunk(view);
  expect(isReleased(view)).toBe(false);
});

test("releases the chunks of a form when as many bytes of its file were taken", () => {
  const [first, second] = [new Uint8Array(100), new Uint8Array(50)];
  const chunks = createHeldChunks();
  chunks.hold(first);
  chunks.hold(second);
  chunks.taken(99);
  expect([first, second].map(isReleased)).toEqual([false, false]);
  chunks.taken(1);
  expect([first, second].map(isReleased)).toEqual([true, false]);
  chunks.taken(50);
  expect(isReleased(second)).toBe(true);
});

/** A form whose file contains beginnings of its boundary, so that the parser holds bytes back from chunk to chunk. */
const FILE = Buffer.from(`${"\r\n--border".repeat(4_000)}${"x".repeat(50_000)}\r\n`);
const FORM = Buffer.concat([
  Buffer.from('--border-of-parts\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'),
  FILE,
  Buffer.from("\r\n--border-of-parts--\r\n"),
]);

test.each([1, 7, 1_000, 65_536, FORM.length])("reads the whole file of a form in chunks of %p bytes", async (size) => {
  const chunks: Uint8Array[] = [];
  const body = (async function* () {
    for (let at = 0; at < FORM.length; at += size) {
      const chunk = new Uint8Array(FORM.subarray(at, at + size));
      chunks.push(chunk);
      yield chunk;
    }
  })();
  const hash = new Bun.CryptoHasher("sha256");
  await readFilePart("multipart/form-data; boundary=border-of-parts", body, async (piece) => {
    // A slow disk, during which the parser continues.
    await new Promise<void>((next) => void setImmediate(next));
    hash.update(piece);
  });
  expect(hash.digest("hex")).toBe(new Bun.CryptoHasher("sha256").update(FILE).digest("hex"));
  // The last ones share their bytes with the end of the form.
  const released = chunks.filter(isReleased).length;
  expect(released).toBeGreaterThanOrEqual(chunks.length - Math.ceil((FORM.length - FILE.length) / size) - 1);
});
