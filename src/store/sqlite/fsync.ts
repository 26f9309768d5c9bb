// Makes files and directory entries durable.
import { closeSync, fsyncSync, openSync } from "node:fs";

/** Syncs a file or directory. */
export const syncPath = (path: string): void => {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};
