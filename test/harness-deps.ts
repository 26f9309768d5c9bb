// Parts of the harness: addresses of providers, files that are being received, and row counts.
import { Database } from "bun:sqlite";
import { providerSetting } from "../src/config/schema.ts";
import type { JsonObject } from "../src/domain/types.ts";
import type { Files } from "../src/files/port.ts";
import type { Simulator } from "../src/simulator/simulator.ts";

/** Settings that point each provider to the simulator, with one key for each. */
export const addressesOf = (
  { baseUrls }: Simulator,
  providers: readonly string[] = ["fal", "replicate"],
): Record<string, string> =>
  Object.fromEntries(
    providers.flatMap((id) => {
      const name = providerSetting(id);
      return [
        [`${name}__BASE_URL`, baseUrls[id] ?? ""],
        [`${name}__KEY`, `${id}-key`],
      ];
    }),
  );
/** Counts the files that are being received; a file that is kept or discarded does not count. */
export const watchFiles = (inner: Files) => {
  const incoming = new Set<object>();
  const files: Files = {
    ...inner,
    receive: async (id, n) => {
      const token = {};
      incoming.add(token);
      const over = () => void incoming.delete(token);
      const received = await inner.receive(id, n).catch((fault: unknown) => {
        over();
        throw fault;
      });
      return { ...received, keep: (file) => received.keep(file).finally(over), discard: () => received.discard().finally(over) };
    },
  };
  return { files, isIdle: () => incoming.size === 0 };
};

/** The row count of every table, read through a separate connection. */
export const countRows = (path: string): JsonObject => {
  const db = new Database(path, { readonly: true });
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  const counts = tables.map(({ name }) => [
    name,
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${name}"`).get()?.n ?? -1,
  ]);
  db.close();
  return Object.fromEntries(counts);
};
