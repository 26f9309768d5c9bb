// Mutations of resumable uploads: open, lock, append parts, end.
//
// An upload counts against the quota of its account from its creation to its end. Its row is changed under conditions of lock,
// offset and end, so a request that lost its lock appends nothing.
import type {
  BeginUploadPart,
  CreateResumableUpload,
  EndResumableUpload,
  ResumableMutation,
  StoreUploadPart,
} from "../../domain/resumable-mutations.ts";
import type { UploadResult } from "../../domain/upload-mutations.ts";
import type { Dialect } from "./dialect.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";
import { countFiles, giveBackQuota, prepareUsageLock, takeQuota } from "./upload-quota.ts";

const COUNT_OPEN = `SELECT count(*) AS open FROM resumable_upload
  WHERE account_seq = ?1 AND ended_at_ms IS NULL AND expires_at_ms > ?2`;
const CREATE = `INSERT INTO resumable_upload (id, account_seq, bytes, metadata, created_at_ms, expires_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6)`;
const LOCK = `UPDATE resumable_upload SET lock_id = ?2, locked_until_ms = ?4
  WHERE id = ?1 AND ended_at_ms IS NULL AND (lock_id IS NULL OR lock_id = ?2 OR locked_until_ms <= ?3)`;
const RENEW = "UPDATE resumable_upload SET locked_until_ms = ?3 WHERE id = ?1 AND lock_id = ?2 AND ended_at_ms IS NULL";
const UNLOCK = `UPDATE resumable_upload SET lock_id = NULL, locked_until_ms = NULL
  WHERE id = ?1 AND lock_id = ?2 AND ended_at_ms IS NULL`;
const COUNT_PART = `UPDATE resumable_upload SET parts = parts + 1, locked_until_ms = ?4
  WHERE id = ?1 AND lock_id = ?2 AND received_bytes = ?3 AND received_bytes + ?5 <= bytes AND ended_at_ms IS NULL`;
const SEQ = "SELECT seq FROM resumable_upload WHERE id = ?1";
const ADD_PART = `INSERT INTO resumable_part (id, upload_seq, first_byte, bytes, sha256, object, created_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`;
const UNSTORED = `SELECT seq, first_byte AS "firstByte", bytes FROM resumable_part WHERE id = ?1 AND stored_at_ms IS NULL`;
const APPEND = `UPDATE resumable_upload SET received_bytes = received_bytes + ?4, locked_until_ms = ?5
  WHERE id = ?1 AND lock_id = ?2 AND received_bytes = ?3 AND ended_at_ms IS NULL`;
const STORE_PART = "UPDATE resumable_part SET stored_at_ms = ?2 WHERE seq = ?1";
const END = `UPDATE resumable_upload SET ended_at_ms = ?3, error = ?4
  WHERE id = ?1 AND account_seq = ?2 AND ended_at_ms IS NULL AND expires_at_ms <= ?5`;
const END_WITH_FILE = "UPDATE resumable_upload SET ended_at_ms = ?3, file_id = ?2 WHERE id = ?1 AND ended_at_ms IS NULL";
const BYTES = "SELECT bytes FROM resumable_upload WHERE id = ?1";
const OPEN_BYTES = "SELECT bytes FROM resumable_upload WHERE id = ?1 AND account_seq = ?2 AND ended_at_ms IS NULL";
const REMOVE_PART = "DELETE FROM resumable_part WHERE id = ?1";
const FORGET = `DELETE FROM resumable_upload WHERE id = ?1 AND ended_at_ms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM resumable_part WHERE upload_seq = resumable_upload.seq)`;

const GONE = { kind: "gone" } as const;

/** Whether a resumable upload can still become a file. The usage of the account is locked. */
export const isOpenUpload = function* (uploadId: string, accountSeq: number): SqlProgram<boolean> {
  return (yield* first(OPEN_BYTES, uploadId, accountSeq)) !== undefined;
};

/** Ends an open upload that became a file, in the transaction that names the file. */
export const endWithFile = function* (accountSeq: number, uploadId: string, fileId: string, atMs: number): SqlProgram<void> {
  const { bytes = 0 } = (yield* first<{ bytes: number }>(OPEN_BYTES, uploadId, accountSeq)) ?? {};
  yield* change(END_WITH_FILE, uploadId, fileId, atMs);
  yield* giveBackQuota(accountSeq, bytes);
};

