// Resumable uploads of an account: create, append, complete and terminate.
//
// The offset is in the row of the upload and covers only parts whose bytes are durable. The upload counts against the quota with
// its whole size until it becomes a file or ends.
import { forEachBounded } from "../collections/for-each-bounded.ts";
import { ApiError, type ApiErrorCode, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { ResumableUpload } from "../domain/resumable-mutations.ts";
import type { Caller } from "../domain/types.ts";
import type { Files } from "../files/port.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { createAdmissionCheck, createTakePlace, requireOpen, requireSpace, type UploadAdmissionDeps } from "./admission.ts";
import { type CompleteUploadDeps, createCompleteUpload } from "./complete-upload.ts";
import { type Checksum, type ReceivedPart, receiveParts } from "./receive-parts.ts";
import { asBusy, FILE_NO, keepBytes, refuseFiles, UPLOAD_ENDED, unexpected } from "./store-upload.ts";
import { REMOVALS_AT_ONCE } from "./sweep-uploads.ts";
import { withinUploadTime } from "./time-limits.ts";
import { createUploadLocks, refuseLocked, type UploadLock, type UploadLocksDeps } from "./upload-locks.ts";

export type ResumableServiceDeps = UploadAdmissionDeps &
  CompleteUploadDeps &
  UploadLocksDeps & {
    reads: Pick<StoreReads, "account" | "resumableUpload" | "uploadParts" | "uploadedFile">;
    clock: Clock;
    log: Log;
    parts: Pick<Files, "receive" | "objectOf" | "remove">;
    limits: { upload_bytes: number; upload_quota_bytes: number; upload_files: number; upload_retention_s: number };
  };

/** The body of a request that appends, and what its headers state. */
export type AppendBody = {
  stream: ReadableStream<Uint8Array> | null;
  offset: number;
  /** `Content-Length` in bytes; null if it is absent. */
  contentLength: number | null;
  checksum: Checksum | null;
};

export type ResumableService = {
  /**
   * @throws ApiError `restarting`, `busy`, `insufficient_credits`, `body_too_large`, `concurrency_limit` above 5 open uploads,
   * `upload_quota_exceeded`
   */
  create(file: { bytes: number; metadata: string | null }, caller: Caller): Promise<ResumableUpload>;
  /** @throws ApiError `not_found`: 404 for an unknown upload or one of another account, 410 for one that ended without a file */
  find(id: string, caller: Pick<Caller, "accountSeq">): Promise<ResumableUpload>;
  /**
   * Appends a body. The upload whose last byte is stored becomes a file.
   * @param onReceived called when the last byte has arrived, before the file is measured and stored
   * @throws ApiError as `find`; `invalid_request` with 409 for another offset, 460 for another checksum; `concurrency_limit` with
   * 423; the errors of `POST /v1/files`
   */
  append(id: string, body: AppendBody, caller: Caller, onReceived: () => void): Promise<ResumableUpload>;
  /** The upload as `find` returns it. One whose bytes are all stored becomes a file first. @throws ApiError as `append` */
  resume(id: string, caller: Caller, onReceived: () => void): Promise<ResumableUpload>;
  /** @throws ApiError as `find`; `invalid_request` with 409 for an upload that has become a file */
  terminate(id: string, caller: Pick<Caller, "accountSeq">): Promise<void>;
};

/** Maximum number of open uploads of an account, and of requests that append in total. */
export const OPEN_UPLOADS = 5;
const PLACES = { ofOwner: OPEN_UPLOADS, inAll: 64 };
/** Time from the creation of an upload to its expiry. */
const EXPIRY_MS = 86_400_000;
/** Bounds the rows of an upload whose client sends it in tiny pieces. */
const MAX_PARTS = 10_000;

const UNKNOWN = "No upload with this id on the account.";

/** @throws ApiError the error that ended the upload */
const requireNoError = ({ error }: ResumableUpload): void => {
  if (error) refuse(error.code as ApiErrorCode, error.message, { status: error.status });
};

const requireOffset = ({ receivedBytes, bytes, parts }: ResumableUpload, { offset, contentLength }: AppendBody): void => {
  if (offset !== receivedBytes)
    refuse("invalid_request", `Upload-Offset: is ${offset} and the upload continues at ${receivedBytes}.`, { status: 409 });
  if (contentLength !== null && offset + contentLength > bytes)
    refuse("body_too_large", `The body goes beyond Upload-Length; at most ${bytes - offset} bytes follow the offset.`);
  if (parts >= MAX_PARTS)
    refuse(
      "invalid_request",
      `The upload was sent in ${MAX_PARTS} pieces, which is the limit; create a new one with larger pieces.`,
    );
};

const createFind =
  ({ reads, clock }: Pick<ResumableServiceDeps, "reads" | "clock">) =>
  async (id: string, { accountSeq }: Pick<Caller, "accountSeq">): Promise<ResumableUpload> => {
    const upload = await reads.resumableUpload(id);
    if (upload?.accountSeq !== accountSeq) return refuse("not_found", UNKNOWN);
    const { endedAtMs, fileId, error, expiresAtMs } = upload;
    const isOver = endedAtMs === null ? expiresAtMs <= clock.nowMs() : fileId === null && error === null;
    return isOver ? refuse("not_found", UPLOAD_ENDED, { status: 410 }) : upload;
  };

/** Deletes the parts of an ended upload at once. The sweep deletes what is left. */
const createDropParts =
  ({ reads, parts, post }: ResumableServiceDeps) =>
  async ({ seq }: ResumableUpload): Promise<void> => {
    await forEachBounded(await reads.uploadParts(seq), REMOVALS_AT_ONCE, async ({ id }) => {
      await parts.remove(id);
      await post({ mutation: "remove-upload-part", partId: id });
    });
  };

/** Creates the function that receives a body and stores its parts behind the offset of the upload. */
const createReceive = ({ parts, post, clock }: ResumableServiceDeps) => {
  /** Another request has taken the lock, or the upload has ended. The sweep deletes the bytes. */
  const store = async (upload: ResumableUpload, lock: UploadLock, firstByte: number, part: ReceivedPart): Promise<void> => {
    const { id, bytes, sha256, incoming } = part;
    const object = parts.objectOf?.({ n: FILE_NO, sha256 }) ?? null;
    const holder = { uploadId: upload.id, lockId: lock.id };
    const row = { id, firstByte, bytes, sha256, object };
    const times = () => ({ atMs: clock.nowMs(), untilMs: lock.untilMs() });
    const begun = await post({ mutation: "begin-upload-part", ...holder, part: row, ...times() });
    if (begun.kind === "gone") return refuseLocked();
    if (begun.kind !== "reserved") return unexpected(begun);
    const content = { sha256, bytes, mime: "application/octet-stream" };
    const time = withinUploadTime(clock);
    await keepBytes({ incoming, content }, object, time.signal).finally(time.end);
    const stored = await post({ mutation: "store-upload-part", ...holder, partId: id, ...times() });
    if (stored.kind === "gone") refuseLocked();
    else if (stored.kind !== "stored") unexpected(stored);
  };
  return async (upload: ResumableUpload, { stream, checksum }: AppendBody, lock: UploadLock): Promise<void> => {
    if (stream === null) return;
    let offset = upload.receivedBytes;
    await receiveParts(
      stream,
      { mostBytes: upload.bytes - offset, checksum },
      {
        open: async () => {
          const id = newId("blob");
          return { id, incoming: await parts.receive(id, FILE_NO) };
        },
        store: async (part) => {
          await lock.during(() => store(upload, lock, offset, part));
          offset += part.bytes;
        },
        clock,
        onChunk: lock.seen,
        signal: lock.signal,
      },
    );
  };
};

/** Creates the function that makes the file of a received upload. A fault of the file ends the upload; others leave it open. */
const createComplete = (deps: ResumableServiceDeps, dropParts: (upload: ResumableUpload) => Promise<void>) => {
  const { post, clock, reads, log } = deps;
  const makeFile = createCompleteUpload(deps);
  const isFinal = (fault: unknown): fault is ApiError =>
    fault instanceof ApiError && (fault.status < 500 || fault.code === "server_error");
  /** Ends the upload with a final fault and returns it. @returns null if another request has completed the upload meanwhile */
  const end = async ({ id, accountSeq }: ResumableUpload, fault: unknown): Promise<ApiError | null> => {
    const now = await reads.resumableUpload(id);
    if (now && now.fileId !== null) return null;
    if (now) requireNoError(now);
    if (!isFinal(fault)) throw fault;
    const error = { code: fault.code, status: fault.status, message: fault.message };
    await post({ mutation: "end-resumable-upload", accountSeq, uploadId: id, error, atMs: clock.nowMs() });
    return fault;
  };
  const complete = async (upload: ResumableUpload, { accountId }: Caller): Promise<ApiError | null> => {
    try {
      const file = await reads.uploadedFile(await makeFile(upload));
      if (file) log("file uploaded", { account_id: accountId, file_id: file.id, kind: file.kind, bytes: file.bytes });
      return null;
    } catch (thrown) {
      return end(upload, asBusy(thrown));
    }
  };
  return async (upload: ResumableUpload, caller: Caller, lock: UploadLock): Promise<void> => {
    const fault = await lock.completing(() => complete(upload, caller));
    dropParts(upload).catch(() => undefined);
    if (fault) throw fault;
  };
};

/** Creates the function that opens an upload. */
const createOpen = (deps: ResumableServiceDeps, find: ResumableService["find"]): ResumableService["create"] => {
  const { post, clock, limits } = deps;
  const requireAdmission = createAdmissionCheck(deps);
  const quotaBytes = limits.upload_quota_bytes;
  return async ({ bytes, metadata }, caller) => {
    await requireAdmission(caller, bytes);
    const { accountSeq } = caller;
    const atMs = clock.nowMs();
    const uploadId = newId("upl");
    const file = { accountSeq, uploadId, bytes, metadata };
    const most = { quotaBytes, maxOpen: OPEN_UPLOADS, maxFiles: limits.upload_files };
    const bounds = { ...most, atMs, expiresAtMs: atMs + EXPIRY_MS };
    const created = await post({ mutation: "create-resumable-upload", ...file, ...bounds });
    if (created.kind === "too_many_open")
      refuse(
        "concurrency_limit",
        `The account has ${created.open} open uploads, which is the limit; complete or terminate one first.`,
      );
    if (created.kind === "too_many_files") return refuseFiles(created.files, limits.upload_files);
    if (created.kind === "quota_exceeded")
      refuse(
        "upload_quota_exceeded",
        `The account stores ${created.usedBytes} bytes with its open uploads, and this one has ${bytes}; limits.upload_quota_bytes is ${quotaBytes}. Delete files that are not needed.`,
      );
    return created.kind === "created" ? find(uploadId, caller) : unexpected(created);
  };
};

/**
 * Creates the function that runs work with the lock of an upload, and returns the upload after it. If it became a file while the
 * request waited, `accept` runs instead of the work.
 */
const createInTurn = (deps: ResumableServiceDeps, find: ResumableService["find"]) => {
  const withLock = createUploadLocks(deps);
  return async (
    id: string,
    caller: Caller,
    work: (upload: ResumableUpload, lock: UploadLock) => Promise<void>,
    accept: (completed: ResumableUpload) => void = () => undefined,
  ): Promise<ResumableUpload> => {
    requireNoError(await find(id, caller));
    try {
      await withLock(id, async (lock) => {
        const upload = await find(id, caller);
        requireNoError(upload);
        await work(upload, lock);
      });
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 423) throw asBusy(fault);
      // The upload may have ended while this request waited or wrote.
      const upload = await find(id, caller);
      requireNoError(upload);
      if (upload.fileId === null) throw fault;
      accept(upload);
      return upload;
    }
    return find(id, caller);
  };
};

