// Judges a world of uploads after the last kill: acknowledged files are whole, a sweep leaves no bytes without a file, no credits moved.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { StorageUnavailable } from "../../src/files/port.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import type { Check } from "../../src/torture/crash/audit.ts";
import { inParallel } from "../../src/torture/crash/quiesce.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";
import { type Harness, openHarness } from "../harness.ts";
import { contentOf, sha256Of } from "./content.ts";
import type { UploadWorld } from "./killed-world.ts";
import type { Upload, UploadLine } from "./upload-log.ts";

export type Evidence = { lines: readonly UploadLine[]; uploads: readonly Upload[]; seed: number };
type Judged = Check & { figures?: Record<string, number> };

const MINUTE_MS = 60_000;
/** Sweeps until one works. */
const SWEEPS = 10;
const DAY_MS = 86_400_000;
/** Resumable uploads expire after a day; what is left of them is forgotten one day later. */
const EXPIRED_MS = 2 * DAY_MS;
/** Uploaded files are kept for seven days. */
const RETAINED_MS = 8 * DAY_MS;
const PAGE = 1000;
/** Lists files that have expired, too, as long as they are not deleted. */
const ALSO_EXPIRED = 0;
/** A lease for a stopped clock: the node does not renew its lease then. */
const LEASE_MS = 3_600_000;

/** Opens the service of the world in this process, with a clock that the judge moves. */
const openService = async ({ database, dir, settings }: UploadWorld) => {
  const clock = testClock(0, Date.now());
  const isShared = database.startsWith("postgres://");
  const node = isShared
    ? {
        store: await openPostgresStore({
          ...{ url: database, prepare: true, readers: 3, mode: "test", nowMs: clock.nowMs(), leaseMs: LEASE_MS },
        }),
        front: "http://127.0.0.1:9",
        lines: [],
      }
    : undefined;
  const { GENROUTER_STORE__URL: _, ...env } = settings;
  const harness = await openHarness({ clock, env, ...(node ? { node } : {}), dir });
  await eventually(async () => {
    await harness.components.leaseKeeper?.look();
    return harness.components.leaseKeeper?.isFirst() ?? true;
  }, "the end of the killed nodes");
  return { harness, clock };
};

/** The bytes of a file through its link to the disk or to the bucket. */
const readContent = async ({ nodeUrl }: Harness, key: string, file: string): Promise<{ status: number; sha256: string }> => {
  const headers = { authorization: `Bearer ${key}` };
  const first = await fetch(`${nodeUrl}/v1/files/${file}/content`, { headers, redirect: "manual" });
  const place = first.headers.get("location");
  const response = first.status === 302 && place !== null ? await fetch(place) : first;
  return { status: response.status, sha256: sha256Of(await response.bytes()) };
};

/** Every acknowledged file has the bytes that its client sent, and every acknowledged deletion holds. */
const judgeFiles = async (harness: Harness, { tenants }: UploadWorld, { uploads, lines, seed }: Evidence): Promise<Judged> => {
  const faults: string[] = [];
  const asked = new Set(lines.flatMap((line) => (line.type === "deleting" ? [line.file] : [])));
  const deleted = new Set(lines.flatMap((line) => (line.type === "deleted" ? [line.file] : [])));
  let whole = 0;
  const stored = uploads.flatMap(({ file, account, content, n }) => (file === null ? [] : [{ file, account, content, n }]));
  await inParallel(stored, async ({ file, account, content, n }) => {
    const { status, sha256 } = await readContent(harness, tenants[account]?.key ?? "", file);
    const name = `upload ${n}, ${file}`;
    if (deleted.has(file) && status !== 404) faults.push(`${name}: deleted, and answered with ${status}`);
    if (asked.has(file) && (status === 404 || deleted.has(file))) return;
    if (status !== 200) faults.push(`${name}: acknowledged, and answered with ${status}`);
    else if (sha256 !== sha256Of(contentOf(seed, account, content))) faults.push(`${name}: other bytes than were sent`);
    else whole += 1;
  });
  return {
    name: "every acknowledged file is whole, byte for byte, and a deleted one is gone",
    faults,
    figures: { acknowledged: stored.length, whole, deleted: deleted.size },
  };
};

/** Codes of a service that starts, drains or is busy, and of an upload that another request holds. */
const EXPECTED: ReadonlySet<string> = new Set(["restarting", "busy", "concurrency_limit", "absent"]);

/** A resumable upload is gone only after its client has terminated it. */
const isExpected = ({ refused, isTerminated }: Upload): boolean =>
  refused === null || EXPECTED.has(refused.code) || (refused.status === 410 && isTerminated !== "no");

const judgeAnswers = ({ uploads }: Evidence): Judged => {
  const faults = uploads.flatMap((one) =>
    isExpected(one) ? [] : [`upload ${one.n} (${one.kind}): ${one.refused?.status} ${one.refused?.code}`],
  );
  for (const { n, isTerminated, file } of uploads)
    if (isTerminated === "acknowledged" && file !== null) faults.push(`upload ${n}: terminated, and stored as ${file}`);
  return { name: "an upload is refused only while the service starts, drains or is busy", faults };
};

