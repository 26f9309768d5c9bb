// Audits clips: a provider receives only a clip of the measured length.
//
// A clip that changed between measurement and download ends its generation without a charge.
import type { GenerationRecord } from "../../domain/types.ts";
import type { PlannedRequest } from "./clients.ts";
import { type Clips, FRAME_MS, shownBy } from "./clips.ts";
import type { Upstream } from "./upstream.ts";

export const auditClip = (
  { clip, stored }: Pick<PlannedRequest, "clip" | "stored">,
  { id, status, attempts, error }: Pick<GenerationRecord, "id" | "status" | "attempts" | "error">,
  { upstream, clips }: { upstream: Pick<Upstream, "jobs">; clips: Clips },
): string[] => {
  if (clip === null || stored !== undefined) return [];
  const { measuredMs, fetchedMs, isStuck } = shownBy(clip);
  const isWithin = (ms: number) => Math.abs(ms - measuredMs) <= FRAME_MS;
  const mine = upstream.jobs.filter(({ ref }) => ref.startsWith(`${id.slice("gen_".length)}-`));
  /**
   * A copy may be deleted after its link was written into a request. The provider then receives no clip, but never another one.
   */
  const mayGet = ({ givenMs, composedAtMs }: (typeof mine)[number]) =>
    givenMs === undefined ? composedAtMs < (clips.lostAtMs.get(id) ?? 0) : givenMs !== null && isWithin(givenMs);
  const faults = mine.flatMap((job) =>
    mayGet(job) ? [] : [`${id}: ${job.jobId} was given a clip of ${job.givenMs} ms, and ${measuredMs} ms were measured`],
  );
  if ((!isWithin(fetchedMs) || isStuck) && (status !== "failed" || attempts > 0))
    faults.push(`${id}: ${status} after ${attempts} attempts, and its clip of ${measuredMs} ms was never to be had`);
  const isRefused = error?.code === "input_refused" && attempts === 0;
  if (isRefused && isWithin(fetchedMs) && !clips.refused.has(id))
    faults.push(`${id}: refused for its clip, which was as it was measured`);
  return faults;
};
