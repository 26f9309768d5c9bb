// Erasure of what a person wrote: on request, and by retention.
import { createOlderBackups } from "../backup/older-backups.ts";
import type { AdminResult, EraseGeneration, Principal } from "../domain/mutations.ts";
import { createErase, type Erase } from "../generations/erase.ts";
import { createEraseExpired, type EraseExpired } from "../generations/erase-expired.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { Node } from "../store/cluster-port.ts";
import { LINEAGE, lineageFrom } from "../store/sqlite/database-id.ts";
import type { Engine } from "./engine-types.ts";
import { createFileRemoval, type FileRemoval } from "./file-removal.ts";
import type { ComponentsDeps } from "./service-types.ts";

export type ErasureComponent = {
  erase: Erase;
  expired: EraseExpired;
  removal: FileRemoval;
  /** Removes what erasures of this node have left in a shared store. It does nothing without an erasure since the last call. */
  vacuum: () => Promise<void>;
};

/** Notes erasures, and vacuums once for all of them. A former process may have ended before it did, so the first call vacuums. */
const createVacuum = (node: Pick<Node, "vacuumErased"> | null, { post }: Pick<Engine, "post">) => {
  let isDue = true;
  return {
    post: async (mutation: EraseGeneration & { by?: Principal }): Promise<AdminResult> => {
      const outcome = await post(mutation);
      isDue = true;
      return outcome;
    },
    vacuum: async (): Promise<void> => {
      if (!isDue || node === null) return;
      isDue = false;
      try {
        await node.vacuumErased();
      } catch (fault) {
        isDue = true;
        throw fault;
      }
    },
  };
};

export const createErasureComponent = async (
  { settings, clock, log, store, storage }: ComponentsDeps,
  engine: Pick<Engine, "post">,
  watch: CommitListener,
): Promise<ErasureComponent> => {
  const { post, vacuum } = createVacuum(store.node, engine);
  const { files, spool, outcomes, copies } = storage;
  const removal = createFileRemoval({ clock, store, files, spool, outcomes, copies, post: engine.post });
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
    ...{ removal, vacuum },
  };
};
