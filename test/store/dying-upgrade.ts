// Runs the schema migrations of a database, and kills itself before the statement with the given number.
import type { Database } from "bun:sqlite";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { openWriter } from "../../src/store/sqlite/open.ts";

const [, , path = "", number = ""] = process.argv;
let left = Number(number);
const die = (): void => {
  left -= 1;
  if (left < 0) process.kill(process.pid, "SIGKILL");
};
const db = openWriter(path);
const run = db.run.bind(db);
const query = db.query.bind(db);
// Both methods by which the migration accesses the database.
db.run = ((...words: Parameters<Database["run"]>) => {
  die();
  return run(...words);
}) as Database["run"];
db.query = ((sql: string) => {
  die();
  return query(sql);
}) as Database["query"];
migrate(db, path, Date.now());
db.close();
