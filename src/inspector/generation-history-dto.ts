// What the replay page is told of a generation: types alone, so that the browser may have them too.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { GenerationRecord, JsonObject } from "../domain/types.ts";

/** The answer of `GET /inspector/api/generations/:id`. */
export type GenerationHistoryDto = {
  generation: Pick<
    GenerationRecord,
    "id" | "model" | "status" | "createdAtMs" | "completedAtMs" | "quotedCredits" | "reservedCredits" | "costCredits"
  >;
  /** Null for the account's own people. */
  accountId: string | null;
  /** What was asked for; null where prompts are not shown. */
  input: JsonObject | null;
  /** What the machine in the page is run over. */
  given: Omit<Replayed, "routeName">;
};
