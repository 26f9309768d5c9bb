// Reading a data directory without owning it: for commands that look, while the service runs or not.
import type { StoreReads } from "../store/store.ts";

/** Runs work over the facts of a data directory. @throws DirectoryUnusable when there is no database in it. */
export const withReads = async <T>(dir: string, work: (reads: StoreReads) => Promise<T>): Promise<T> => {
  const { openSqliteReads } = await import("../store/sqlite/reads.ts");
  const reads = await openSqliteReads(dir);
  try {
    return await work(reads);
  } finally {
    await reads.close();
  }
};
