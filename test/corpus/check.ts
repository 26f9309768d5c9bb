// Compares the inspection of a file, whole and by ranges, with the reference length and size.
import { Unreadable } from "../../src/media/byte-source.ts";
import { type Inspection, inspect } from "../../src/media/formats/inspect.ts";
import { counted } from "../media/formats/reader.ts";
import type { Recipe } from "./recipe.ts";
import type { Reference } from "./reference.ts";

export type Checked = {
  name: string;
  /** Differences from the reference; empty if there are none. */
  faults: string[];
  found: Inspection | undefined;
  wantS: number | undefined;
  /** Number and total bytes of the range reads. */
  reads: number;
  readBytes: number;
};

/** Audio that ends later than this after the video is longer than the padding of its last frame. */
const PADDING_S = 0.1;
/** Results are in whole milliseconds. */
const ROUNDING_S = 0.001;

/** The length by the documented rule from the lengths of the tracks, and its tolerance of one frame. */
export const lengthOf = ({ videoS, videoFrameS = 0, soundS, soundFrameS = 0 }: Reference): { wantS?: number; frameS: number } => {
  if (videoS === undefined) return soundS === undefined ? { frameS: 0 } : { wantS: soundS, frameS: soundFrameS };
  return (soundS ?? 0) > videoS + PADDING_S
    ? { wantS: soundS ?? 0, frameS: soundFrameS }
    : { wantS: videoS, frameS: videoFrameS };
};

const faultsOf = (found: Inspection, reference: Reference, recipe: Recipe, depth: "shallow" | "whole"): string[] => {
  const faults: string[] = [];
  const { wantS, frameS } = lengthOf(reference);
  if (!recipe.isCut && wantS === undefined && reference.width === undefined) faults.push("has no reference values");
  const gotS = (found.ms ?? 0) / 1000;
  if (found.kind !== "image" && wantS !== undefined && Math.abs(gotS - wantS) > frameS * (recipe.chained ?? 1) + ROUNDING_S)
    faults.push(`${depth}: ${gotS} s instead of ${wantS.toFixed(3)} s`);
  const { width, height } = reference;
  if (found.kind !== "audio" && width !== undefined && (found.width !== width || found.height !== height))
    faults.push(`${depth}: ${found.width}×${found.height} instead of ${width}×${height}`);
  if (
    !recipe.isCut &&
    found.kind !== "audio" &&
    found.hasAudio !== undefined &&
    found.hasAudio !== (reference.soundS !== undefined)
  )
    faults.push(`${depth}: reports ${found.hasAudio ? "sound" : "no sound"}`);
  if (found.isComplete === (recipe.isCut ?? false) && (depth === "whole" || found.isComplete === false))
    faults.push(`${depth}: is reported as ${found.isComplete ? "complete" : "cut"}`);
  return faults;
};

/** Inspects a file whole and by ranges, and compares both inspections with the reference. */
export const check = async (recipe: Recipe, bytes: Uint8Array, reference: Reference): Promise<Checked> => {
  const faults: string[] = [];
  const all: (Inspection | undefined)[] = [];
  let [reads, readBytes] = [0, 0];
  for (const depth of ["whole", "shallow"] as const) {
    const file = counted(bytes);
    const found = await inspect(file, { signal: AbortSignal.timeout(20_000), depth }).catch((error: unknown) => {
      if (!(error instanceof Unreadable)) throw error;
      if (!recipe.isCut) faults.push(`${depth}: rejected, ${error.message}`);
      return undefined;
    });
    if (found) faults.push(...faultsOf(found, reference, recipe, depth));
    all.push(found);
    [reads, readBytes] = [file.reads(), file.readBytes()];
  }
  const [whole, shallow] = all;
  // The duration of an animated image is read only from results, which are on local disk.
  if (
    whole &&
    shallow &&
    whole.kind !== "image" &&
    Math.abs((whole.ms ?? 0) - (shallow.ms ?? 0)) > Math.max(1, whole.frameMs ?? 0)
  )
    faults.push(`${whole.ms} ms from a disk, ${shallow.ms} ms by ranges`);
  return { name: recipe.name, faults, found: whole, wantS: lengthOf(reference).wantS, reads, readBytes };
};
