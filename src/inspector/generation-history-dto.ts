// Types of the replay page, shared by server and browser.
import type { Replayed } from "../../actors/replay/replay.ts";
import type { GenerationRecord, JsonObject } from "../domain/types.ts";

/** Response of `GET /inspector/api/generations/:id`. */
export type GenerationHistoryDto = {
  generation: Pick<
    GenerationRecord,
    "id" | "model" | "status" | "createdAtMs" | "completedAtMs" | "quotedCredits" | "reservedCredits" | "costCredits"
  >;
  /** Null for users of the account itself. */
  accountId: string | null;
  /** Input of the generation; null if prompts are not shown. */
  input: JsonObject | null;
  /** Input of the replay in the page. */
  given: Omit<Replayed, "routeName">;
};
