// Erasure of what a person wrote: on request, and by retention.
import { createOlderBackups } from "../backup/older-backups.ts";
import { createErase, type Erase } from "../generations/erase.ts";
import { createEraseExpired, type EraseExpired } from "../generations/erase-expired.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import type { Engine } from "./engine-types.ts";
import { createFileRemoval, type FileRemoval } from "./file-removal.ts";
import type { ComponentsDeps } from "./service-types.ts";

export type ErasureComponent = { erase: Erase; expired: EraseExpired; removal: FileRemoval };

export const createErasureComponent = async (
  { settings, clock, log, store, storage }: ComponentsDeps,
  { post }: Pick<Engine, "post">,
  watch: CommitListener,
): Promise<ErasureComponent> => {
  const { files, spool, outcomes, copies } = storage;
  const removal = createFileRemoval({ clock, store, files, spool, outcomes, copies, post });
  const olderBackups = createOlderBackups({
    dataDir: settings.data.dir,
    backup: settings.backup,
    lineage: lineageFrom(await store.secret(LINEAGE)),
    nowMs: clock.nowMs,
  });
  const service = settings.limits.prompt_retention_s ?? "forever";
  const expired = createEraseExpired({ reads: store, post, service, clock, log, watch, soon: setImmediate });
  await expired.refresh();
  return {
    erase: createErase({ reads: store, post, removeFiles: removal.remove, olderBackups, log, clock }),
    expired,
    removal,
  };
};
