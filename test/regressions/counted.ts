// What a price may follow of a file: its length as the readers count it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../src/media/formats/inspect.ts";
import { inMemory } from "../media/formats/reader.ts";

/** Milliseconds where a price may follow them; `none` where it may not; else why the file is refused. */
export const lookAtLength = async (bytes: Uint8Array): Promise<number | string> => {
  try {
    const found = await inspect(inMemory(bytes), { signal: AbortSignal.timeout(10_000), depth: "counted" });
    return found.isUncounted ? "none" : (found.ms ?? "none");
  } catch (error) {
    return (error as Error).message;
  }
};

/** A file of the corpus that is committed. */
export const kept = (name: string): Buffer => readFileSync(join(import.meta.dir, "../corpus/files", name));
