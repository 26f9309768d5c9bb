// Upload mutations: a blob is stored once for an account, and counts against its quota until it is retired.
//
// Every mutation of an account first locks its row of `upload_usage`, so their reads stay valid until the commit. A generation that
// takes a file locks the row of the file.
import type {
  AbandonUpload,
  BeginUpload,
  DeleteFile,
  FinishUpload,
  ForgetFile,
  RemoveBlob,
  UploadContent,
  UploadMutation,
  UploadResult,
} from "../../domain/upload-mutations.ts";
import type { Dialect } from "./dialect.ts";
import { endWithFile, isOpenUpload, prepareResumableUploads } from "./resumable-uploads.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";
import { countFiles, giveBackQuota, prepareUsageLock, takeQuota } from "./upload-quota.ts";

const SAME_CONTENT = `SELECT seq FROM upload_blob
  WHERE account_seq = ?1 AND sha256 = ?2 AND stored_at_ms IS NOT NULL AND retired_at_ms IS NULL`;
const RESERVE = `INSERT INTO upload_blob (id, account_seq, sha256, bytes, mime, kind, width, height, duration_ms, picture_ms, created_at_ms,
    object) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`;
const RESERVED = `SELECT seq, sha256, bytes FROM upload_blob
  WHERE id = ?1 AND account_seq = ?2 AND stored_at_ms IS NULL AND retired_at_ms IS NULL`;
const STORE = "UPDATE upload_blob SET stored_at_ms = ?2 WHERE seq = ?1";
const RETIRE = "UPDATE upload_blob SET retired_at_ms = ?2 WHERE seq = ?1";
const NAME_FILE = `INSERT INTO uploaded_file (id, account_seq, blob_seq, created_at_ms, last_used_at_ms, expires_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?4, ?5)`;
const NEEDED = `SELECT 1 AS needed FROM generation g CROSS JOIN input_file i
  WHERE g.completed_at_ms IS NULL AND i.generation_seq = g.seq AND i.file_seq = ?1 LIMIT 1`;
const DELETE = "UPDATE uploaded_file SET deleted_at_ms = ?2 WHERE seq = ?1";
const UNNAMED = `SELECT b.seq, b.bytes FROM upload_blob b WHERE b.seq = ?1
  AND NOT EXISTS (SELECT 1 FROM uploaded_file f WHERE f.blob_seq = b.seq AND f.deleted_at_ms IS NULL)`;
const FORGET = `DELETE FROM uploaded_file WHERE seq = ?1 AND deleted_at_ms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM input_file WHERE file_seq = ?1)
  AND NOT EXISTS (SELECT 1 FROM resumable_upload u WHERE u.file_id = uploaded_file.id)`;
const FILE_ROW = `SELECT seq, blob_seq AS "blobSeq" FROM uploaded_file WHERE id = ?1 AND account_seq = ?2`;
const UNREFERENCED = "NOT EXISTS (SELECT 1 FROM uploaded_file f WHERE f.blob_seq = upload_blob.seq)";
const FORGET_BLOB = `DELETE FROM upload_blob WHERE seq = ?1 AND removed_at_ms IS NOT NULL AND ${UNREFERENCED}`;
const REMOVE_BLOB = `DELETE FROM upload_blob WHERE id = ?1 AND retired_at_ms IS NOT NULL AND removed_at_ms IS NULL AND ${UNREFERENCED}`;
const REMOVE = "UPDATE upload_blob SET removed_at_ms = ?2 WHERE id = ?1 AND retired_at_ms IS NOT NULL AND removed_at_ms IS NULL";

type Blob = { seq: number; bytes: number };

const nameFile = function* (
  { fileId, accountSeq, resumableId, atMs, expiresAtMs }: BeginUpload | FinishUpload,
  blobSeq: number,
): SqlProgram<UploadResult> {
  yield* change(NAME_FILE, fileId, accountSeq, blobSeq, atMs, expiresAtMs);
  if (resumableId !== undefined) yield* endWithFile(accountSeq, resumableId, fileId, atMs);
  return { kind: "uploaded" };
};

const retire = function* (accountSeq: number, { seq, bytes }: Blob, atMs: number): SqlProgram<void> {
  yield* change(RETIRE, seq, atMs);
  yield* giveBackQuota(accountSeq, bytes);
};

const reserve = function* ({ accountSeq, blobId, content, object, atMs }: BeginUpload): SqlProgram<void> {
  const { sha256, bytes, mime, kind, width, height, ms, pictureMs }: UploadContent = content;
  yield* change(
    ...([RESERVE, blobId, accountSeq, sha256, bytes, mime, kind] as const),
    ...[width ?? null, height ?? null, ms ?? null, pictureMs ?? null, atMs, object],
  );
};

/** A file is named only once of a resumable upload, and not after its end. */
const isOver = function* ({ resumableId, accountSeq }: BeginUpload | FinishUpload): SqlProgram<boolean> {
  return resumableId !== undefined && !(yield* isOpenUpload(resumableId, accountSeq));
};

/** The number of files of an account that may have no further one. The file of a resumable upload was counted at its creation. */
const tooManyFiles = function* ({ accountSeq, resumableId, maxFiles }: BeginUpload | FinishUpload): SqlProgram<number | null> {
  if (resumableId !== undefined) return null;
  const files = yield* countFiles(accountSeq);
  return files >= maxFiles ? files : null;
};

