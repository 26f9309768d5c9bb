// The copy of a stored part: failed and short reads are repeated, and only a part that is proved to be lost is an error.
import { expect, test } from "bun:test";
import { ApiError } from "../../src/domain/api-errors.ts";
import { copyPart } from "../../src/uploads/copy-part.ts";
import { testClock } from "../clock.ts";

const BYTES = Buffer.from("0123456789".repeat(20));
const PART = { id: "blob_1", firstByte: 0, bytes: BYTES.length, sha256: Bun.SHA256.hash(BYTES, "hex") };

type Read = { bytes: Uint8Array; announced?: number; breaks?: true } | "missing" | "unavailable";
const WHOLE: Read = { bytes: BYTES };
const cut = (bytes: number): Read => ({ bytes: BYTES.subarray(0, bytes), announced: BYTES.length });
const broken = (bytes: number): Read => ({ bytes: BYTES.subarray(0, bytes), announced: BYTES.length, breaks: true });
const DAMAGED: Read = { bytes: Buffer.from(BYTES).fill("x", 50, 51) };
const TRUNCATED: Read = { bytes: BYTES.subarray(0, 90) };

const bodyOf = ({ bytes, breaks }: Exclude<Read, string>) => {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) return breaks ? controller.error(new Error("reset")) : controller.close();
      controller.enqueue(bytes.subarray(at, at + 7));
      at += 7;
    },
  });
};

/** Copies the part with these reads in turn. */
const copy = async (...reads: Read[]) => {
  const clock = testClock(1000);
  const written: Uint8Array[] = [];
  const turns = [...reads];
  const readPart = async () => {
    const read = turns.shift() ?? "missing";
    if (read === "missing") return undefined;
    if (read === "unavailable") throw new Error("the bucket answered 503");
    const headers = { "content-length": String(read.announced ?? read.bytes.length) };
    return new Response(bodyOf(read), { headers });
  };
  const fault = await copyPart(PART, { clock, readPart }, async (chunk) => void written.push(chunk.slice())).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  clock.stop();
  const code = fault === null ? null : fault instanceof ApiError ? fault.code : fault;
  return { code, bytes: Buffer.concat(written), left: turns.length };
};

test.each<[string, Read[]]>([
  ["is read once", [WHOLE]],
  ["cannot be reached at first", ["unavailable", "unavailable", WHOLE]],
  ["is not found at first", ["missing", WHOLE]],
  ["ends early, and then earlier", [cut(90), cut(40), WHOLE]],
  ["breaks off at different bytes", [broken(3), broken(150), WHOLE]],
  ["breaks off behind its last byte", [broken(BYTES.length), WHOLE]],
])("a part that %s is copied whole, and each byte once", async (_, reads) => {
  const { code, bytes, left } = await copy(...reads);
  expect([code, left]).toEqual([null, 0]);
  expect(bytes.equals(BYTES)).toBe(true);
});

test.each<[string, Read[], string]>([
  ["is missing", ["missing", "missing", "missing"], "server_error"],
  ["has other bytes of the same size", [DAMAGED, DAMAGED, DAMAGED], "server_error"],
  ["is shorter than it was", [TRUNCATED, TRUNCATED, TRUNCATED], "server_error"],
  ["cannot be reached", ["unavailable", "unavailable", "unavailable"], "busy"],
  ["always ends early", [cut(90), cut(90), cut(90)], "busy"],
  ["is missing at first and cannot be reached at last", ["missing", "missing", "unavailable"], "busy"],
  ["has other bytes once, at last", ["unavailable", "unavailable", DAMAGED], "busy"],
  // The written bytes are not those of the part, so the copy has to begin again.
  ["is read with other bytes once", [DAMAGED, WHOLE, WHOLE], "busy"],
])("a part that %s is no file", async (_, reads, code) => {
  expect(await copy(...reads)).toMatchObject({ code, left: 0 });
});

test("a fault of the sink is no failed read", async () => {
  const clock = testClock(1000);
  const full = new Error("the disk is full");
  let reads = 0;
  const readPart = async () => {
    reads += 1;
    return new Response(BYTES);
  };
  const copied = copyPart(PART, { clock, readPart }, () => Promise.reject(full));
  expect(await copied.catch((fault: unknown) => fault)).toBe(full);
  expect(reads).toBe(1);
  clock.stop();
});