export const createResumableService = (deps: ResumableServiceDeps): ResumableService => {
  const { post, clock } = deps;
  const takePlace = createTakePlace(PLACES);
  const find = createFind(deps);
  const inTurn = createInTurn(deps, find);
  const dropParts = createDropParts(deps);
  const receive = createReceive(deps);
  const complete = createComplete(deps, dropParts);

  const completeIfWhole = async (id: string, caller: Caller, lock: UploadLock, onReceived: () => void): Promise<void> => {
    const upload = await find(id, caller);
    if (upload.receivedBytes < upload.bytes) return;
    onReceived();
    await complete(upload, caller, lock);
  };

  return {
    create: createOpen(deps, find),
    find,
    append: async (id, body, caller, onReceived) => {
      requireOpen(deps);
      const known = await find(id, caller);
      requireNoError(known);
      const acceptCompleted = (completed: ResumableUpload) => requireOffset({ ...completed, parts: 0 }, body);
      if (known.fileId !== null) {
        acceptCompleted(known);
        return known;
      }
      requireOffset(known, body);
      await requireSpace(deps, known.bytes - known.receivedBytes);
      const leave = takePlace(caller.accountSeq);
      try {
        const appendBody = async (upload: ResumableUpload, lock: UploadLock): Promise<void> => {
          requireOffset(upload, body);
          await receive(upload, body, lock);
          await completeIfWhole(id, caller, lock, onReceived);
        };
        return await inTurn(id, caller, appendBody, acceptCompleted);
      } finally {
        leave();
      }
    },
    resume: async (id, caller, onReceived) => {
      const known = await find(id, caller);
      requireNoError(known);
      if (known.fileId !== null || known.receivedBytes < known.bytes) return known;
      requireOpen(deps);
      onReceived();
      return inTurn(id, caller, (_, lock) => completeIfWhole(id, caller, lock, onReceived));
    },
    terminate: async (id, caller) => {
      const upload = await find(id, caller);
      if (upload.fileId !== null)
        refuse("invalid_request", `The upload has become ${upload.fileId}; delete the file instead.`, { status: 409 });
      const { accountSeq } = caller;
      const ended = await post({ mutation: "end-resumable-upload", accountSeq, uploadId: id, error: null, atMs: clock.nowMs() });
      if (ended.kind === "gone") refuse("not_found", UPLOAD_ENDED, { status: 410 });
      dropParts(upload).catch(() => undefined);
    },
  };
};
