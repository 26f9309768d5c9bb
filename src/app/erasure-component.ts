// Erasure of what a person wrote: on request, and by retention.
import { createOlderBackups } from "../backup/older-backups.ts";
import { createErase, type Erase } from "../generations/erase.ts";
import { createEraseExpired } from "../generations/erase-expired.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import type { Engine } from "./engine-types.ts";
import { createFileRemoval, type FileRemoval } from "./file-removal.ts";
import type { ComponentsDeps } from "./service-types.ts";

export type ErasureComponent = { erase: Erase; eraseExpired: () => Promise<void>; removal: FileRemoval };

export const createErasureComponent = async (
  { settings, clock, log, store, storage }: ComponentsDeps,
  { post }: Pick<Engine, "post">,
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
  return {
    erase: createErase({ reads: store, post, removeFiles: removal.remove, olderBackups, log, clock }),
    eraseExpired: createEraseExpired({ reads: store, post, service, clock, log }),
    removal,
  };
};
