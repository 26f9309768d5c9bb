// Checks that a downloaded result is complete, matches the ordered kind, and measures it.
import type { MediaKind } from "../domain/types.ts";
import { Unreadable } from "./byte-source.ts";
import type { Inspection } from "./formats/inspection.ts";
import { UnreadableResult } from "./receive-file.ts";
import { isTooShort, soundOnly } from "./result-kinds.ts";
import { Overtaxing } from "./sandbox/sandbox.ts";

/** The detected content type and the measured properties. Kinds that genrouter does not parse have no measured properties. */
export type Examined = Pick<Inspection, "mime" | "width" | "height" | "ms" | "pictureMs" | "soundMs" | "hasAudio">;

/** Kinds that genrouter parses and measures. A file of one of these kinds that cannot be parsed is considered broken. */
const MEASURED =
  /^(image\/(png|jpeg|webp)|video\/(mp4|quicktime|3gpp2?|webm|x-matroska|ogg)|audio\/(mpeg|wav|ogg|flac|aac|mp4))$/;

/**
 * Reports whether the file satisfies the ordered kind. A clip with sound satisfies an audio order; a file with sound only is not
 * a clip.
 */
const answers = (found: Inspection, kind: MediaKind): boolean =>
  kind === "video" ? found.kind !== "audio" : kind === "image" || found.kind === "audio" || found.hasAudio === true;

/**
 * @param look parses the file from beginning to end
 * @param arrived the total size in `bytes`, and the `mime` detected from the first bytes
 * @returns the inspection with the detected type; undefined if the file could not be inspected, in which case the file is still
 * accepted
 * @throws UnreadableResult, and the errors of the disk and the sandbox
 */
export const checkResult = async (
  look: () => Promise<Inspection>,
  { bytes, mime, sha256 }: { bytes: number; mime: string; sha256: string },
  kind: MediaKind,
): Promise<Inspection | undefined> => {
  let found: Inspection;
  try {
    found = await look();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    if (isTooShort(mime, bytes)) throw new UnreadableResult("it is cut short", sha256, false);
    // The file is complete and its header matches its kind. The customer paid for it, so exceeding the sandbox's bounds does not
    // make it a failure.
    if (error instanceof Overtaxing || !MEASURED.test(mime)) return undefined;
    throw new UnreadableResult(error.message, sha256, true);
  }
  // For a kind that genrouter does not parse, the inspected part may not be the whole file.
  if (!MEASURED.test(mime) && !answers(found, kind)) return undefined;
  if (!found.isComplete) throw new UnreadableResult("it is cut short", sha256, false);
  if (!answers(found, kind)) throw new UnreadableResult(`it holds ${found.kind}, not ${kind}`, sha256, false);
  // The type of a file that begins with a tag or in the middle of a frame is determined by its frames.
  if (mime === "audio/mpeg") return found;
  return { ...found, mime: found.kind === "audio" ? soundOnly(mime) : mime };
};
