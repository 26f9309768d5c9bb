// Parts of the harness: where its providers are, what of its files is under way, and how many rows its tables have.
import { Database } from "bun:sqlite";
import { providerSetting } from "../src/config/schema.ts";
import type { JsonObject } from "../src/domain/types.ts";
import type { Files } from "../src/files/port.ts";
import type { Simulator } from "../src/simulator/simulator.ts";

/** The providers' addresses are the simulator's, and each has a key of its own. */
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
/** Files that are still being received; what was let go ends by itself, and nobody waits for it. */
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

/** Every table's row count, through a connection of its own. */
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
