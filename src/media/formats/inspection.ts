// What an inspection finds in a media file, whatever its format.
import type { MediaKind } from "../../terms.ts";

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
  hasAudio?: boolean;
  /** Duration of one picture or one coded frame of sound: lengths are good within it. */
  frameMs?: number;
  /** Whether the file is all there as far as its own structure says. */
  isComplete: boolean;
};
