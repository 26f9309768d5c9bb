// Marks a database file as restored in one transaction, before any service opens it.
import type { Database } from "bun:sqlite";
import { markingRestored } from "../sql/mark-restored.ts";
import { createSqlProgram } from "./sql-program.ts";

export const markRestored = (db: Database, at: { takenAtMs: number; nowMs: number }): void => {
  db.run("BEGIN IMMEDIATE");
  createSqlProgram(db)(markingRestored(at));
  db.run("COMMIT");
};
