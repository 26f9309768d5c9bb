// The port to media: measuring what a request links to, and collecting what a provider delivers.
import type { Measured, MediaKind, MediaLink, Output, ResultFile } from "../terms.ts";

export type CollectOutcome =
  | { kind: "collected"; output: Output }
  /** The file could not be had or is not what it claims; asking the provider again may help. */
  | { kind: "unreadable"; detail: string }
  /** The link says that it is over (403, 404, 410). */
  | { kind: "expired"; detail: string }
  /** Our storage refused: wait, the route is not to blame. What was fetched whole by then may be held for the next try. */
  | { kind: "storage-refused"; detail: string };

export interface Media {
  /** Opens and measures every link, all in parallel, 10 s in all. Throws the refusal `invalid_input` naming the field. */
  measure(links: readonly MediaLink[]): Promise<Measured[]>;
  /**
   * Puts what a provider gave inside its answer (`data:` addresses) on disk, so that only its address has to be written down.
   * @throws StorageRefused
   */
  keepInline(ref: string, results: readonly ResultFile[]): Promise<ResultFile[]>;
  /** Fetches the results of a generation into its files: streamed, checked, measured, hashed. Safe to repeat. */
  collect(
    what: { generationId: string; attempt: number; kind: MediaKind; results: readonly ResultFile[]; provider: string },
    signal: AbortSignal,
  ): Promise<CollectOutcome>;
}