/** Files of the bucket server itself, and the object that a start writes, deletes, and writes again after a crash. */
const IS_NO_UPLOAD = /^\.keep|_S3rver_metadata\.json$|_S3rver_object\.md5$|^genrouter-start\._S3rver_object$/;
/** All stored files below a directory. */
const filesBelow = (path: string): string[] =>
  existsSync(path)
    ? readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((one) =>
        one.isFile() && !IS_NO_UPLOAD.test(one.name) ? [join(one.parentPath, one.name)] : [],
      )
    : [];

/** The blob that a file of the disk or the bucket belongs to. */
const blobOf = (path: string): string => [...path.matchAll(/blob_[0-9a-z]{20,}/g)].at(-1)?.[0] ?? path;

/** Paths of all stored bytes on the disk and in the bucket. */
const storedPaths = ({ dir, bucketDir }: UploadWorld) => {
  const onDisk = [...filesBelow(join(dir, "uploads")), ...filesBelow(join(dir, "upload-parts"))];
  const inBucket = bucketDir === null ? [] : filesBelow(bucketDir);
  return { onDisk, inBucket };
};

/** Compares the bytes in storage with the files of the accounts. @param leftFiles number of files that must be left; null: any */
const judgeStorage = async (name: string, harness: Harness, world: UploadWorld, leftFiles: number | null): Promise<Judged> => {
  const { bucketDir, tenants } = world;
  const faults: string[] = [];
  const named = new Map<string, number>();
  let files = 0;
  for (const { accountSeq } of tenants) {
    const blobs = new Map<string, number>();
    for (let beforeSeq: number | null = null; ; ) {
      const page = await harness.store.uploadedFiles(accountSeq, beforeSeq, ALSO_EXPIRED, PAGE);
      for (const { blobId, bytes } of page) blobs.set(blobId, bytes);
      files += page.length;
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      beforeSeq = last.seq;
    }
    const used = await harness.store.uploadedBytes(accountSeq);
    const due = [...blobs.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (used !== due) faults.push(`account ${accountSeq}: ${used} bytes count against its quota, its files have ${due}`);
    for (const [id, bytes] of blobs) named.set(id, bytes);
  }
  const { onDisk, inBucket } = storedPaths(world);
  const kept = bucketDir === null ? onDisk : inBucket;
  if (bucketDir !== null) for (const path of onDisk) faults.push(`${path}: on disk although files are in the bucket`);
  const found = new Set(kept.map(blobOf));
  for (const path of kept) if (!named.has(blobOf(path))) faults.push(`${path}: no file names it`);
  for (const id of named.keys()) if (!found.has(id)) faults.push(`${id}: its bytes are missing`);
  if (leftFiles !== null && files !== leftFiles) faults.push(`${files} files are left`);
  return { name, faults, ...(leftFiles === null ? { figures: { files, blobs: found.size } } : {}) };
};

const judgeCredits = async ({ store }: Harness, { tenants }: UploadWorld): Promise<Judged> => {
  const faults: string[] = [];
  for (const { accountId, credits } of tenants) {
    const account = await store.account(accountId);
    const { availableCredits, heldCredits, chargedCredits } = account ?? {};
    if (availableCredits !== credits || heldCredits !== 0 || chargedCredits !== 0)
      faults.push(`${accountId}: ${availableCredits} available, ${heldCredits} held, ${chargedCredits} charged of ${credits}`);
    const transfers = await store.transfers(accountId, null, 10);
    if (transfers.length !== 1) faults.push(`${accountId}: ${transfers.length} transfers`);
  }
  return { name: "no credits moved", faults };
};

/** Moves all clocks to a time after the last kill, and sweeps. */
const passTime = async ({ clock, components }: Harness, { setAhead }: UploadWorld, aheadMs: number): Promise<void> => {
  clock.skip(Date.now() + aheadMs - clock.nowMs());
  await setAhead(aheadMs);
  // The bucket server answers some concurrent deletions with 500. A later sweep repeats them.
  for (let tries = 1; ; tries += 1)
    try {
      return await components.sweep();
    } catch (fault) {
      if (!(fault instanceof StorageUnavailable) || tries === SWEEPS) throw fault;
      clock.skip(MINUTE_MS);
    }
};

export const judgeUploads = async (
  world: UploadWorld,
  evidence: Evidence,
): Promise<{ checks: Check[]; figures: Record<string, number> }> => {
  const { harness, clock } = await openService(world);
  try {
    const judged = [judgeAnswers(evidence), await judgeFiles(harness, world, evidence), await judgeCredits(harness, world)];
    const { onDisk, inBucket } = storedPaths(world);
    const before = new Set([...onDisk, ...inBucket].map(blobOf)).size;
    await passTime(harness, world, EXPIRED_MS);
    judged.push(await judgeStorage("after the sweep, all stored bytes have a file and count once", harness, world, null));
    await passTime(harness, world, EXPIRED_MS + RETAINED_MS);
    judged.push(await judgeStorage("after the retention of all files, no bytes are left", harness, world, 0));
    const broken = (await harness.store.verify(clock.nowMs())).filter((check) => !check.ok);
    judged.push({
      name: "the thirteen invariants hold",
      faults: broken.map(({ invariant, name, offending }) => `${invariant} ${name}: ${JSON.stringify(offending).slice(0, 300)}`),
    });
    const figures = Object.assign({}, ...judged.map((one) => one.figures ?? {})) as Record<string, number>;
    figures.swept = before - (figures.blobs ?? 0);
    return { checks: judged.map(({ name, faults }) => ({ name: `${world.name}: ${name}`, faults })), figures };
  } finally {
    await harness.crash();
    clock.stop();
  }
};
