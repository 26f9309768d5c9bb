// Audits uploads: acknowledged files are complete, nothing is left of others, and no generation lost an input.
import type { StoreReads } from "../../store/store.ts";
import type { ClientLog } from "./clients.ts";
import { sha256Of } from "./stored-uploads.ts";
import type { UploadLog } from "./upload-clients.ts";
import { RESULT_MS } from "./upload-contents.ts";
import type { UploadWorld } from "./upload-world.ts";
import type { Upstream } from "./upstream.ts";

export type UploadEvidence = {
  uploads: Pick<UploadWorld, "stored" | "oracle">;
  log: UploadLog;
  notebook: Pick<ClientLog, "heard">;
  upstream: Pick<Upstream, "jobs">;
  reads: Pick<StoreReads, "uploadedFile" | "uploadedBytes" | "leftBlobs" | "retiredBlobs" | "eventsOf">;
  accountSeqs: readonly number[];
};

const ALL = 1_000_000;

/** The response to an upload describes the bytes that were sent, and the file exists until it is deleted or has expired. */
const auditFiles = async ({ log, uploads, reads }: UploadEvidence): Promise<string[]> => {
  const faults: string[] = [];
  for (const { file, sha256, isClip, refused } of log.uploads) {
    if (!isClip && file) faults.push(`${file.id}: acknowledged, and it is no media`);
    if (isClip && refused === "invalid_input") faults.push(`${sha256}: a clip was refused as unreadable`);
    if (!file) continue;
    if (file.sha256 !== sha256) faults.push(`${file.id}: has another hash than the bytes that were sent`);
    const known = uploads.oracle.files().get(file.id);
    const row = await reads.uploadedFile(file.id);
    const bytes = known && uploads.stored.get(known.blob.id);
    if (!known) faults.push(`${file.id}: acknowledged before it was committed`);
    else if (known.isDeleted !== (row === undefined)) faults.push(`${file.id}: ${row ? "deleted, and listed" : "lost"}`);
    else if (!known.isDeleted && (!bytes || sha256Of(bytes) !== sha256)) faults.push(`${file.id}: its bytes are not complete`);
  }
  for (const { id, outcome } of log.removals)
    if (outcome === "removed" && (await reads.uploadedFile(id))) faults.push(`${id}: its deletion was acknowledged`);
  return faults;
};

/** Storage and rows contain the blobs of files and nothing else, and the quota counts exactly these. */
const auditBlobs = async ({ uploads, reads, accountSeqs }: UploadEvidence): Promise<string[]> => {
  const faults: string[] = [];
  const named = new Set([...uploads.oracle.files().values()].flatMap(({ blob, isDeleted }) => (isDeleted ? [] : [blob.id])));
  for (const id of uploads.stored.keys()) if (!named.has(id)) faults.push(`${id}: stored, and no file names it`);
  for (const { id } of await reads.leftBlobs(Number.MAX_SAFE_INTEGER, ALL)) faults.push(`${id}: reserved at the end`);
  for (const { id } of await reads.retiredBlobs(ALL)) faults.push(`${id}: retired, and its row is left`);
  for (const accountSeq of accountSeqs) {
    const blobs = uploads.oracle.blobs().filter((blob) => blob.accountSeq === accountSeq && blob.life !== "retired");
    const bytes = blobs.reduce((sum, blob) => sum + blob.bytes, 0);
    const counted = await reads.uploadedBytes(accountSeq);
    if (counted !== bytes) faults.push(`account ${accountSeq}: ${counted} bytes count against its quota, and it stores ${bytes}`);
  }
  return faults;
};

/** No generation lost its stored input, and providers received exactly that clip. */
const auditInputs = async ({ uploads, log, notebook, upstream, reads }: UploadEvidence): Promise<string[]> => {
  const faults: string[] = [];
  const clips = new Map(log.uploads.flatMap(({ file }) => (file ? [[file.id, file] as const] : [])));
  for (const { id, seq, inputs } of uploads.oracle.taking()) {
    if ((await reads.eventsOf(seq)).some(({ event }) => event.type === "pinLost"))
      faults.push(`${id}: failed because its stored input was missing`);
    if (inputs.length !== 1) faults.push(`${id}: takes ${inputs.length} stored files`);
  }
  for (const { planned, accepted } of notebook.heard) {
    if (!accepted || planned.stored === undefined || planned.clip === null) continue;
    const fileId = /file_[0-9a-z]+/.exec(planned.clip)?.[0];
    const expectedMs = fileId === undefined ? RESULT_MS : clips.get(fileId)?.ms;
    const body = accepted.id.slice("gen_".length);
    for (const { ref, jobId, givenMs } of upstream.jobs)
      if (ref.startsWith(`${body}-`) && givenMs !== undefined && givenMs !== expectedMs)
        faults.push(`${accepted.id}: ${jobId} was given a clip of ${givenMs} ms instead of ${expectedMs} ms`);
  }
  return faults;
};

export const auditUploads = async (evidence: UploadEvidence): Promise<string[]> => [
  ...(await auditFiles(evidence)),
  ...(await auditBlobs(evidence)),
  ...(await auditInputs(evidence)),
];
