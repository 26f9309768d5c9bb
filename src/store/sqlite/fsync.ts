// Makes files and names durable: what is not synced may be gone with the power.
import { closeSync, fsyncSync, openSync } from "node:fs";

/** Makes what is in a file or directory durable. */
export const syncPath = (path: string): void => {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};
