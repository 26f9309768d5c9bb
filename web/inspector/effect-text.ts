// An effect of a statechart in words.
import type { Effect } from "../../actors/generation/types.ts";
import { words } from "../words/inspector-words.ts";
import { effectName } from "./format.ts";

/** `poll (attempt 2)` */
export const effectText = (effect: Effect): string =>
  "n" in effect ? `${effectName(effect)} (${words.inspector.step.attempt(effect.n)})` : effectName(effect);
