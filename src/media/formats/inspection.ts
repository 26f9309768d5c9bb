// Result type of a media file inspection, for all formats.
import type { MediaKind } from "../../domain/types.ts";

/**
 * Depth of an inspection:
 * - `shallow`: reads only the parts that determine kind, size and duration, because each read may cost a request to a remote
 * server.
 * - `whole`: the file is on local disk, and its completeness is checked.
 * - `counted`: like `whole`, and a price depends on the duration. All encoded sound is parsed, which doubles the time.
 */
export type Depth = "shallow" | "whole" | "counted";

export type Inspection = {
  /** The content type according to the bytes, regardless of the server. */
  mime: string;
  kind: MediaKind | "other";
  /** As displayed: for a clip after rotation and with square pixels, for a picture according to its header. */
  width?: number;
  height?: number;
  /** End of the last shown sample minus start of the first, rounded. Absent for sound of an unknown codec. */
  ms?: number;
  /** Duration of the pictures of a clip whose sound is longer. */
  pictureMs?: number;
  /** Duration of the sound of a clip whose pictures are longer. */
  soundMs?: number;
  hasAudio?: boolean;
  /**
   * Part of the sound uses a codec that is not counted. A decoder may play more than `ms`, because the writer controls the
   * timestamps of the file.
   */
  isUncounted?: true;
  /** Duration of one picture or one encoded audio frame; durations are exact within it. */
  frameMs?: number;
  /** Whether the file is complete according to its own structure. */
  isComplete: boolean;
};
