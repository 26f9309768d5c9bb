// How it stands with the bucket: away or not, told when it changes but not all the time, and when it is to be asked again.
import type { Clock } from "../../domain/clock.ts";
import type { BucketFault } from "./errors.ts";

/** How the service hears of it; the words of its events, without any address. */
export type ReportHealth = (
  event: "object storage unavailable" | "object storage access denied" | "object storage recovered" | "file not uploaded",
  fields: { error_code?: string; reason?: string; action?: string; generation_id?: string; count?: number },
) => void;

export interface BucketHealth {
  /** Something failed in a way that the next file would, too. */
  failed(fault: BucketFault): void;
  /** Something worked. */
  worked(): void;
  /** The fault that keeps everything waiting; null while it works. */
  fault(): BucketFault | null;
  /** Whether it has said no, or did not answer twice: one failure of a service says nothing. */
  isDown(): boolean;
  /** From when on it may be asked; in the past while it works. */
  againAtMs(): number;
}

/** First pause and longest, ms: somebody who is away comes back by himself, a no is taken back by a person. */
const PAUSES = { away: [1_000, 30_000], refused: [30_000, 300_000], object: [1_000, 30_000] } as const;

const CORRECT_AND_RESTART =
  "correct the settings of s3, then genrouter config check, and restart; genrouter doctor says whether it answers";

/** A bucket that works by halves goes and comes at every file: that is told once in a minute. */
const TOLD_EVERY_MS = 60_000;

export type BucketHealthOptions = {
  clock: Pick<Clock, "nowMs">;
  /** A number in [0, 1). */
  chance: () => number;
  tell: ReportHealth;
  /** What it means that the bucket cannot be had, the second half of a sentence. */
  consequence: string;
};

export const createBucketHealth = ({ clock, chance, tell, consequence }: BucketHealthOptions): BucketHealth => {
  let fault: BucketFault | null = null;
  let times = 0;
  let againAtMs = 0;
  let told: BucketFault["kind"] | null = null;
  const isDown = () => fault !== null && (fault.kind === "refused" || times >= 2);
  const toldAtMs: Partial<Record<BucketFault["kind"], number>> = {};
  return {
    failed: (next) => {
      // Several that were under way fail of one and the same: it counts once.
      if (fault?.kind === next.kind && clock.nowMs() < againAtMs) return;
      times = fault?.kind === next.kind ? times + 1 : 1;
      fault = next;
      const [first, longest] = PAUSES[next.kind];
      againAtMs = clock.nowMs() + Math.min(longest, first * 2 ** Math.min(times - 1, 20)) * (0.5 + chance() / 2);
      if (told === next.kind || !isDown()) return;
      const sinceMs = clock.nowMs() - (toldAtMs[next.kind] ?? Number.NEGATIVE_INFINITY);
      if (sinceMs >= 0 && sinceMs < TOLD_EVERY_MS) return;
      told = next.kind;
      toldAtMs[next.kind] = clock.nowMs();
      const event = next.kind === "refused" ? "object storage access denied" : "object storage unavailable";
      const action = next.kind === "refused" ? { action: CORRECT_AND_RESTART } : {};
      tell(event, { error_code: next.code, reason: `${next.message}; ${consequence}`, ...action });
    },
    worked: () => {
      fault = null;
      times = 0;
      againAtMs = 0;
      if (told !== null) tell("object storage recovered", {});
      told = null;
    },
    fault: () => fault,
    isDown,
    againAtMs: () => againAtMs,
  };
};