/** Names files: at once if the bytes are stored already, else after their reservation. */
const prepareNaming = (dialect: Dialect) => {
  const locked = prepareUsageLock(dialect);

  const begin = function* (mutation: BeginUpload): SqlProgram<UploadResult> {
    const { accountSeq, content, quotaBytes } = mutation;
    const usedBytes = yield* locked(accountSeq);
    if (yield* isOver(mutation)) return { kind: "gone" };
    const files = yield* tooManyFiles(mutation);
    if (files !== null) return { kind: "too_many_files", files };
    const same = yield* first<{ seq: number }>(SAME_CONTENT, accountSeq, content.sha256);
    if (same) return yield* nameFile(mutation, same.seq);
    if (!(yield* takeQuota(accountSeq, content.bytes, quotaBytes))) return { kind: "quota_exceeded", usedBytes };
    yield* reserve(mutation);
    return { kind: "reserved" };
  };

  const finish = function* (mutation: FinishUpload): SqlProgram<UploadResult> {
    const { accountSeq, blobId, atMs } = mutation;
    yield* locked(accountSeq);
    const blob = yield* first<Blob & { sha256: string }>(RESERVED, blobId, accountSeq);
    if (!blob) return { kind: "gone" };
    if (yield* isOver(mutation)) {
      yield* retire(accountSeq, blob, atMs);
      return { kind: "gone" };
    }
    // Files may have been named since the bytes were reserved.
    const files = yield* tooManyFiles(mutation);
    if (files !== null) {
      yield* retire(accountSeq, blob, atMs);
      return { kind: "too_many_files", files };
    }
    const same = yield* first<{ seq: number }>(SAME_CONTENT, accountSeq, blob.sha256);
    if (same) {
      yield* retire(accountSeq, blob, atMs);
      return yield* nameFile(mutation, same.seq);
    }
    yield* change(STORE, blob.seq, atMs);
    return yield* nameFile(mutation, blob.seq);
  };
  return { begin, finish };
};

/** Deletes files: first the file, then the bytes of its blob, then the rows that nothing names. */
const prepareDeletion = (dialect: Dialect) => {
  const locked = prepareUsageLock(dialect);
  const lockFile = `SELECT seq, blob_seq AS "blobSeq" FROM uploaded_file
    WHERE id = ?1 AND account_seq = ?2 AND deleted_at_ms IS NULL AND expires_at_ms <= ?3 ${dialect.forUpdate}`;
  type File = { seq: number; blobSeq: number };

  const remove = function* ({ accountSeq, fileId, isExpired, atMs }: DeleteFile): SqlProgram<UploadResult> {
    yield* locked(accountSeq);
    const latestMs = isExpired ? atMs : Number.MAX_SAFE_INTEGER;
    const file = yield* first<File>(lockFile, fileId, accountSeq, latestMs);
    if (!file) return { kind: "gone" };
    if (yield* first(NEEDED, file.seq)) return { kind: "in_use" };
    yield* change(DELETE, file.seq, atMs);
    const blob = yield* first<Blob>(UNNAMED, file.blobSeq);
    if (blob) yield* retire(accountSeq, blob, atMs);
    return { kind: "deleted" };
  };

  const forget = function* ({ accountSeq, fileId }: ForgetFile): SqlProgram<UploadResult> {
    yield* locked(accountSeq);
    const file = yield* first<File>(FILE_ROW, fileId, accountSeq);
    if (!file || (yield* change(FORGET, file.seq)) === 0) return { kind: "gone" };
    // While the bytes are stored, the blob is deleted with them.
    yield* change(FORGET_BLOB, file.blobSeq);
    return { kind: "removed" };
  };

  const removeBlob = function* ({ blobId, atMs }: RemoveBlob): SqlProgram<UploadResult> {
    if ((yield* change(REMOVE_BLOB, blobId)) > 0) return { kind: "removed" };
    return (yield* change(REMOVE, blobId, atMs)) === 0 ? { kind: "gone" } : { kind: "removed" };
  };

  const abandon = function* ({ accountSeq, blobId, atMs }: AbandonUpload): SqlProgram<UploadResult> {
    yield* locked(accountSeq);
    const blob = yield* first<Blob>(RESERVED, blobId, accountSeq);
    if (!blob) return { kind: "gone" };
    yield* retire(accountSeq, blob, atMs);
    return { kind: "abandoned" };
  };
  return { remove, forget, removeBlob, abandon };
};

export const prepareUploads = (dialect: Dialect) => {
  const resumable = prepareResumableUploads(dialect);
  const { begin, finish } = prepareNaming(dialect);
  const { remove, forget, removeBlob, abandon } = prepareDeletion(dialect);

  return function* (mutation: UploadMutation): SqlProgram<UploadResult> {
    switch (mutation.mutation) {
      case "begin-upload":
        return yield* begin(mutation);
      case "finish-upload":
        return yield* finish(mutation);
      case "abandon-upload":
        return yield* abandon(mutation);
      case "delete-file":
        return yield* remove(mutation);
      case "forget-file":
        return yield* forget(mutation);
      case "remove-blob":
        return yield* removeBlob(mutation);
      default:
        return yield* resumable(mutation);
    }
  };
};
