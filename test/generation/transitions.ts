// Recognizes transitions by their events, for tests that act at the commit of one.
import type { Mutation } from "../../src/domain/mutations.ts";
import { appliedEvents } from "../../src/domain/transition.ts";

/** Whether one of these mutations is a transition with an event of this type. */
export const someApply = (mutations: readonly Mutation[], type: string | undefined): boolean =>
  mutations.some((mutation) => mutation.mutation === "step" && appliedEvents(mutation).some(({ event }) => event.type === type));
