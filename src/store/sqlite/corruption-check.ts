// Checks database pages before the owner writes, while a fresh backup still exists.
import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { StoreDamaged } from "./errors.ts";
import { pragma } from "./open.ts";

/** Maximum size of a check at a start, which takes about a second for 200 MB; `genrouter verify` checks larger files. */
const CHECKED_BYTES = 64 * 1024 * 1024;

/** @throws StoreDamaged for a corrupt page. */
export const requireNoCorruption = (db: Database, path: string): void => {
  if (path === ":memory:" || statSync(path).size > CHECKED_BYTES) return;
  const found = pragma(db, "quick_check(1)");
  if (found !== "ok")
    throw new StoreDamaged(`${path} is damaged (${found.replace(/\s+/g, " ")}): restore a backup; nothing was changed`);
};
