// Archives of a PostgreSQL database, in a directory and in a bucket: the same tests as over SQLite.
import { afterAll, describe } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { dropDirs } from "../cli/fresh-dir.ts";
import { freshDatabase, onPostgres } from "../postgres/databases.ts";
import { keepsBooksInBucket, useBucket } from "./bucket-books.ts";
import { type Books, fill } from "./fixture.ts";
import { keepsBooks } from "./kept-books.ts";

afterAll(dropDirs);
const sharedBooks = async (): Promise<Books> => {
  const database = await freshDatabase();
  const address = { url: database.url, prepare: true };
  const store = await openPostgresStore({ ...address, mode: "test", readers: 2 });
  const drop = async (): Promise<void> => {
    await store.close();
    database.drop();
  };
  return { store, place: address, ...(await fill(store)), drop };
};

onPostgres("PostgreSQL", () => {
  describe("in a directory", () => keepsBooks(sharedBooks));
  describe("in a bucket", () => {
    useBucket();
    keepsBooksInBucket(sharedBooks);
  });
});
