// A gate before the store's commits: while it is shut nothing is written, as on a disk that does not answer.
import type { Store } from "../../src/store/store.ts";

export type Gate = {
  /** For `HarnessOptions.around`. */
  around: (store: Store) => Store;
  shut(): void;
  open(): void;
  /** Commits that stand before the gate. */
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
