// What an inspection finds in a media file, whatever its format.
import type { MediaKind } from "../../domain/types.ts";

/**
 * `shallow`: each read may cost a request to a strange server, and only what decides kind, size and length is read.
 * `whole`: the file lies on our own disk, and its end is held against its beginning.
 * `counted`: the same, and a price follows its length: all coded sound is stepped through, which takes as long as all else together.
 */
export type Depth = "shallow" | "whole" | "counted";

export type Inspection = {
  /** The true content type by the bytes, whatever a server said. */
  mime: string;
  kind: MediaKind | "other";
  /** As displayed: of a clip after rotation and with square pixels, of a picture as its header says. */
  width?: number;
  height?: number;
  /** End of the last shown sample minus start of the first, rounded; absent for sound whose code is not known. */
  ms?: number;
  /** Of a clip whose sound goes on after its pictures: how long these are. */
  pictureMs?: number;
  /** Of a clip whose pictures go on after its sound: how long this is. */
  soundMs?: number;
  hasAudio?: boolean;
  /** Some of it is coded in a way that is not counted: a decoder may play more than `ms`, which the clock of the file says as its writer likes. */
  isUncounted?: true;
  /** Duration of one picture or one coded frame of sound: lengths are good within it. */
  frameMs?: number;
  /** Whether the file is all there as far as its own structure says. */
  isComplete: boolean;
};
