// Formats faults of a catalogue and of dialects, one line each with file and line.
import { CatalogueError } from "../../catalogue/load.ts";
import { withLine } from "../config/json-locations.ts";
import { DialectsError } from "../providers/dialect/load.ts";

/** The lines of a fault in files, and whether a later start may succeed; undefined for any other error. */
export const fileFaults = (fault: unknown): { lines: string[]; isPassing: boolean } | undefined =>
  fault instanceof CatalogueError || fault instanceof DialectsError
    ? { lines: fault.faults.map(withLine), isPassing: fault.isPassing }
    : undefined;
