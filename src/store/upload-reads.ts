// Reads about uploaded files and the stored files that generations take as inputs.

import type { ResumableUpload, UploadPart } from "../domain/resumable-mutations.ts";
import type { InputFile } from "../domain/types.ts";
import type { StoredBlob, UploadedFile } from "../domain/upload-mutations.ts";

export interface ResumableReads {
  /** An upload of any account, also an ended one. */
  resumableUpload(id: string): Promise<ResumableUpload | undefined>;
  /** The stored parts of an upload in order. */
  uploadParts(uploadSeq: number): Promise<UploadPart[]>;
  /** A part as storage sees it. */
  uploadPart(id: string): Promise<StoredBlob | undefined>;
  /** Stored parts of ended uploads, and parts begun before a time that were never stored; at most `limit`. */
  removableParts(beforeMs: number, limit: number): Promise<UploadPart[]>;
  /** Open uploads that have expired; at most `limit`. */
  expiredResumableUploads(nowMs: number, limit: number): Promise<{ id: string; accountSeq: number }[]>;
  /** Ended uploads without parts that expired before a time; at most `limit`. */
  forgettableUploads(beforeMs: number, limit: number): Promise<{ id: string; accountSeq: number }[]>;
}

export interface UploadReads extends ResumableReads {
  /** A file that is not deleted, of any account. */
  uploadedFile(id: string): Promise<UploadedFile | undefined>;
  /** Files of an account before a row number (null: all) that have not expired, newest first; at most `limit`. */
  uploadedFiles(accountSeq: number, beforeSeq: number | null, nowMs: number, limit: number): Promise<UploadedFile[]>;
  /** The row number of a file of the account, also of a deleted one. */
  uploadedFileSeq(id: string, accountSeq: number): Promise<number | undefined>;
  /** Bytes that count against the quota of an account. */
  uploadedBytes(accountSeq: number): Promise<number>;
  blob(id: string): Promise<StoredBlob | undefined>;
  /** Blobs without a file whose bytes are not deleted yet; at most `limit`. */
  retiredBlobs(limit: number): Promise<StoredBlob[]>;
  /** Blobs reserved before a time whose bytes were never stored; at most `limit`. */
  leftBlobs(beforeMs: number, limit: number): Promise<StoredBlob[]>;
  /** Expired files that no open generation needs; at most `limit`. */
  expiredUploads(nowMs: number, limit: number): Promise<{ id: string; accountSeq: number }[]>;
  /** Files deleted before a time that no generation has used, and no resumable upload names; at most `limit`. */
  forgettableFiles(beforeMs: number, limit: number): Promise<{ id: string; accountSeq: number }[]>;
  /** The stored files that a generation takes as inputs, by number. */
  inputFilesOf(seq: number): Promise<InputFile[]>;
}
