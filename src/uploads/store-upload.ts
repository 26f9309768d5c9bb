// Stores a received file as a blob, and names it.
//
// A blob is reserved in the store before its bytes get their name, and the file exists when the bytes are durable. So a crash
// leaves no bytes that no row names, and no file without bytes.
import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Caller } from "../domain/types.ts";
import type { UploadContent, UploadResult } from "../domain/upload-mutations.ts";
import { type Files, type Incoming, StillStoring, StorageRefused } from "../files/port.ts";

export type StoreUploadDeps = {
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs">;
  storage: Pick<Files, "objectOf">;
  limits: { upload_quota_bytes: number; upload_files: number; upload_retention_s: number };
};

/** A blob has one file. */
export const FILE_NO = 1;
export const BUSY = "The service is overloaded; send the same file again.";
export const NO_SPACE = "The service has no space for the file at present; send it again later.";
/** The upload that should become the file was terminated, or has expired. */
export const UPLOAD_ENDED = "The upload was terminated or has expired; create a new one.";

/** A defect of the service: the store rejected a mutation. */
export const unexpected = (outcome: UploadResult): never => {
  throw new Error(`the store answered ${outcome.kind} to an upload${outcome.kind === "refused" ? `: ${outcome.reason}` : ""}`);
};

/** @throws ApiError `upload_quota_exceeded` */
export const refuseFiles = (files: number, maxFiles: number): never =>
  refuse(
    "upload_quota_exceeded",
    `The account has ${files} files with its open uploads; limits.upload_files is ${maxFiles}. Delete files that are not needed.`,
  );

export type Received = {
  blobId: string;
  incoming: Pick<Incoming, "keep">;
  content: UploadContent;
  resumableId?: string;
};

/** Makes the bytes durable under their name. A running upload to the bucket is joined. @throws StorageRefused */
export const keepBytes = async (
  { incoming, content }: { incoming: Pick<Incoming, "keep">; content: Pick<UploadContent, "sha256" | "bytes" | "mime"> },
  object: string | null,
  signal: AbortSignal,
): Promise<void> => {
  const { sha256, bytes, mime } = content;
  const file = { n: FILE_NO, sha256, bytes, mime, ...(object === null ? {} : { object }) };
  for (;;)
    try {
      return await incoming.keep(file);
    } catch (fault) {
      if (!(fault instanceof StillStoring) || signal.aborted) throw fault;
    }
};

/**
 * Creates the function that names a received file, and stores its bytes unless the account has them already.
 * @returns the id of the file
 */
export const createStore = ({ post, clock, storage, limits }: StoreUploadDeps) => {
  const times = () => {
    const atMs = clock.nowMs();
    return { atMs, expiresAtMs: atMs + limits.upload_retention_s * 1000 };
  };

  return async (received: Received, { accountSeq }: Pick<Caller, "accountSeq">, signal: AbortSignal): Promise<string> => {
    const { blobId, content, resumableId } = received;
    const fileId = newId("file");
    const maxFiles = limits.upload_files;
    const ids = { accountSeq, fileId, blobId, maxFiles, ...(resumableId === undefined ? {} : { resumableId }) };
    // The bytes of a resumable upload were counted at its creation, and that count is released when the file is named.
    const quotaBytes = resumableId !== undefined ? Number.MAX_SAFE_INTEGER : limits.upload_quota_bytes;
    const object = storage.objectOf?.({ n: FILE_NO, sha256: content.sha256 }) ?? null;
    const begun = await post({ mutation: "begin-upload", ...ids, content, object, quotaBytes, ...times() });
    if (begun.kind === "uploaded") return fileId;
    if (begun.kind === "gone") return refuse("not_found", UPLOAD_ENDED, { status: 410 });
    if (begun.kind === "quota_exceeded")
      refuse(
        "upload_quota_exceeded",
        `The account stores ${begun.usedBytes} bytes and this file has ${content.bytes}; limits.upload_quota_bytes is ${limits.upload_quota_bytes}. Delete files that are not needed.`,
      );
    if (begun.kind === "too_many_files") return refuseFiles(begun.files, maxFiles);
    if (begun.kind !== "reserved") return unexpected(begun);
    try {
      await keepBytes(received, object, signal);
    } catch (fault) {
      await post({ mutation: "abandon-upload", accountSeq, blobId, atMs: clock.nowMs() });
      throw fault;
    }
    const finished = await post({ mutation: "finish-upload", ...ids, ...times() });
    if (finished.kind === "gone")
      return resumableId !== undefined ? refuse("not_found", UPLOAD_ENDED, { status: 410 }) : refuse("busy", BUSY);
    if (finished.kind === "too_many_files") return refuseFiles(finished.files, maxFiles);
    return finished.kind === "uploaded" ? fileId : unexpected(finished);
  };
};

/** Converts faults of our storage and of the store to `busy`; nothing of the file is left. */
export const asBusy = (fault: unknown): unknown => {
  if (fault instanceof StoreFull) return new ApiError("busy", BUSY);
  return fault instanceof StorageRefused ? new ApiError("busy", NO_SPACE) : fault;
};
