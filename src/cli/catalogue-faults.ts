// Faults of a catalogue and of dialects, each as one line with the file and the line it is in.
import { CatalogueFault } from "../../catalogue/load.ts";
import { withLine } from "../config/json-locations.ts";
import { DialectsFault } from "../providers/dialect/load.ts";

/** The lines of a fault of somebody's files, and whether a later start may read them; undefined for any other fault. */
export const fileFaults = (fault: unknown): { lines: string[]; isPassing: boolean } | undefined =>
  fault instanceof CatalogueFault || fault instanceof DialectsFault
    ? { lines: fault.faults.map(withLine), isPassing: fault.isPassing }
    : undefined;
