// Tests that caches of ended generations are full within ten minutes of a steady load and grow no further.

import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GenerationRecord } from "../../src/domain/types.ts";
import { createRecordCache } from "../../src/generations/record-cache.ts";
import { createJobClaims } from "../../src/providers/job-claims.ts";
import { openReader, openWriter, pragma } from "../../src/store/sqlite/open.ts";
import { newGeneration } from "../new-generation.ts";
import { dropScratch } from "../scratch.ts";

/** Submissions of ten minutes at 20 per second. */
const TEN_MINUTES = 12_000;
const ACCOUNT = 1;

const recordOf = ({ seq, id }: { seq: number; id: string }): GenerationRecord => ({
  seq,
  id,
  accountSeq: ACCOUNT,
  requestId: "req_1",
  model: "sim-image-1",
  status: "succeeded",
  message: null,
  quotedCredits: 1,
  reservedCredits: 1,
  costCredits: 1,
  attempts: 1,
  error: null,
  output: null,
  createdAtMs: 0,
  completedAtMs: 1,
  filesExpiredAtMs: null,
  erasedAtMs: null,
  labels: null,
});

test("the record cache stops growing within ten minutes, and keeps a record that clients poll", async () => {
  let reads = 0;
  const generationById = async () => {
    reads += 1;
    return undefined;
  };
  const records = createRecordCache({ generationById });
  const named = Array.from({ length: 3 * TEN_MINUTES }, (_, n) => newGeneration(n));
  const inMemory = async (ids: readonly { id: string }[]) => {
    reads = 0;
    for (const { id } of ids) await records.find(id, ACCOUNT);
    return ids.length - reads;
  };
  const polled = named[0];
  for (const one of named.slice(0, TEN_MINUTES)) {
    records.keep(recordOf(one));
    if (polled) expect(await records.find(polled.id, ACCOUNT)).toBeDefined();
  }
  const kept = await inMemory(named.slice(0, TEN_MINUTES));
  for (const one of named.slice(TEN_MINUTES)) records.keep(recordOf(one));
  // The size varies between a half and the whole of the bound.
  expect(await inMemory(named)).toBeLessThanOrEqual(2 * kept);
  expect(kept).toBeLessThan(TEN_MINUTES);
});

test("the cache of job claims stops growing within ten minutes", () => {
  const claims = createJobClaims();
  const held = (upTo: number) =>
    Array.from({ length: upTo }, (_, n) => claims.holder("fal", `job-${n}`)).filter((holder) => holder !== undefined).length;
  for (let n = 0; n < TEN_MINUTES; n += 1) claims.take("fal", `job-${n}`, `ref-${n}`);
  const kept = held(TEN_MINUTES);
  for (let n = TEN_MINUTES; n < 3 * TEN_MINUTES; n += 1) claims.take("fal", `job-${n}`, `ref-${n}`);
  expect(held(3 * TEN_MINUTES)).toBe(kept);
  expect(kept).toBeLessThan(TEN_MINUTES);
});

test("the page caches of both connections are full within ten minutes, at 6 kB of database per generation", () => {
  const dir = mkdtempSync(join(tmpdir(), "bounds-"));
  const path = join(dir, "genrouter.db");
  const writer = openWriter(path);
  const reader = openReader(path);
  try {
    const kib = [writer, reader].map((db) => -Number(pragma(db, "cache_size")));
    expect(Math.min(...kib)).toBeGreaterThan(0);
    expect(kib.reduce((sum, one) => sum + one, 0)).toBeLessThan((TEN_MINUTES * 6 * 1000) / 1024);
  } finally {
    reader.close();
    writer.close();
    dropScratch(dir);
  }
});
