// Brings a result into a kind of the specification where that can be done without loss; what cannot be stays as it is.
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
/** A larger clip would keep a child from everything else for too long. */
const MOST_CLIP_BYTES = 512 * 1024 * 1024;
/** A larger picture of so few pixels is not one. */
const MOST_PICTURE_BYTES = 96 * 1024 * 1024;

/** What a file is to become; undefined for what is of the specification's kinds already, moves, or is known not to be convertible. */
export const targetOf = ({ mime, ms }: Examined, kind: MediaKind, bytes: number): Target | undefined => {
  if (CLIPS.has(mime)) return kind !== "image" && bytes <= MOST_CLIP_BYTES ? "video/mp4" : undefined;
  return STILLS.has(mime) && ms === undefined && kind === "image" && bytes <= MOST_PICTURE_BYTES ? "image/png" : undefined;
};

/** Lengths are those of whole frames, and containers round them in their own ways. */
const LEAST_FRAME_MS = 50;

/** Whether nothing is missing: the same size, the same length within a frame, sound where there was some. */
const isSame = (before: Inspection, after: Inspection): boolean =>
  after.isComplete &&
  after.kind === before.kind &&
  after.width === before.width &&
  after.height === before.height &&
  (after.hasAudio ?? false) === (before.hasAudio ?? false) &&
  Math.abs((after.ms ?? 0) - (before.ms ?? 0)) <= Math.max(LEAST_FRAME_MS, before.frameMs ?? 0, after.frameMs ?? 0);

export type Conversion = { from: string; to: Target; mostPixels: number; before: Inspection };

/**
 * Converts a file, and holds what came of it against what it was.
 * @param written the file that was written, once it is
 * @returns how it was found; undefined where it stays as it is
 * @throws what the source and the sink throw
 */
export const convert = async (
  sandbox: Pick<Sandbox, "run">,
  { from, to, mostPixels, before }: Conversion,
  asked: { source: Source; sink: Sink; provider: string; signal: AbortSignal },
  written: () => Source,
): Promise<Inspection | undefined> => {
  const { source, sink, provider, signal } = asked;
  const who = { share: "result", account: provider };
  try {
    await sandbox.run("convert", { to, from, mostPixels }, { source, sink, who, signal });
    const after = await sandbox.run("inspect", { depth: "whole" }, { source: written(), who, signal });
    return isSame(before, after) ? after : undefined;
  } catch (error) {
    // Whatever keeps it from being converted, it has been paid for and is whole.
    if ((error instanceof Unreadable || error instanceof Busy) && !signal.aborted) return undefined;
    throw error;
  }
};
