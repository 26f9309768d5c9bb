// Extraction of long strings from streamed JSON responses, for chunks of any size; the rest stays unchanged.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type LongText, sift } from "../../src/providers/large-strings.ts";

const LONG = 70_000;
const runs = { numRuns: 60, seed: Number(process.env.FC_SEED ?? 20_261_125) };

const inPieces = async function* (bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = Math.max(1, sizes[n % sizes.length] ?? 1);
    yield bytes.subarray(at, at + size);
    at += size;
  }
};
const siftText = (text: string, sizes: readonly number[] = [1000], mostLeft?: number) =>
  sift(inPieces(Buffer.from(text), sizes), mostLeft);
const textOf = ({ pieces }: LongText): string => pieces.join("");

/** The parsed response with the long strings put back. */
const restored = (text: string, longTexts: ReadonlyMap<string, LongText>): unknown =>
  JSON.parse(text, (_, value) => {
    const long = typeof value === "string" ? longTexts.get(value) : undefined;
    return long ? textOf(long) : value;
  });

test("sift followed by restoring returns the original JSON, for any chunk sizes", async () => {
  const base64 = fc.uint8Array({ minLength: LONG, maxLength: LONG + 40 }).map((bytes) => Buffer.from(bytes).toString("base64"));
  const leaf = fc.oneof({ weight: 6, arbitrary: fc.jsonValue({ maxDepth: 2 }) }, { weight: 2, arbitrary: base64 }, fc.string());
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string(), leaf, { maxKeys: 6 }),
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 5 }),
      fc.constantFrom(undefined, 1, "\t"),
      async (body, sizes, indent) => {
        const written = JSON.stringify(body, null, indent);
        const sifted = await siftText(written, sizes);
        if (!sifted) throw new Error("sift returned undefined");
        expect(restored(sifted.text, sifted.longTexts)).toEqual(JSON.parse(written));
        expect(sifted.text.length).toBeLessThan(200_000);
      },
    ),
    runs,
  );
});

test("sift preserves strings full of quotes, backslashes and line breaks, for any chunk sizes", async () => {
  const marks = fc.array(fc.constantFrom("\\", '"', "\\\\", "x", "\n", "u12"), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      marks,
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 3 }),
      async (parts, sizes) => {
        const body = { prompt: parts.join("").repeat(Math.ceil(LONG / parts.join("").length)), after: parts.join("") };
        const sifted = await siftText(JSON.stringify(body), sizes);
        if (!sifted) throw new Error("sift returned undefined");
        expect(restored(sifted.text, sifted.longTexts)).toEqual(body);
      },
    ),
    runs,
  );
});

test("sift reads a string of 4 million quotes and a list of 600,000 strings", async () => {
  const quotes = await siftText(JSON.stringify({ prompt: '"'.repeat(4_000_000) }), [65_536]);
  expect(quotes?.longTexts.size).toBe(1);
  const texts = `[${'"",'.repeat(600_000)}""]`;
  expect((await siftText(texts, [65_536]))?.text).toBe(texts);
});

test("sift rejects dense JSON without long strings above 2 MiB, because parsing it would block the process", async () => {
  const dense = (bytes: number) => `[${"[],".repeat(bytes / 3)}[]]`;
  expect((await siftText(dense(1.5 * 1024 * 1024), [65_536]))?.longTexts.size).toBe(0);
  expect(await siftText(dense(2.5 * 1024 * 1024), [65_536])).toBeUndefined();
});

describe("a long string", () => {
  const longOf = async (inner: string, sizes?: readonly number[]): Promise<LongText> => {
    const sifted = await siftText(`{"a":1,"file":"${inner}","b":"x"}`, sizes);
    const [only] = sifted?.longTexts.values() ?? [];
    if (!sifted || !only) throw new Error("sift found no long string");
    expect(JSON.parse(sifted.text)).toMatchObject({ a: 1, b: "x" });
    return only;
  };
  const picture = Buffer.alloc(LONG + 1, "pixels ");
  const packed = picture.toString("base64");

  test("is classified as base64, hex or neither", async () => {
    expect(await longOf(packed)).toMatchObject({ isBase64: true, isHex: false });
    expect(await longOf(picture.toString("hex"))).toMatchObject({ isHex: true });
    for (const foreign of ["%", "é", "<", "{", "\\u0000", "\\ud83e\\udd8a"])
      expect(await longOf(`${packed.slice(0, 50_000)}${foreign}${packed.slice(50_000)}`)).toMatchObject({ isBase64: false });
    expect(await longOf(`${"ab".repeat(LONG)}c`)).toMatchObject({ isHex: false });
    expect(await longOf(`${packed}=${packed}`)).toMatchObject({ isBase64: false });
  });
  for (const size of [1, 2, 3, 5, 7, 4096, 1_000_000])
    test(`with escapes and line breaks is base64 in chunks of ${size} bytes`, async () => {
      const lines = JSON.stringify(packed.match(/.{1,76}/g)?.join("\r\n")).slice(1, -1);
      const long = await longOf(lines.replaceAll("/", "\\/").replaceAll("+", "\\u002B"), [size]);
      expect(Buffer.from(textOf(long).replace(/\s/g, ""), "base64").equals(picture)).toBe(true);
      expect(long.isBase64).toBe(true);
    });
  test("may be a data URL, or may contain quotes and backslashes", async () => {
    const long = await longOf(`data:image/png;base64,${packed}`);
    expect([long.isBase64, textOf(long) === packed]).toEqual([true, true]);
    const words = `a \\"quote\\" and \\\\ ${"x".repeat(LONG)}\\\\`;
    expect(textOf(await longOf(words, [1]))).toBe(JSON.parse(`"${words}"`));
  });
});

describe("a response without a long string", () => {
  test("stays unchanged if it is HTML, cut JSON or empty", async () => {
    for (const text of ['<html lang="en"><body class="a">no</body></html>', '{"a":"b', '"', "", "]"])
      expect((await siftText(text, [1]))?.text).toBe(text);
  });
  test("is rejected above the limit of remaining bytes, which excludes long strings", async () => {
    expect(await siftText(`[${"1,".repeat(5_000)}1]`, [1000], 9_000)).toBeUndefined();
    expect(await siftText(JSON.stringify(Array.from({ length: 100 }, () => "x".repeat(1000))), [5000], 90_000)).toBeUndefined();
    expect(await siftText(JSON.stringify(["x".repeat(200_000)]), [5000], 90_000)).toBeDefined();
  });
  test("cannot forge a reference to a long string", async () => {
    const sifted = await siftText(JSON.stringify({ a: "[text 1 of 0]", b: "x".repeat(LONG) }));
    const { a, b } = JSON.parse(sifted?.text ?? "{}") as Record<string, string>;
    expect([sifted?.longTexts.has(a ?? ""), sifted?.longTexts.has(b ?? "")]).toEqual([false, true]);
  });
});
