// Makes the writing connection sync as with `synchronous = NORMAL`, after the service has opened it.
import { Database } from "bun:sqlite";

const prepare = Database.prototype.prepare;
Database.prototype.prepare = function (this: Database, ...words: Parameters<typeof prepare>) {
  // The first statement of a batch, prepared after the pragmas were set and asserted.
  if (words[0] === "BEGIN IMMEDIATE") this.run("PRAGMA synchronous = NORMAL");
  return prepare.apply(this, words);
} as typeof prepare;
