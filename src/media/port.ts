// The media port: measures linked inputs, pins them and collects results.
import type { Mismatch, Odd, Ordered } from "../domain/delivery-check.ts";
import type { Measured, MediaKind, MediaLink, Output, PinnedCopy, PinRequest, ResultFile } from "../domain/types.ts";

export type CollectOutcome =
  /** `lost`: the failures of announced files that were given up; accepted files are in `output`. */
  | { kind: "collected"; output: Output; lost?: readonly string[]; odd?: Odd }
  /** All received files are complete but do not match the order; none is stored. */
  | { kind: "mismatched"; mismatch: Mismatch }
  /**
   * The file could not be downloaded or is not of its claimed kind; another request to the provider may succeed. `isOurs`: the
   * file is complete and possibly only genrouter cannot read it, so the route is not at fault. `isUnusable`: the received or
   * announced content is not a usable file.
   */
  | { kind: "unreadable"; detail: string; isOurs?: true; isUnusable?: true }
  /** The server reports that the link has expired (403, 404, 410). */
  | { kind: "expired"; detail: string }
  /**
   * Result storage refused the files. The collection waits, and the route is not at fault. Files that are already downloaded may
   * be held for the next try.
   */
  | { kind: "storage-refused"; detail: string; againAtMs?: number };

/** A link whose file is to be pinned. If `sha256` is set, the file must be identical to the one that was pinned before. */
export type PinTarget = PinRequest & { generationId: string; accountSeq: number; url: string; sha256?: string };
export type PinOutcome =
  | { kind: "pinned"; copy: PinnedCopy }
  /**
   * The file cannot be downloaded or differs from the measurement. `why` is written by genrouter; `mayPass` is true if a retry
   * may succeed.
   */
  | { kind: "refused"; why: string; mayPass: boolean }
  /** Result storage refused the file. The caller waits, and the link is not at fault. */
  | { kind: "storage-refused"; detail: string }
  | { kind: "called-off" };
/** The reason why a result file could not be collected. `print` identifies the received bytes; absent if the server sent none. */
export type FileFailure = { detail: string; print?: string; isOurs?: true; isExpired?: true };

/** The outcomes of earlier tries for the files of one result, by file index from 0. */
export interface Tries {
  /** The failure with which a file was given up, so that it is not downloaded again; undefined while retries remain. */
  lostAt(at: number): FileFailure | undefined;
  /** Records that a file could not be collected. @returns whether the file is given up with this failure */
  failed(at: number, failure: FileFailure): boolean;
}

export type Collecting = {
  generationId: string;
  attempt: number;
  kind: MediaKind;
  results: readonly ResultFile[];
  provider: string;
  /** Outcomes of earlier tries; if absent, the first file that fails ends the collection. */
  tries?: Tries;
  /** The order for the delivery check; null or absent if it is not known. */
  ordered?: Ordered | null;
};

/** Opens a stored file with the headers of a range request; undefined if it is missing. */
export type OpenStored = (headers: Record<string, string>) => Promise<Response | undefined>;

export interface Media {
  /**
   * Opens and measures every link in parallel, within 10 s in total.
   * @param account the account whose places the links occupy
   * @param stored opens the links that name files of this service; they are read from storage
   * @throws ApiError `invalid_input` with the name of the field; `busy` if no sandbox child or place was free in time
   */
  measure(links: readonly MediaLink[], account: string, stored?: ReadonlyMap<string, OpenStored>): Promise<Measured[]>;
  /**
   * Downloads the whole file of a link to result storage, hashes it and measures it again. Waits for a place; the places of each
   * account are limited. Idempotent.
   */
  pin(wanted: PinTarget, signal: AbortSignal): Promise<PinOutcome>;
  /** Reports whether a pinned copy exists. @throws StorageRefused */
  hasCopy(generationId: string, copy: PinnedCopy): Promise<boolean>;
  /**
   * Writes files that a provider embedded in its response (`data:` URLs) to disk, so that only their address has to be recorded.
   * @throws StorageRefused
   */
  keepInline(ref: string, results: readonly ResultFile[]): Promise<ResultFile[]>;
  /** Like `keepInline`, but on this node's own disk while the bucket is unavailable. Absent if both are the same place. */
  keepHere?: Media["keepInline"];
  /** Moves files that `keepHere` stored to storage that every node can read. @throws StorageRefused */
  share?: (results: readonly ResultFile[]) => Promise<ResultFile[]>;
  /** Downloads the results of a job, checks, hashes, measures and stores them, and compares them with the order. Idempotent. */
  collect(what: Collecting, signal: AbortSignal): Promise<CollectOutcome>;
}
