// The store contract over PostgreSQL.
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { freshDatabase, onPostgres } from "../postgres/databases.ts";
import { conformance } from "./conformance.ts";

onPostgres("the store contract over PostgreSQL", () => {
  conformance("PostgreSQL", async () => {
    const database = await freshDatabase();
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test", readers: 2 });
    return { ...store, close: () => store.close().finally(database.drop) };
  });
});
