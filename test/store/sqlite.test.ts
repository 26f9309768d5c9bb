// The store contract over SQLite: in memory in one thread, and in a directory with the writing thread.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformance } from "./conformance.ts";
import { openDirectory, openHere } from "./open-store.ts";

conformance("SQLite in memory", () => openHere({ path: ":memory:", mode: "test" }));

conformance("SQLite in a directory", async () => {
  const dir = mkdtempSync(join(tmpdir(), "store-"));
  const store = await openDirectory({ dir, mode: "test" });
  return {
    ...store,
    close: async () => {
      await store.close();
      rmSync(dir, { recursive: true });
    },
  };
});
