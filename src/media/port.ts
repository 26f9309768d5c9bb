// The port to media: measuring what a request links to, and collecting what a provider delivers.
import type { Mismatch, Odd, Ordered } from "../domain/delivery-check.ts";
import type { Measured, MediaKind, MediaLink, Output, PinnedCopy, PinRequest, ResultFile } from "../domain/types.ts";

export type CollectOutcome =
  /** `lost`: what is wrong with the announced files that were given up; those that are good are in `output`. */
  | { kind: "collected"; output: Output; lost?: readonly string[]; odd?: Odd }
  /** Every file that came is whole, and they are not what was ordered: nothing is kept. */
  | { kind: "mismatched"; mismatch: Mismatch }
  /**
   * The file could not be had or is not what it claims; asking the provider again may help. `isOurs`: all of it came, and nobody but
   * ourselves is known to be unable to read it, so the route is not to blame. `isUnusable`: something came, or was announced, that is no file
   * anybody could use.
   */
  | { kind: "unreadable"; detail: string; isOurs?: true; isUnusable?: true }
  /** The link says that it is over (403, 404, 410). */
  | { kind: "expired"; detail: string }
  /** Our storage refused: wait, the route is not to blame. What was fetched whole by then may be held for the next try. */
  | { kind: "storage-refused"; detail: string; againAtMs?: number };

/** A link whose file is to be pinned; `sha256`: it must be this very file, which was pinned before. */
export type PinWanted = PinRequest & { generationId: string; accountSeq: number; url: string; sha256?: string };
export type PinOutcome =
  | { kind: "pinned"; copy: PinnedCopy }
  /** It cannot be had, or is not what was measured. `why` is our own sentence; `mayPass`: the next moment may have another answer. */
  | { kind: "refused"; why: string; mayPass: boolean }
  /** Our storage refused: wait, the link is not to blame. */
  | { kind: "storage-refused"; detail: string }
  | { kind: "called-off" };
/** Why a file of a result could not be had. `print` is the same when the same bytes came; absent where the server gave none. */
export type FileFailure = { detail: string; print?: string; isOurs?: true; isExpired?: true };

/** What became of earlier tries at the files of one result, by their place from 0. */
export interface Tries {
  /** Why a file was given up; it is not fetched again. Undefined while there is hope. */
  lostAt(at: number): FileFailure | undefined;
  /** Notes that a file could not be had. @returns whether it is given up with this */
  failed(at: number, failure: FileFailure): boolean;
}

export type Collecting = {
  generationId: string;
  attempt: number;
  kind: MediaKind;
  results: readonly ResultFile[];
  provider: string;
  /** What came of the tries before; without them the first file that cannot be had ends it. */
  tries?: Tries;
  /** Null, or absent: what was ordered is not known. */
  ordered?: Ordered | null;
};

export interface Media {
  /**
   * Opens and measures every link, in parallel, 10 s in all.
   * @param account whose places are taken for it
   * @throws Refusal `invalid_input` naming the field; `busy` where nothing was free to read them in time
   */
  measure(links: readonly MediaLink[], account: string): Promise<Measured[]>;
  /**
   * Fetches the whole file of a link to our storage, hashes it and measures it again. Waits for a place, of which each account has a
   * share. Safe to repeat.
   */
  pin(wanted: PinWanted, signal: AbortSignal): Promise<PinOutcome>;
  /** A copy that was pinned; undefined when it is not there (any more). */
  copyOf(generationId: string, copy: PinnedCopy): Promise<Blob | undefined>;
  /** Whether it is there. @throws StorageRefused */
  hasCopy(generationId: string, copy: PinnedCopy): Promise<boolean>;
  /**
   * Puts what a provider gave inside its answer (`data:` addresses) on disk, so that only its address has to be written down.
   * @throws StorageRefused
   */
  keepInline(ref: string, results: readonly ResultFile[]): Promise<ResultFile[]>;
  /** As `keepInline`, on this node's own disk while the bucket takes nothing; absent where that is no other place. */
  keepHere?: Media["keepInline"];
  /** Brings what `keepHere` has kept to where every node finds it. @throws StorageRefused */
  share?: (results: readonly ResultFile[]) => Promise<ResultFile[]>;
  /**
   * Fetches the results of a generation into its files: streamed, checked, measured, hashed, held against what was ordered. Safe to repeat.
   */
  collect(what: Collecting, signal: AbortSignal): Promise<CollectOutcome>;
}
