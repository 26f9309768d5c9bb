// Serves `GET /inspector/api/generations/:id`: the redacted history of a generation.
import { refuse } from "../domain/api-errors.ts";
import type { StoreReads } from "../store/store.ts";
import { readGenerationHistory } from "./generation-history.ts";
import type { GenerationHistoryDto } from "./generation-history-dto.ts";
import { redactHistory, type ViewerRole } from "./redaction.ts";

export type ReplayDeps = { store: StoreReads; collectMs: number };
/** Operators and viewers may read every generation, members those of their account. */
export type Asker = { onlooker: Exclude<ViewerRole, "member"> } | { onlooker: "member"; accountSeq: number | null };

/** @throws ApiError (not_found), also for a generation of another account, so that its existence is not revealed. */
export const replayOf = async ({ store, collectMs }: ReplayDeps, id: string, asker: Asker): Promise<GenerationHistoryDto> => {
  const life = await readGenerationHistory(store, id, collectMs);
  if (!life || (asker.onlooker === "member" && life.record.accountSeq !== asker.accountSeq))
    return refuse("not_found", "No generation with this id exists.");
  const isShownInput = asker.onlooker === "prompts" || asker.onlooker === "everything";
  const input = isShownInput ? await store.inputOf(life.record.seq) : undefined;
  return redactHistory(life, asker.onlooker, input?.raw ?? null);
};
