// Progress of a generation: elapsed and expected time, the route that is tried, and what failed before.
import type { VNode } from "preact";
import type { GenerationDetail, GenerationDto } from "../../../src/console/generations-dto.ts";
import { useNow } from "../../components/use-now.ts";
import { words } from "../../words/console-words.ts";
import { waited } from "../format.ts";

/** The bar never says that the work is done before it is. */
const MOST_PERCENT = 95;

/** Whole seconds, so that the text changes calmly. */
const clock = (ms: number): string => waited(Math.max(1000, Math.round(ms / 1000) * 1000));

/** Approaches the end: half after half of the expected time, and slower when that has passed. */
export const percentOf = (elapsedMs: number, expectedMs: number): number => {
  const part = elapsedMs / expectedMs;
  return Math.min(MOST_PERCENT, Math.round(100 * (part < 0.8 ? part : 1 - 0.2 * Math.exp(-(part - 0.8) / 0.5))));
};

const lastFailure = (of: GenerationDto | GenerationDetail): string | null => {
  if (!("timeline" in of)) return null;
  return of.timeline.findLast(({ outcome, why }) => outcome === "bad" && why !== null)?.why ?? null;
};

type Props = {
  of: GenerationDto | GenerationDetail;
  expectedS: number | null;
  /** By the clock of the browser, which may differ from that of the service. */
  submittedAtMs: number;
};

export const Progress = ({ of, expectedS, submittedAtMs }: Props): VNode => {
  const nowMs = useNow(of.completedAtMs === null);
  const elapsedMs = Math.max(0, nowMs - submittedAtMs);
  const { playground } = words;
  const why = lastFailure(of);
  const text =
    of.status === "queued"
      ? playground.queued
      : expectedS === null
        ? playground.runningUnknown(clock(elapsedMs))
        : playground.running(clock(elapsedMs), clock(expectedS * 1000));
  return (
    <div class="progress">
      <progress
        max={100}
        value={expectedS === null ? undefined : percentOf(elapsedMs, expectedS * 1000)}
        aria-label={playground.progress}
      />
      <p>
        {text} {of.attempts > 1 && playground.onRoute(of.attempts)}
      </p>
      {(of.message ?? why) !== null && <p class="muted">{of.message ?? playground.before(why ?? "")}</p>}
    </div>
  );
};
