// The port to result storage: files of a generation are written once, read and deleted.

import type { StoredFile } from "../domain/types.ts";

/** A file being received; it is not visible until `keep`. */
export interface Incoming {
  /** Appends the chunks in order. */
  write(...chunks: readonly Uint8Array[]): Promise<void>;
  /** Takes the whole file instead of writes. Its bytes are in memory, and not at `path`, until `keep`. */
  hold(chunks: readonly Uint8Array[]): void;
  /**
   * Makes the bytes written so far durable and visible.
   * @param file the properties that will be recorded
   * @throws StorageUnavailable if the same call can be retried later, StorageRefused if it cannot
   */
  keep(file: StoredFile): Promise<void>;
  /** Local path of the bytes written so far, for measuring. */
  readonly path: string;
  discard(): Promise<void>;
}

/** Response parameters of a file that is stored elsewhere. */
export type LinkParameters = {
  method: "GET" | "HEAD";
  /** The object name in the record. */
  object?: string | undefined;
  mime: string;
  /** Values of the `Content-Disposition` and `Cache-Control` headers. */
  disposition: string;
  cacheControl: string;
  /** The link is needed only until this time, ms since 1970. */
  untilMs?: number;
};

/** Result files by generation and file number. Every disk failure is thrown as `StorageRefused`. */
export interface Files {
  receive(generationId: string, n: number): Promise<Incoming>;
  /** The object name that `keep` uses for a file (`StoredFile.object`). Absent if the name is the file number. */
  objectOf?(file: Pick<StoredFile, "n" | "sha256">): string;
  /** Opens a file as a blob that streams from disk; undefined if it does not exist. */
  open(generationId: string, n: number): Promise<Blob | undefined>;
  /** A short-lived URL of a file that is not on local disk. Absent if all files are. */
  link?(generationId: string, n: number, words: LinkParameters): string;
  /**
   * Reports whether storage accepts no files at the moment; the storage detects its recovery by itself. Absent if all files are
   * on local disk.
   */
  isUnavailable?(): boolean;
  /** Deletes every file of a generation; succeeds if there are none. */
  remove(generationId: string): Promise<void>;
}

/** Prefix of the address of a file that a provider embedded in its response. The file is on local disk and never changes. */
export const SPOOLED = "spool:";
export const isSpooled = (url: string): boolean => url.startsWith(SPOOLED);

/** Result storage refused the file (disk full, for example). The result is not lost; it waits. */
export class StorageRefused extends Error {}

/** A file that should exist is missing. */
export class FileMissing extends Error {}

/** Storage other than the local disk is unavailable. It logs this once, and the same call may be retried later. */
export class StorageUnavailable extends StorageRefused {
  /** Earliest time of a useful retry, ms since 1970. Set for a single file that is refused while others are accepted. */
  readonly againAtMs: number | undefined;
  constructor(message: string, againAtMs?: number) {
    super(message);
    this.againAtMs = againAtMs;
  }
}

/** The file is still being stored elsewhere; the same call joins it. */
export class StillStoring extends StorageUnavailable {}
