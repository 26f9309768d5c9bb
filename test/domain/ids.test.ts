// Ids contain their row number and never repeat; API keys contain a checksum.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  createGenerationNames,
  generationId,
  hashApiKey,
  isWellFormedApiKey,
  msOfGenerationSeq,
  newApiKey,
  newId,
  seqOfGenerationId,
} from "../../src/domain/ids.ts";

const NOW_MS = 1_790_000_000_000;

describe("generation ids", () => {
  test("contain their row number in the documented form", () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (seq) => {
        const id = generationId(seq);
        expect(id).toMatch(/^gen_[0-9a-hjkmnp-tv-z]{21}$/);
        expect(seqOfGenerationId(id)).toBe(seq);
      }),
    );
  });
  test("sort in the order of their row numbers", () => {
    const seqs = [0, 1, 31, 32, 4096, 2 ** 40, Number.MAX_SAFE_INTEGER];
    expect(seqs.map((seq) => generationId(seq)).toSorted()).toEqual(
      seqs.map((seq) => expect.stringContaining(generationId(seq).slice(0, 15))),
    );
  });
  test("differ for the same row number, so that an id cannot be guessed", () => {
    expect(new Set(Array.from({ length: 1000 }, () => generationId(7))).size).toBe(1000);
  });
  test.each([
    "",
    "gen_",
    "gen_short",
    `gen_${"u".repeat(21)}`,
    `gen_${"z".repeat(21)}`,
    `GEN_${"0".repeat(21)}`,
    `gen_${"0".repeat(22)}`,
    `gen_${"0".repeat(20)}\n`,
  ])("%j is not a valid generation id", (text) => {
    expect(seqOfGenerationId(text)).toBeUndefined();
  });
  test("have increasing row numbers when the clock stops, goes back or jumps", () => {
    const newGeneration = createGenerationNames(null, 0);
    let last = -1;
    for (const ms of [NOW_MS, NOW_MS, NOW_MS - 3_600_000, 0, NOW_MS + 5, ...Array<number>(10_000).fill(NOW_MS + 5)]) {
      const seq = newGeneration(ms).seq;
      expect(seq).toBeGreaterThan(last);
      last = seq;
    }
    expect(Number.isSafeInteger(last)).toBe(true);
  });
  test("start at row number 1 when the clock is at zero, because a hold uses the negated row number", () => {
    expect(createGenerationNames(null, 0)(0).seq).toBe(1);
  });
  test("continue after the row numbers of the former process, whatever the clock shows", () => {
    const before = createGenerationNames(null, 0)(NOW_MS).seq;
    expect(msOfGenerationSeq(before)).toBe(NOW_MS);
    expect(createGenerationNames(null, before + 500)(NOW_MS - 3_600_000).seq).toBe(before + 501);
  });
});

test("other ids start with their type prefix and sort by time", () => {
  const ids = Array.from({ length: 200 }, () => newId("acc"));
  expect(new Set(ids).size).toBe(200);
  for (const id of ids) expect(id).toMatch(/^acc_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  expect(ids.toSorted()).toEqual(ids);
});

describe("API keys", () => {
  test("are well formed, carry their mode and never repeat", () => {
    const keys = Array.from({ length: 500 }, (_, i) => newApiKey(i % 2 === 0 ? "test" : "live"));
    expect(new Set(keys).size).toBe(500);
    for (const [i, key] of keys.entries()) {
      expect(key).toMatch(i % 2 === 0 ? /^gr_test_[0-9A-Za-z]{49}$/ : /^gr_live_[0-9A-Za-z]{49}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
    }
  });
  test("are recognized as mistyped after one changed character, without a read of the store", () => {
    const key = newApiKey("test");
    for (let i = 0; i < key.length; i++) {
      const other = key[i] === "x" ? "y" : "x";
      expect(isWellFormedApiKey(key.slice(0, i) + other + key.slice(i + 1))).toBe(false);
    }
    expect(isWellFormedApiKey(`${key} `)).toBe(false);
    expect(isWellFormedApiKey("")).toBe(false);
  });
  test("are hashed with SHA-256", () => {
    expect(hashApiKey("gr_test_a")).toBe(new Bun.CryptoHasher("sha256").update("gr_test_a").digest("hex"));
  });
});
