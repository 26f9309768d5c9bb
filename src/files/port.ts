// The port to result files: where a generation's files are written once, read many times and deleted.

import type { StoredFile } from "../domain/types.ts";

/** A file being received; nothing is visible until `keep`. */
export interface Incoming {
  /** Appends them, one after the other. */
  write(...chunks: readonly Uint8Array[]): Promise<void>;
  /**
   * Makes the bytes written so far durable and visible.
   * @param file what they are, as it will be written down
   * @throws StorageUnavailable where the same call may be made again later, StorageRefused where it cannot
   */
  keep(file: StoredFile): Promise<void>;
  /** Path on local disk of the bytes so far, for measuring. */
  readonly path: string;
  discard(): Promise<void>;
}

/** How a file that is elsewhere is to be answered there. */
export type LinkParameters = {
  method: "GET" | "HEAD";
  /** As the record has it. */
  object?: string | undefined;
  mime: string;
  /** As the `Content-Disposition` and `Cache-Control` headers have it. */
  disposition: string;
  cacheControl: string;
  /** The link is needed until then only, ms since 1970. */
  untilMs?: number;
};

/** Result files by generation and position. Every failure of the disk is thrown as `StorageRefused`. */
export interface Files {
  receive(generationId: string, n: number): Promise<Incoming>;
  /** What `keep` calls a file of these bytes (`StoredFile.object`). Absent where its place is its name. */
  objectOf?(file: Pick<StoredFile, "n" | "sha256">): string;
  /** A blob that streams from disk, or undefined when the file is not there. */
  open(generationId: string, n: number): Promise<Blob | undefined>;
  /** The short-lived address of a file that is not on disk. Absent where all files are. */
  link?(generationId: string, n: number, words: LinkParameters): string;
  /** Whether nothing is taken now; while that is so, asking has it find out by itself when that is over. Absent where all files are on disk. */
  isAway?(): boolean;
  /** Deletes every file of a generation; fine when there are none. */
  remove(generationId: string): Promise<void>;
}

/** What was inside a provider's answer has such an address: it is on our own disk, and the same whenever it is looked at. */
export const SPOOLED = "spool:";
export const isSpooled = (url: string): boolean => url.startsWith(SPOOLED);

/** Our own storage said no (disk full, for example): the result is not lost, it waits. */
export class StorageRefused extends Error {}

/** A file that should be kept is not there. */
export class FileMissing extends Error {}

/** Where files are kept besides our disk cannot be asked now; it says so itself, once, and the same may be tried later. */
export class StorageUnavailable extends StorageRefused {
  /** Not before then is it worth a try: of one file that is refused while others are taken, ms since 1970. */
  readonly againAtMs: number | undefined;
  constructor(message: string, againAtMs?: number) {
    super(message);
    this.againAtMs = againAtMs;
  }
}
