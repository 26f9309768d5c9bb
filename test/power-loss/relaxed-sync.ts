// Makes the connection that writes sync as `synchronous = NORMAL` does, after it was opened as the service opens it.
import { Database } from "bun:sqlite";

const prepare = Database.prototype.prepare;
Database.prototype.prepare = function (this: Database, ...words: Parameters<typeof prepare>) {
  // The first statement of the batches, made after the pragmas were set and asserted.
  if (words[0] === "BEGIN IMMEDIATE") this.run("PRAGMA synchronous = NORMAL");
  return prepare.apply(this, words);
} as typeof prepare;
