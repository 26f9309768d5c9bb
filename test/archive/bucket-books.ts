// Archive contract in a bucket, for either store, and helpers that create and check archives there.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/domain/clock.ts";
import { type ArchiveObjects, createArchiveObjects } from "../../src/files/s3/archive-objects.ts";
import type { BucketSettings } from "../../src/files/s3/bucket-config.ts";
import { type ArchiveStorage, openDirectory } from "../../src/store/archive/archive-storage.ts";
import { checkArchive } from "../../src/store/archive/check.ts";
import { checkJoin } from "../../src/store/archive/continuity-check.ts";
import { manifestName, manifestsIn, SEGMENTS } from "../../src/store/archive/format.ts";
import { lineageAt } from "../../src/store/archive/source.ts";
import { archive } from "../../src/store/archive/write.ts";
import { freshDir } from "../cli/fresh-dir.ts";
import { type Asked, openTestBucket, type TestBucket } from "../files/s3/bucket.ts";
import { BEFORE_MS, type Books, FIRST, LATER_BEFORE_MS, succeedAt } from "./fixture.ts";

export const PREFIX = "Küche 1/";
/** The bucket of the current test. */
export let bucket: TestBucket;
/** Opens a new bucket for each test of the calling file. */
export const useBucket = (): void => {
  beforeEach(async () => {
    bucket = await openTestBucket(Date.now);
  });
  afterEach(() => bucket.close());
};

/** Retry pauses pass at once; response timeouts keep their length. */
const system = systemClock();
export const clock: Clock = { ...system, after: (ms, then) => system.after(ms <= 30_000 ? 0 : ms, then) };
export const settingsOf = (): BucketSettings => {
  const { GENROUTER_S3__REGION: region, GENROUTER_S3__BUCKET: name, ...keys } = bucket.settings as Record<string, string>;
  return {
    ...{ endpoint: bucket.endpoint, region: region ?? "", bucket: name ?? "", prefix: PREFIX },
    ...{ access_key: keys.GENROUTER_S3__ACCESS_KEY ?? "", secret_key: keys.GENROUTER_S3__SECRET_KEY ?? "" },
  };
};
export const storageOf = async (books: Books): Promise<ArchiveObjects> =>
  createArchiveObjects(await lineageAt(books.place), { settings: settingsOf(), clock, signal: new AbortController().signal });
export const faultsOf = async (storage: ArchiveStorage): Promise<string[]> =>
  (await checkArchive(storage)).checks.flatMap(({ offending }) => offending.map(({ fault }) => String(fault)));
export const joinOf = async (books: Books, storage: ArchiveStorage): Promise<unknown[]> => {
  const { walked, manifests } = await checkArchive(storage);
  return (await checkJoin(books.place, storage, walked, manifests)).offending;
};
export const namesIn = (storage: ArchiveObjects, part: string) =>
  [...bucket.objects.keys()].filter((key) => key.includes(storage.below + part));
export const segmentsIn = (storage: ArchiveObjects) => namesIn(storage, `${SEGMENTS}/`);
export const isPut = ({ method }: Asked) => method === "PUT";
/** The objects of an archive with their bytes. */
export const bytesIn = (storage: ArchiveObjects) =>
  new Map(namesIn(storage, "").map((key) => [key.slice(storage.below.length), bucket.objects.get(key)?.bytes.toString("hex")]));

/** The tests for one store. */
export const keepsBooksInBucket = (open: () => Promise<Books>): void => {
  let books: Books;
  afterEach(() => books.drop());

  test("consecutive archives equal those of a directory byte for byte, form one chain, and join the database", async () => {
    books = await open();
    const [storage, dir] = [await storageOf(books), freshDir()];
    const first = await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    expect(first.manifest?.totals).toMatchObject(FIRST);
    expect((await archive(books.place, storage, BEFORE_MS, BEFORE_MS)).manifest).toBeNull();
    await succeedAt(books.store, books.quiet, BEFORE_MS + 86_400_000);
    const { manifest } = await archive(books.place, storage, LATER_BEFORE_MS, LATER_BEFORE_MS);
    expect([manifest?.n, (await manifestsIn(storage)).length]).toEqual([2, 2]);
    expect([await faultsOf(storage), await joinOf(books, storage)]).toEqual([[], []]);
    await succeedAt(books.store, books.quiet, LATER_BEFORE_MS + 1);
    expect(await joinOf(books, storage)).toEqual([]);

    expect(storage.below).toMatch(/^Küche 1\/archive\/[0-9a-f]{16}\/$/);
    for (const beforeMs of [BEFORE_MS, LATER_BEFORE_MS]) await archive(books.place, openDirectory(dir), beforeMs, beforeMs);
    const names = [manifestName(1), manifestName(2), ...readdirSync(join(dir, SEGMENTS)).map((one) => `${SEGMENTS}/${one}`)];
    expect(bytesIn(storage)).toEqual(new Map(names.map((one) => [one, readFileSync(join(dir, one)).toString("hex")])));
  });
};
