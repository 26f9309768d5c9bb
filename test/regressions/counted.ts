// The length of a file by which the service may price it, as the format readers count it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../src/media/formats/inspect.ts";
import { inMemory } from "../media/formats/reader.ts";

/** Returns the length in ms if it may determine a price, `none` if it may not, and otherwise the reason for the rejection. */
export const lookAtLength = async (bytes: Uint8Array): Promise<number | string> => {
  try {
    const found = await inspect(inMemory(bytes), { signal: AbortSignal.timeout(10_000), depth: "counted" });
    return found.isUncounted ? "none" : (found.ms ?? "none");
  } catch (error) {
    return (error as Error).message;
  }
};

/** Reads a file of the committed corpus. */
export const kept = (name: string): Buffer => readFileSync(join(import.meta.dir, "../corpus/files", name));
