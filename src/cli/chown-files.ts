// Gives files that root created in a data directory to the directory's owner.
import { lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Changes the owner of root's files directly in the data directory of another user, because the service could not open them. The
 * write-ahead log is excluded, because SQLite itself sets its owner.
 * @param uid user who runs the command.
 */
export const chownTree = (dir: string, uid: number | undefined = process.getuid?.()): void => {
  if (uid !== 0) return;
  // The path of the data directory may be a symbolic link.
  const owner = statSync(dir);
  if (owner.uid === 0) return;
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (lstatSync(path, { throwIfNoEntry: false })?.uid === 0) lchownSync(path, owner.uid, owner.gid);
  }
};
