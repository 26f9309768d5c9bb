// Types of uploaded files, and the mutations that write them.
//
// A blob is reserved before its bytes are written. It is stored when they are durable and retired when no file names it.

import { RESUMABLE_MUTATIONS, type ResumableMutation, type ResumableResult } from "./resumable-mutations.ts";
import type { MediaKind } from "./types.ts";

/** Uploaded bytes as they were measured. `ms` is absent for a picture and for a clip or sound of unknown length. */
export type UploadContent = {
  sha256: string;
  bytes: number;
  mime: string;
  kind: MediaKind;
  width?: number;
  height?: number;
  ms?: number;
  /** Length of the pictures of a clip whose sound is longer. */
  pictureMs?: number;
};

/** A file of an account that is not deleted, with its blob. `object`: its name in the bucket; absent: on local disk. */
export type UploadedFile = UploadContent & {
  seq: number;
  id: string;
  accountSeq: number;
  blobId: string;
  object?: string;
  createdAtMs: number;
  expiresAtMs: number;
};
/** The bytes of a blob in storage. `object` as in `UploadedFile`. */
export type StoredBlob = Pick<UploadContent, "sha256" | "bytes" | "mime"> & {
  id: string;
  accountSeq: number;
  object?: string;
  life: "reserved" | "stored" | "retired";
};

/**
 * Names a new file of bytes that the account has stored already, or reserves a blob for them within the quota. The file is named
 * by `finish-upload` then.
 */
export type BeginUpload = {
  mutation: "begin-upload";
  accountSeq: number;
  fileId: string;
  blobId: string;
  content: UploadContent;
  /** The name that the bytes will have in the bucket, so that they are found after a crash; null: local disk. */
  object: string | null;
  quotaBytes: number;
  /** How many files the account may have with this one. Open resumable uploads count as files. */
  maxFiles: number;
  /** The resumable upload that becomes the file; naming the file ends it and releases its quota. */
  resumableId?: string;
  atMs: number;
  expiresAtMs: number;
};
/**
 * The bytes of a reserved blob are durable; names its file. If another upload has stored the same bytes meanwhile, the file names
 * those, and the reserved blob is retired.
 */
export type FinishUpload = {
  mutation: "finish-upload";
  accountSeq: number;
  fileId: string;
  blobId: string;
  /** As in `BeginUpload`. */
  maxFiles: number;
  resumableId?: string;
  atMs: number;
  expiresAtMs: number;
};
/** Retires a reserved blob whose bytes were not stored. */
export type AbandonUpload = { mutation: "abandon-upload"; accountSeq: number; blobId: string; atMs: number };
/**
 * Deletes a file that no open generation needs, and retires its blob if no other file names it. `isExpired`: only if it has
 * expired at `atMs`.
 */
export type DeleteFile = { mutation: "delete-file"; accountSeq: number; fileId: string; isExpired?: true; atMs: number };
/** Deletes the row of a deleted file that no generation and no resumable upload names, and its blob if no row names that. */
export type ForgetFile = { mutation: "forget-file"; accountSeq: number; fileId: string };
/** The bytes of a retired blob are deleted; deletes its row unless the row of a file names it. */
export type RemoveBlob = { mutation: "remove-blob"; blobId: string; atMs: number };

export type UploadMutation =
  | BeginUpload
  | FinishUpload
  | AbandonUpload
  | DeleteFile
  | ForgetFile
  | RemoveBlob
  | ResumableMutation;
export type UploadResult =
  | ResumableResult
  /** The file is named. */
  | { kind: "uploaded" }
  | { kind: "quota_exceeded"; usedBytes: number }
  /** The account has this many files, open resumable uploads included. */
  | { kind: "too_many_files"; files: number }
  /** `delete-file`: an open generation needs the file. */
  | { kind: "in_use" }
  /** The file, the blob, the part or the upload does not exist, is locked, or its life has ended. */
  | { kind: "gone" }
  | { kind: "abandoned" }
  | { kind: "deleted" }
  | { kind: "removed" }
  /** A constraint rejected it, which is a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

const UPLOAD_MUTATIONS: ReadonlySet<string> = new Set<UploadMutation["mutation"]>([
  "begin-upload",
  "finish-upload",
  "abandon-upload",
  "delete-file",
  "forget-file",
  "remove-blob",
  ...RESUMABLE_MUTATIONS,
]);
export const isUploadMutation = (mutation: { mutation: string }): mutation is UploadMutation =>
  UPLOAD_MUTATIONS.has(mutation.mutation);
