// Checks database pages before the owner writes, while a fresh backup still exists.
import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { StoreDamaged } from "./errors.ts";
import { pragma } from "./open.ts";

/** A start checks files up to this size, which takes 30 ms. `genrouter verify` checks files of any size. */
const CHECKED_BYTES = 16 * 1024 * 1024;

/** @throws StoreDamaged for a corrupt page. */
export const requireNoCorruption = (db: Database, path: string): void => {
  if (path === ":memory:" || statSync(path).size > CHECKED_BYTES) return;
  const found = pragma(db, "quick_check(1)");
  if (found !== "ok")
    throw new StoreDamaged(`${path} is damaged (${found.replace(/\s+/g, " ")}): restore a backup; nothing was changed`);
};
