// Converts a result to a format of section 4.3 of docs/interface.md if no information is lost.
//
// Results that cannot be converted without loss stay unchanged.
import type { MediaKind } from "../../domain/types.ts";
import { Unreadable } from "../byte-source.ts";
import type { Examined } from "../check-result.ts";
import type { Inspection } from "../formats/inspection.ts";
import type { Sink, Source } from "../sandbox/child-process.ts";
import { Busy, type Sandbox } from "../sandbox/sandbox.ts";

export type Target = "image/png" | "video/mp4";

const CLIPS = new Set([
  "video/quicktime",
  "video/webm",
  "video/x-matroska",
  "audio/webm",
  "audio/x-matroska",
  "video/3gpp",
  "video/3gpp2",
]);
const STILLS = new Set(["image/gif", "image/bmp", "image/avif"]);
/** A larger clip would occupy a child for too long. */
const MAX_CLIP_BYTES = 512 * 1024 * 1024;
/** A larger file is not a picture of the allowed number of pixels. */
const MAX_PICTURE_BYTES = 96 * 1024 * 1024;

/**
 * The target format of a file; undefined if the file already has a format of docs/interface.md, is animated, or cannot be
 * converted.
 */
export const targetOf = ({ mime, ms }: Examined, kind: MediaKind, bytes: number): Target | undefined => {
  if (CLIPS.has(mime)) return kind !== "image" && bytes <= MAX_CLIP_BYTES ? "video/mp4" : undefined;
  return STILLS.has(mime) && ms === undefined && kind === "image" && bytes <= MAX_PICTURE_BYTES ? "image/png" : undefined;
};

/** Durations are those of whole frames, and containers round them differently. */
const MIN_FRAME_MS = 50;

/** Reports whether the conversion is lossless: same size, same duration within one frame, and sound if the original has sound. */
const isSame = (before: Inspection, after: Inspection): boolean =>
  after.isComplete &&
  after.kind === before.kind &&
  after.width === before.width &&
  after.height === before.height &&
  (after.hasAudio ?? false) === (before.hasAudio ?? false) &&
  Math.abs((after.ms ?? 0) - (before.ms ?? 0)) <= Math.max(MIN_FRAME_MS, before.frameMs ?? 0, after.frameMs ?? 0);

export type Conversion = { from: string; to: Target; mostPixels: number; before: Inspection };

/**
 * Converts a file and compares the outcome with the original.
 * @param written opens the converted file after it has been written
 * @returns the inspection of the converted file; undefined if the original is kept
 * @throws the errors of the source and the sink
 */
export const convert = async (
  sandbox: Pick<Sandbox, "run">,
  { from, to, mostPixels, before }: Conversion,
  requested: { source: Source; sink: Sink; provider: string; signal: AbortSignal },
  written: () => Source,
): Promise<Inspection | undefined> => {
  const { source, sink, provider, signal } = requested;
  const who = { share: "result", account: provider };
  try {
    await sandbox.run("convert", { to, from, mostPixels }, { source, sink, who, signal });
    const after = await sandbox.run("inspect", { depth: "whole" }, { source: written(), who, signal });
    return isSame(before, after) ? after : undefined;
  } catch (error) {
    // The original is paid for and complete, so a failed conversion keeps it.
    if ((error instanceof Unreadable || error instanceof Busy) && !signal.aborted) return undefined;
    throw error;
  }
};
