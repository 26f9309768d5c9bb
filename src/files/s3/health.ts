// Tracks whether the bucket is available, and when it may be retried.
//
// Changes are logged with a rate limit.
import type { Clock } from "../../domain/clock.ts";
import type { BucketError } from "./errors.ts";

/** Logs the events of this component; fields contain no URLs. */
export type ReportHealth = (
  event: "object storage unavailable" | "object storage access denied" | "object storage recovered" | "file not uploaded",
  fields: { error_code?: string; reason?: string; action?: string; generation_id?: string; count?: number },
) => void;

export interface BucketHealth {
  /** Records a failure that would affect the next file too. */
  failed(fault: BucketError): void;
  /** Records a success. */
  worked(): void;
  /** The fault that blocks all files; null while the bucket is available. */
  fault(): BucketError | null;
  /** Reports whether the bucket refused a request or failed twice; a single failed response is not significant. */
  isDown(): boolean;
  /** Earliest time of the next request; in the past while the bucket is available. */
  againAtMs(): number;
}

/** First and longest pause, ms. An unavailable bucket recovers by itself; a refusal is resolved by an operator. */
const PAUSES = { unavailable: [1_000, 30_000], refused: [30_000, 300_000], object: [1_000, 30_000] } as const;

const CORRECT_AND_RESTART =
  "correct the settings of s3, then genrouter config check, and restart; genrouter doctor says whether it answers";

/** A bucket that alternates between failure and success is logged once a minute. */
const REPORT_EVERY_MS = 60_000;

export type BucketHealthOptions = {
  clock: Pick<Clock, "nowMs">;
  /** Returns a random number in [0, 1). */
  chance: () => number;
  report: ReportHealth;
  /** The consequence of an unavailable bucket, as the second half of a sentence. */
  consequence: string;
  /** The trackers of the same bucket that have reported a fault. The last one that recovers reports that the bucket has recovered. */
  reportedFaults: Set<symbol>;
};

export const createBucketHealth = ({ clock, chance, report, consequence, reportedFaults }: BucketHealthOptions): BucketHealth => {
  const self = Symbol(consequence);
  let fault: BucketError | null = null;
  let times = 0;
  let againAtMs = 0;
  let reported: BucketError["kind"] | null = null;
  const isDown = () => fault !== null && (fault.kind === "refused" || times >= 2);
  const reportedAtMs: Partial<Record<BucketError["kind"], number>> = {};
  return {
    failed: (next) => {
      // Concurrent requests fail for the same reason, which counts once.
      if (fault?.kind === next.kind && clock.nowMs() < againAtMs) return;
      times = fault?.kind === next.kind ? times + 1 : 1;
      fault = next;
      const [first, longest] = PAUSES[next.kind];
      againAtMs = clock.nowMs() + Math.min(longest, first * 2 ** Math.min(times - 1, 20)) * (0.5 + chance() / 2);
      if (reported === next.kind || !isDown()) return;
      const sinceMs = clock.nowMs() - (reportedAtMs[next.kind] ?? Number.NEGATIVE_INFINITY);
      if (sinceMs >= 0 && sinceMs < REPORT_EVERY_MS) return;
      reported = next.kind;
      reportedFaults.add(self);
      reportedAtMs[next.kind] = clock.nowMs();
      const event = next.kind === "refused" ? "object storage access denied" : "object storage unavailable";
      const action = next.kind === "refused" ? { action: CORRECT_AND_RESTART } : {};
      report(event, { error_code: next.code, reason: `${next.message}; ${consequence}`, ...action });
    },
    worked: () => {
      fault = null;
      times = 0;
      againAtMs = 0;
      if (reportedFaults.delete(self) && reportedFaults.size === 0) report("object storage recovered", {});
      reported = null;
    },
    fault: () => fault,
    isDown,
    againAtMs: () => againAtMs,
  };
};
