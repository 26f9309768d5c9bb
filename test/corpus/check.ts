// Holds an inspection against the definition of length and size; and gives files to it whole or in ranges.
import { Unreadable } from "../../src/media/byte-source.ts";
import { type Inspection, inspect } from "../../src/media/formats/inspect.ts";
import { counted } from "../media/formats/reader.ts";
import type { Recipe } from "./recipe.ts";
import type { Reference } from "./reference.ts";

export type Checked = {
  name: string;
  /** What is wrong; empty when all is right. */
  faults: string[];
  found: Inspection | undefined;
  wantS: number | undefined;
  /** Reads and bytes of the file that it took by ranges. */
  reads: number;
  readBytes: number;
};

/** Sound that goes on this long after the picture is beyond the padding of its last frame. */
const PADDING_S = 0.1;
/** Results are whole milliseconds. */
const ROUNDING_S = 0.001;

/** The length of the whole, as the documented rule makes it of those of its tracks, and the frame within which it is good. */
export const lengthOf = ({ videoS, videoFrameS = 0, soundS, soundFrameS = 0 }: Reference): { wantS?: number; frameS: number } => {
  if (videoS === undefined) return soundS === undefined ? { frameS: 0 } : { wantS: soundS, frameS: soundFrameS };
  return (soundS ?? 0) > videoS + PADDING_S
    ? { wantS: soundS ?? 0, frameS: soundFrameS }
    : { wantS: videoS, frameS: videoFrameS };
};

const faultsOf = (found: Inspection, reference: Reference, recipe: Recipe, depth: "shallow" | "whole"): string[] => {
  const faults: string[] = [];
  const { wantS, frameS } = lengthOf(reference);
  if (!recipe.isCut && wantS === undefined && reference.width === undefined) faults.push("nothing is known of it");
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
    faults.push(`${depth}: says ${found.hasAudio ? "sound" : "no sound"}`);
  if (found.isComplete === (recipe.isCut ?? false) && (depth === "whole" || found.isComplete === false))
    faults.push(`${depth}: is said to be ${found.isComplete ? "complete" : "cut"}`);
  return faults;
};

/** Inspects a file from a disk and from a server with ranges, and holds both against the definition. */
export const check = async (recipe: Recipe, bytes: Uint8Array, reference: Reference): Promise<Checked> => {
  const faults: string[] = [];
  const all: (Inspection | undefined)[] = [];
  let [reads, readBytes] = [0, 0];
  for (const depth of ["whole", "shallow"] as const) {
    const file = counted(bytes);
    const found = await inspect(file, { signal: AbortSignal.timeout(20_000), depth }).catch((error: unknown) => {
      if (!(error instanceof Unreadable)) throw error;
      if (!recipe.isCut) faults.push(`${depth}: refused, ${error.message}`);
      return undefined;
    });
    if (found) faults.push(...faultsOf(found, reference, recipe, depth));
    all.push(found);
    [reads, readBytes] = [file.reads(), file.readBytes()];
  }
  const [whole, shallow] = all;
  // How long a moving picture runs is read of results alone, which lie on our disk.
  if (
    whole &&
    shallow &&
    whole.kind !== "image" &&
    Math.abs((whole.ms ?? 0) - (shallow.ms ?? 0)) > Math.max(1, whole.frameMs ?? 0)
  )
    faults.push(`${whole.ms} ms from a disk, ${shallow.ms} ms by ranges`);
  return { name: recipe.name, faults, found: whole, wantS: lengthOf(reference).wantS, reads, readBytes };
};
