// Audits erasures: an answered one is on disk, no text is left or comes back, and no later answer shows the generation as it was.
import type { GenerationRecord } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";
import type { ClientLog } from "./clients.ts";
import type { CoverageCounters } from "./coverage-counters.ts";

export type ErasureEvidence = {
  notebook: Pick<ClientLog, "erasures" | "seen">;
  reads: Pick<StoreReads, "attemptsOf" | "inputOf">;
  situations: CoverageCounters;
};

/** What is left of a text although the generation is erased. */
const auditTexts = async ({ id, seq }: GenerationRecord, { reads, situations }: ErasureEvidence): Promise<string[]> => {
  const attempts = await reads.attemptsOf(seq);
  if (attempts.some(({ state }) => state === "late")) situations.count("erasedLate");
  const faults = Object.keys((await reads.inputOf(seq))?.raw ?? { none: "" }).map(() => `${id}: erased, and its input is stored`);
  for (const { ref, request, results } of attempts)
    if (results !== null || (request !== null && request !== ""))
      faults.push(`${ref}: erased, and its request or result is stored`);
  return faults;
};

export const auditErasures = async (
  evidence: ErasureEvidence,
  ends: ReadonlyMap<string, GenerationRecord>,
): Promise<string[]> => {
  const { notebook, situations } = evidence;
  const faults: string[] = [];
  for (const { id, receivedAtMs, outcome } of notebook.erasures) {
    const end = ends.get(id);
    if (outcome === "refused") situations.count("erasuresRefused");
    if (outcome !== "done") continue;
    situations.count("erased");
    if (!end || end.erasedAtMs === null) {
      faults.push(`${id}: its erasure was acknowledged, and is not on disk`);
      continue;
    }
    for (const { requestedAtMs, record } of notebook.seen.get(id) ?? [])
      if (requestedAtMs > receivedAtMs && record.erasedAtMs === null) faults.push(`${id}: shown as before its erasure`);
  }
  for (const end of ends.values()) {
    if (end.erasedAtMs === null) continue;
    if (!notebook.erasures.some(({ id }) => id === end.id)) faults.push(`${end.id}: erased, and no client had requested it`);
    faults.push(...(await auditTexts(end, evidence)));
  }
  return faults;
};