const beginPart = function* ({ uploadId, lockId, part, atMs, untilMs }: BeginUploadPart): SqlProgram<UploadResult> {
  const { id, firstByte, bytes, sha256, object } = part;
  if ((yield* change(COUNT_PART, uploadId, lockId, firstByte, untilMs, bytes)) === 0) return GONE;
  const row = yield* first<{ seq: number }>(SEQ, uploadId);
  if (!row) return GONE;
  yield* change(ADD_PART, id, row.seq, firstByte, bytes, sha256, object, atMs);
  return { kind: "reserved" };
};

const storePart = function* ({ uploadId, lockId, partId, atMs, untilMs }: StoreUploadPart): SqlProgram<UploadResult> {
  const part = yield* first<{ seq: number; firstByte: number; bytes: number }>(UNSTORED, partId);
  if (!part) return GONE;
  if ((yield* change(APPEND, uploadId, lockId, part.firstByte, part.bytes, untilMs)) === 0) return GONE;
  yield* change(STORE_PART, part.seq, atMs);
  return { kind: "stored" };
};

export const prepareResumableUploads = (dialect: Dialect) => {
  const lockUsage = prepareUsageLock(dialect);

  const create = function* (mutation: CreateResumableUpload): SqlProgram<UploadResult> {
    const { accountSeq, uploadId, bytes, metadata, quotaBytes, maxOpen, maxFiles, atMs, expiresAtMs } = mutation;
    const usedBytes = yield* lockUsage(accountSeq);
    const { open = 0 } = (yield* first<{ open: number }>(COUNT_OPEN, accountSeq, atMs)) ?? {};
    if (open >= maxOpen) return { kind: "too_many_open", open };
    const files = yield* countFiles(accountSeq);
    if (files >= maxFiles) return { kind: "too_many_files", files };
    if (!(yield* takeQuota(accountSeq, bytes, quotaBytes))) return { kind: "quota_exceeded", usedBytes };
    yield* change(CREATE, uploadId, accountSeq, bytes, metadata, atMs, expiresAtMs);
    return { kind: "created" };
  };

  const end = function* (mutation: EndResumableUpload): SqlProgram<UploadResult> {
    const { accountSeq, uploadId, error, isExpired, atMs } = mutation;
    yield* lockUsage(accountSeq);
    const latestMs = isExpired ? atMs : Number.MAX_SAFE_INTEGER;
    const text = error === null ? null : JSON.stringify(error);
    if ((yield* change(END, uploadId, accountSeq, atMs, text, latestMs)) === 0) return GONE;
    const { bytes = 0 } = (yield* first<{ bytes: number }>(BYTES, uploadId)) ?? {};
    yield* giveBackQuota(accountSeq, bytes);
    return { kind: "ended" };
  };

  return function* (mutation: ResumableMutation): SqlProgram<UploadResult> {
    switch (mutation.mutation) {
      case "create-resumable-upload":
        return yield* create(mutation);
      case "lock-resumable-upload": {
        const { uploadId, lockId, isHeld, atMs, untilMs } = mutation;
        const changed = isHeld
          ? yield* change(RENEW, uploadId, lockId, untilMs)
          : yield* change(LOCK, uploadId, lockId, atMs, untilMs);
        return changed === 0 ? GONE : { kind: "locked" };
      }
      case "unlock-resumable-upload":
        return (yield* change(UNLOCK, mutation.uploadId, mutation.lockId)) === 0 ? GONE : { kind: "unlocked" };
      case "begin-upload-part":
        return yield* beginPart(mutation);
      case "store-upload-part":
        return yield* storePart(mutation);
      case "end-resumable-upload":
        return yield* end(mutation);
      case "remove-upload-part":
        return (yield* change(REMOVE_PART, mutation.partId)) === 0 ? GONE : { kind: "removed" };
      case "forget-resumable-upload":
        return (yield* change(FORGET, mutation.uploadId)) === 0 ? GONE : { kind: "removed" };
    }
  };
};
