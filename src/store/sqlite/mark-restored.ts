// Marks the file of a database as an old state of itself, in one transaction, before any service opens it.
import type { Database } from "bun:sqlite";
import { markingRestored } from "../sql/mark-restored.ts";
import { createSqlProgram } from "./sql-program.ts";

export const markRestored = (db: Database, at: { takenAtMs: number; nowMs: number }): void => {
  db.run("BEGIN IMMEDIATE");
  createSqlProgram(db)(markingRestored(at));
  db.run("COMMIT");
};
