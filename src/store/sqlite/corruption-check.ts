// Looks at the pages of a database before its owner writes to it: damage is cheapest to find while a backup is fresh.
import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { StoreDamaged } from "./errors.ts";
import { pragma } from "./open.ts";

/** A look takes about a second for 200 MB, and a start must not take long: what is larger is left to `genrouter verify`. */
const CHECKED_BYTES = 64 * 1024 * 1024;

/** @throws StoreDamaged when a page of the file is not what it should be. */
export const insistOnSoundness = (db: Database, path: string): void => {
  if (path === ":memory:" || statSync(path).size > CHECKED_BYTES) return;
  const found = pragma(db, "quick_check(1)");
  if (found !== "ok")
    throw new StoreDamaged(`${path} is damaged (${found.replace(/\s+/g, " ")}): restore a backup; nothing was changed`);
};
