// State of a restored backup: since when its data is missing, and the routes used meanwhile.
import type { EffectsDeps } from "../effects/deps.ts";
import type { Log } from "../logging/events.ts";
import type { Routes } from "../routing/route-table.ts";
import type { StoreReads } from "../store/store.ts";

type Restored = Awaited<ReturnType<StoreReads["restored"]>>;

/** @param restored as the store returned it: null if it was never restored */
export const createRestoredState = (
  restored: Restored,
  store: Pick<StoreReads, "unfinished">,
  routes: Pick<Routes, "specOf">,
): EffectsDeps["restored"] => {
  if (restored === null) return null;
  return {
    ...restored,
    planOf: async (seq) => {
      const [found] = await store.unfinished(seq - 1, 1);
      return found?.seq === seq ? found.plan : [];
    },
    specOf: routes.specOf,
  };
};

/** Logged at each start until an operator has settled the gap. */
export const logRestoredState = (log: Log, restored: Restored): void => {
  if (restored === null || restored.isSettled) return;
  const taken = new Date(restored.takenAtMs).toISOString();
  log("restored backup", {
    reason: `taken ${taken}: in-flight attempts are confirmed with their provider before anything is submitted; later changes are not in the database`,
    action: `genrouter reconcile PROVIDER --since ${taken}, then genrouter backup settle --reason TEXT`,
  });
};
