// Looks into a result that has arrived whole: whether it is all there and holds what was ordered, and how large and long it is.
import type { MediaKind } from "../domain/types.ts";
import { Unreadable } from "./byte-source.ts";
import type { Inspection } from "./formats/inspection.ts";
import { UnreadableResult } from "./receive-file.ts";
import { isTooShort, soundOnly } from "./result-kinds.ts";
import { Overtaxing } from "./sandbox/sandbox.ts";

/** The true content type, and what could be measured; of kinds that no reader of ours knows nothing is. */
export type Examined = Pick<Inspection, "mime" | "width" | "height" | "ms" | "pictureMs" | "soundMs" | "hasAudio">;

/** Kinds that are read to be measured: one of these that cannot be read is taken for broken. */
const MEASURED =
  /^(image\/(png|jpeg|webp)|video\/(mp4|quicktime|3gpp2?|webm|x-matroska|ogg)|audio\/(mpeg|wav|ogg|flac|aac|mp4))$/;

/** Whether what is in the file answers the order. A clip with sound answers an order of sound; what is only sound is no clip. */
const answers = (found: Inspection, kind: MediaKind): boolean =>
  kind === "video" ? found.kind !== "audio" : kind === "image" || found.kind === "audio" || found.hasAudio === true;

/**
 * @param look reads it from beginning to end
 * @param arrived what is known of it: `bytes` in all, `mime` by the first of them
 * @returns what was found, under its true type; undefined where it could not be looked into, which makes it no worse
 * @throws UnreadableResult, and what the disk and the sandbox throw
 */
export const examine = async (
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
    // It came whole and begins as its kind does: that it asks too much of us is no fault of whoever paid for it.
    if (error instanceof Overtaxing || !MEASURED.test(mime)) return undefined;
    throw new UnreadableResult(error.message, sha256, true);
  }
  // Of a kind that no reader here knows, what was read may be a part of it.
  if (!MEASURED.test(mime) && !answers(found, kind)) return undefined;
  if (!found.isComplete) throw new UnreadableResult("it is cut short", sha256, false);
  if (!answers(found, kind)) throw new UnreadableResult(`it holds ${found.kind}, not ${kind}`, sha256, false);
  // What begins with a tag, or in the middle of a frame, is named by its frames.
  if (mime === "audio/mpeg") return found;
  return { ...found, mime: found.kind === "audio" ? soundOnly(mime) : mime };
};
