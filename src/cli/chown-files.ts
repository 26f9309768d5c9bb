// A command of root in somebody else's data directory: what it made there belongs to the owner of the directory afterwards.
import { lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Gives files of root, directly in a data directory of another user, to that user: the service could not open them. The log of
 * the database is no such file, SQLite gives it away itself.
 * @param uid whoever runs the command.
 */
export const handOver = (dir: string, uid: number | undefined = process.getuid?.()): void => {
  if (uid !== 0) return;
  // The data directory of a service may be a link to it.
  const owner = statSync(dir);
  if (owner.uid === 0) return;
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (lstatSync(path, { throwIfNoEntry: false })?.uid === 0) lchownSync(path, owner.uid, owner.gid);
  }
};
