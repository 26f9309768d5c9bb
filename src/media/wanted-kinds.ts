// Names the formats of each kind of media for error messages.
import type { MediaKind } from "../domain/types.ts";

const WANTED: Readonly<Record<MediaKind, string>> = {
  image: "a picture (PNG, JPEG, WebP or GIF)",
  video: "a clip (MP4, QuickTime, WebM or Matroska)",
  audio: "sound (MP3, WAV, FLAC, Ogg, AAC, M4A or WebM)",
};

/** The fault of a file that is something else than its field takes. @param found what the file is, with its article */
export const wrongKind = (found: string, wanted: MediaKind): string => `it is ${found}, not ${WANTED[wanted]}`;

/** The fault of a file that is no media of a known kind. */
export const noMedia = (found: string): string => `it is ${found}, not ${WANTED.image}, ${WANTED.video} or ${WANTED.audio}`;
