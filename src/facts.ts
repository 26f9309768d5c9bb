// What a deed on disk means for whoever counts and traces: how attempts ended, which routes were passed over, what was added.
import type { Attempts } from "./attempts.ts";
import type { AttemptChange, CreditDeed, MarkAttemptDeed, StepDeed } from "./deeds.ts";
import type { Log } from "./events.ts";
import { openMismatchRate } from "./mismatches.ts";
import { type Mismatch, type Odd, tellMismatch } from "./ordered.ts";
import type { StoreReads } from "./store/store.ts";
import type { Attempt, AttemptState, GenerationRecord } from "./terms.ts";

export type FactsParts = {
  log: Log;
  attempts: Pick<Attempts, "find">;
  reads: Pick<StoreReads, "generationBySeq" | "findGeneration">;
};

/** How an end is told; what is not here is no end. An attempt given up as lost or timed out that delivers after all ends again. */
const OUTCOMES: Readonly<Partial<Record<AttemptState, string>>> = {
  delivered: "delivered",
  rejected: "failed",
  absent: "failed",
  failed: "failed",
  lost: "lost",
  capped: "timeout",
  cancelled: "cancelled",
  superseded: "superseded",
  late: "late",
  mismatched: "mismatched",
};

const outcomeOf = ({ state, failure }: AttemptChange): string | undefined => {
  // The input is at fault, not the route.
  if ((state === "rejected" || state === "failed") && failure?.class === "refused_input") return "refused";
  return state && OUTCOMES[state];
};

export const openFacts = ({ log, attempts, reads }: FactsParts) => {
  const tell = (record: GenerationRecord, change: AttemptChange, outcome: string, atMs: number, attempt: Attempt | undefined) => {
    if (!attempt) return;
    const { sentAtMs, route, priceCredits } = attempt;
    const endedMs = change.endedAtMs ?? atMs;
    log("attempt ended", {
      generation_id: record.id,
      request_id: record.requestId,
      model: record.model,
      attempt: change.n,
      route_id: route.routeId,
      provider: route.provider,
      outcome,
      credits: outcome === "delivered" ? priceCredits : 0,
      started_ms: sentAtMs ?? endedMs,
      ...(sentAtMs === null ? {} : { dur_ms: Math.max(0, endedMs - sentAtMs) }),
      ...(change.failure ? { error_code: change.failure.class } : {}),
    });
    if (outcome === "delivered" || outcome === "superseded" || outcome === "late") return;
    // Its class alone: what a provider says may repeat the prompt.
    const names = { generation_id: record.id, request_id: record.requestId, attempt: change.n, route_id: route.routeId };
    log("attempt failed", { ...names, outcome, ...(change.failure ? { error_code: change.failure.class } : {}) });
  };
  const failed = (fault: unknown) =>
    log("effect failed", { event: "counting", reason: fault instanceof Error ? fault.message : String(fault) });

  /** Its provider may have a job of it, and said nothing that can be told from that: the generation waits until it is known. */
  const tellUnclear = ({ id, requestId, model }: GenerationRecord, n: number, event: StepDeed["event"], attempt?: Attempt) => {
    if (!attempt) return;
    const { routeId, provider } = attempt.route;
    // Of a provider's words only the status: they may repeat the prompt.
    const [status] = /^\d{3}(?=:|$)/.exec(String(event.detail ?? "")) ?? [];
    const why = event.type === "interrupted" ? "the process ended while the request may have been out" : "its answer was lost";
    const names = { generation_id: id, request_id: requestId, attempt: n, model, route_id: routeId, provider };
    log("attempt unclear", { ...names, outcome: "unclear", reason: status ? `answered ${status}` : why });
  };

  const rateOf = openMismatchRate();
  /** Whether an account's orders often come as something else. */
  const countRate = ({ id, accountSeq }: GenerationRecord, came: "mismatched" | "delivered", atMs: number): void => {
    const rate = rateOf(accountSeq, came, atMs);
    if (rate === undefined) return;
    reads.findGeneration(id).then((found) => {
      const reason = `${rate.mismatched} of ${rate.of} results of the last hour were not what was ordered`;
      if (found) log("account mismatches", { account_id: found.accountId, count: rate.mismatched, reason });
    }, failed);
  };

  /** What came, where it is not what was ordered, or odd. */
  const tellDelivery = ({ event, atMs }: StepDeed, record: GenerationRecord): void => {
    const { id, requestId, model } = record;
    const names = { generation_id: id, request_id: requestId, attempt: Number(event.n), model };
    if (event.type === "mismatched") {
      countRate(record, "mismatched", atMs);
      log("attempt mismatched", { ...names, reason: tellMismatch(event.mismatch as unknown as Mismatch) });
    }
    if (event.type !== "collected") return;
    countRate(record, "delivered", atMs);
    const { fewer, longer, unmeasured } = (event.odd ?? {}) as Odd;
    if (fewer) log("fewer files delivered", { ...names, count: fewer.came, reason: `${fewer.promised} were promised` });
    if (longer)
      log("longer than billed", { ...names, reason: `${longer.cameMs / 1000} s came, ${longer.orderedMs / 1000} s are billed` });
    if (unmeasured) log("length not measured", names);
  };

  return {
    /** Before the attempts in memory are brought up to the step. */
    stepped: (deed: StepDeed, record: GenerationRecord): void => {
      const { attemptChanges, atMs, event, seq } = deed;
      tellDelivery(deed, record);
      if ((event.type === "begun" || event.type === "skipped") && Array.isArray(event.passed))
        for (const passed of event.passed)
          log("route skipped", {
            model: record.model,
            route_id: String((passed as { routeId?: string }).routeId),
            outcome: "skipped_down",
          });
      if (event.type === "answerLost" || event.type === "interrupted") {
        const n = Number(event.n);
        attempts.find(seq, n).then((attempt) => tellUnclear(record, n, event, attempt), failed);
      }
      for (const change of attemptChanges) {
        const outcome = outcomeOf(change);
        if (outcome === undefined) continue;
        attempts.find(seq, change.n).then((attempt) => tell(record, change, outcome, atMs, attempt), failed);
      }
    },
    /** An attempt of a generation that has ended. */
    marked: ({ seq, change, atMs }: MarkAttemptDeed): void => {
      const outcome = outcomeOf(change);
      if (outcome === undefined) return;
      Promise.all([reads.generationBySeq(seq), attempts.find(seq, change.n)]).then(([record, attempt]) => {
        if (record) tell(record, change, outcome, atMs, attempt);
      }, failed);
    },
    /** @param moved what an account has more, or less, than before */
    credited: (kind: CreditDeed["kind"], moved: number): void => {
      if (moved !== 0) log("credits added", { source: kind, credits: moved });
    },
    /** A generation has ended. */
    ended: (record: GenerationRecord): void => {
      const { completedAtMs, createdAtMs, reservedCredits, costCredits } = record;
      log("generation ended", {
        generation_id: record.id,
        request_id: record.requestId,
        model: record.model,
        state: record.status,
        started_ms: createdAtMs,
        dur_ms: Math.max(0, (completedAtMs ?? createdAtMs) - createdAtMs),
        count: record.attempts,
        credits: costCredits ?? 0,
        released_credits: reservedCredits - (costCredits ?? 0),
        ...(record.error ? { error_code: record.error.code } : {}),
      });
    },
  };
};
export type Facts = ReturnType<typeof openFacts>;
