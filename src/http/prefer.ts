// The preference `wait` of the header `Prefer` (RFC 7240): how long an answer may wait for the end of a generation.
import type { GenerationRecord } from "../domain/types.ts";
import type { WaitForEnd } from "../generations/waiters.ts";
import { addWaitedMs } from "./request-log-context.ts";

/** Maximum waiting time, s. */
const MAX_WAIT_S = 60;
const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** The preferred waiting time in seconds, at most MAX_WAIT_S; null without a valid preference, which is ignored. */
export const preferredWaitS = (request: Request): number | null => {
  const prefer = request.headers.get("prefer");
  if (prefer === null) return null;
  // Of a preference that is given twice, the first counts (RFC 7240, 2).
  for (const part of prefer.split(",")) {
    const [, seconds] = WAIT.exec(part) ?? [];
    if (seconds !== undefined) return Math.min(MAX_WAIT_S, Number(seconds));
  }
  return null;
};

export type WaitingDeps = {
  waitForEnd: WaitForEnd;
  /** Sets the idle timeout of a response that is not sent yet, s. */
  keepOpen: (request: Request, seconds: number) => void;
};

/** Waits for the end of a generation. @returns its latest record, and the headers of a preference that was honoured */
export const waitAsPreferred = async (
  { waitForEnd, keepOpen }: WaitingDeps,
  request: Request,
  record: GenerationRecord,
  waitS: number,
): Promise<{ record: GenerationRecord; headers: Record<string, string> }> => {
  keepOpen(request, waitS);
  const startedMs = performance.now();
  const { record: latest, isHonoured } = await waitForEnd(record, waitS * 1000, request.signal);
  addWaitedMs(request, performance.now() - startedMs);
  return { record: latest, headers: isHonoured ? { "preference-applied": `wait=${waitS}` } : {} };
};
