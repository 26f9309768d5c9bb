// Types of resumable uploads, and the mutations that write them.
//
// The offset of an upload is the sum of its stored parts. A request takes the lock before it appends, so parts follow each other
// without a gap; each write is conditional on lock and offset.

/** The API error that ended an upload. */
export type UploadError = { code: string; status: number; message: string };

export type ResumableUpload = {
  seq: number;
  id: string;
  accountSeq: number;
  /** Size of the whole file. */
  bytes: number;
  /** `Upload-Metadata` as it was sent; null: none. */
  metadata: string | null;
  /** Bytes that are stored: the offset. */
  receivedBytes: number;
  /** Number of parts that were begun. */
  parts: number;
  createdAtMs: number;
  expiresAtMs: number;
  endedAtMs: number | null;
  /** The file that it became. */
  fileId: string | null;
  error: UploadError | null;
};

/** A part as it is stored. `object`: its name in the bucket; absent: on local disk. */
export type UploadPart = { id: string; firstByte: number; bytes: number; sha256: string; object?: string };

/**
 * Opens an upload within the quota. `maxOpen`: the number of open uploads that the account may have with it; `maxFiles`: that of
 * its files and open uploads.
 */
export type CreateResumableUpload = {
  mutation: "create-resumable-upload";
  accountSeq: number;
  uploadId: string;
  bytes: number;
  metadata: string | null;
  quotaBytes: number;
  maxOpen: number;
  maxFiles: number;
  atMs: number;
  expiresAtMs: number;
};
/** Takes the lock of an open upload, unless another request holds it. `isHeld`: renews it, if it was not taken meanwhile. */
export type LockResumableUpload = {
  mutation: "lock-resumable-upload";
  uploadId: string;
  lockId: string;
  isHeld?: true;
  atMs: number;
  untilMs: number;
};
export type UnlockResumableUpload = { mutation: "unlock-resumable-upload"; uploadId: string; lockId: string };
/** Names received bytes at the present offset before they are stored. */
export type BeginUploadPart = {
  mutation: "begin-upload-part";
  uploadId: string;
  lockId: string;
  part: Omit<UploadPart, "object"> & { object: string | null };
  atMs: number;
  untilMs: number;
};
/** The bytes of a part are durable; moves the offset behind them. */
export type StoreUploadPart = {
  mutation: "store-upload-part";
  uploadId: string;
  lockId: string;
  partId: string;
  atMs: number;
  untilMs: number;
};
/** Ends an open upload without a file and releases its quota. `isExpired`: only if it has expired at `atMs`. */
export type EndResumableUpload = {
  mutation: "end-resumable-upload";
  accountSeq: number;
  uploadId: string;
  error: UploadError | null;
  isExpired?: true;
  atMs: number;
};
/** The bytes of a part are deleted; deletes its row. */
export type RemoveUploadPart = { mutation: "remove-upload-part"; partId: string };
/** Deletes the row of an ended upload without parts. */
export type ForgetResumableUpload = { mutation: "forget-resumable-upload"; uploadId: string };

export type ResumableMutation =
  | CreateResumableUpload
  | LockResumableUpload
  | UnlockResumableUpload
  | BeginUploadPart
  | StoreUploadPart
  | EndResumableUpload
  | RemoveUploadPart
  | ForgetResumableUpload;

export type ResumableResult =
  | { kind: "created" }
  /** The account has this many open uploads. */
  | { kind: "too_many_open"; open: number }
  | { kind: "locked" }
  | { kind: "unlocked" }
  | { kind: "reserved" }
  | { kind: "stored" }
  | { kind: "ended" };

export const RESUMABLE_MUTATIONS: readonly ResumableMutation["mutation"][] = [
  "create-resumable-upload",
  "lock-resumable-upload",
  "unlock-resumable-upload",
  "begin-upload-part",
  "store-upload-part",
  "end-resumable-upload",
  "remove-upload-part",
  "forget-resumable-upload",
];
