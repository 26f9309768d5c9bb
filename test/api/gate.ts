// A gate before the commits of a store: while it is shut, every commit waits, as on a hanging disk.
import type { Store } from "../../src/store/store.ts";

export type Gate = {
  /** For `HarnessOptions.around`. */
  around: (store: Store) => Store;
  shut(): void;
  open(): void;
  /** The number of commits that wait at the gate. */
  waiting(): number;
};

export const openGate = (): Gate => {
  let opening: { promise: Promise<void>; resolve: () => void } | null = null;
  let waiting = 0;
  return {
    around: (store) => ({
      ...store,
      commit: async (mutations) => {
        waiting += 1;
        await opening?.promise;
        waiting -= 1;
        return store.commit(mutations);
      },
    }),
    shut: () => {
      opening ??= Promise.withResolvers<void>();
    },
    open: () => {
      opening?.resolve();
      opening = null;
    },
    waiting: () => waiting,
  };
};
