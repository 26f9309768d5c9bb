// Attempt events: logs what committed mutations mean for metrics and traces.
//
// These are ends of attempts, skipped routes, mismatches and added credits.
import type { Catalogue } from "../../catalogue/load.ts";
import { ClockCache } from "../collections/clock-cache.ts";
import { describeMismatch, type Mismatch, type Odd } from "../domain/delivery-check.ts";
import type { AdjustBalance, MarkAttempt } from "../domain/mutations.ts";
import { type ApplyTransition, type AttemptChange, appliedEvents } from "../domain/transition.ts";
import type { Attempt, AttemptState, GenerationRecord } from "../domain/types.ts";
import type { Log } from "../logging/events.ts";
import { providerCost } from "../quote/cost.ts";
import type { StoreReads } from "../store/store.ts";
import { createMismatchMonitor } from "./mismatch-monitor.ts";

export type AttemptEventsDeps = {
  log: Log;
  attempts: { find(seq: number, n: number): Promise<Attempt | undefined> };
  reads: Pick<StoreReads, "generationBySeq" | "findGeneration" | "inputOf">;
  catalogue: () => Pick<Catalogue, "route">;
};

/**
 * Attempt state → outcome; a state that is absent here is not an end. A lost or capped attempt that delivers later ends a second
 * time.
 */
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

/**
 * Outcomes for which a provider bills regardless of the generation's result. For the others the bill is unknown, see `genrouter
 * orphans`.
 */
const PAID: ReadonlySet<string> = new Set(["delivered", "late", "mismatched"]);
const isPaid = (outcome: string, { failure }: AttemptChange): boolean =>
  PAID.has(outcome) ||
  failure?.isBilled === true ||
  failure?.class === "result_unreadable" ||
  failure?.class === "result_expired";

/** The most attempts in each cache. Generations usually end shortly after a delivery. */
const MAX_KEPT = 1_000;
/** The most accounts whose ids are kept. */
const MAX_ACCOUNTS = 8_192;

const outcomeOf = ({ state, failure }: AttemptChange): string | undefined => {
  // The input is at fault, not the route.
  if ((state === "rejected" || state === "failed") && failure?.class === "refused_input") return "refused";
  return state && OUTCOMES[state];
};

export const createAttemptEvents = ({ log, attempts, reads, catalogue }: AttemptEventsDeps) => {
  /** The attempt that delivered, by the generation's row. The end of the generation usually follows immediately. */
  const deliveredBy = new ClockCache<number, { attempt: Promise<Attempt | undefined> }>(MAX_KEPT);
  const accountOf = new ClockCache<number, { id: string }>(MAX_ACCOUNTS);
  const costs = new ClockCache<string, Promise<number>>(MAX_KEPT);

  const readCost = async ({ seq, route, priceCredits }: Attempt): Promise<number> => {
    const known = catalogue().route(route.routeId);
    if (!known || known.route.cost.length === 0) return priceCredits;
    const { filled = {} } = (await reads.inputOf(seq)) ?? {};
    return providerCost(known.model, route.routeId, filled, priceCredits);
  };
  /** The provider's cost of the attempt. It is logged for the attempt and for its generation. */
  const costOf = (attempt: Attempt): Promise<number> => {
    const known = costs.get(attempt.ref);
    if (known) return known;
    const cost = readCost(attempt);
    costs.set(attempt.ref, cost);
    return cost;
  };
  const accountIdOf = async ({ id, accountSeq }: GenerationRecord): Promise<string | undefined> => {
    const kept = accountOf.get(accountSeq);
    if (kept) return kept.id;
    const found = await reads.findGeneration(id);
    if (found) accountOf.set(accountSeq, { id: found.accountId });
    return found?.accountId;
  };

  const report = async (
    record: GenerationRecord,
    change: AttemptChange,
    outcome: string,
    atMs: number,
    attempt: Attempt | undefined,
  ) => {
    if (!attempt) return;
    const { sentAtMs, route, priceCredits } = attempt;
    const providerCredits = isPaid(outcome, change) ? await costOf(attempt) : 0;
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
      ...(providerCredits > 0 ? { provider_credits: providerCredits } : {}),
      started_ms: sentAtMs ?? endedMs,
      ...(sentAtMs === null ? {} : { dur_ms: Math.max(0, endedMs - sentAtMs) }),
      ...(change.failure ? { error_code: change.failure.class } : {}),
    });
    if (outcome === "delivered" || outcome === "superseded" || outcome === "late") return;
    // Only the failure class, because the provider's text can repeat the prompt.
    const names = { generation_id: record.id, request_id: record.requestId, attempt: change.n, route_id: route.routeId };
    log("attempt failed", { ...names, outcome, ...(change.failure ? { error_code: change.failure.class } : {}) });
  };
  const failed = (fault: unknown) => log("telemetry failed", { reason: fault instanceof Error ? fault.message : String(fault) });

  /**
   * The provider may have a job for the attempt, and its response does not prove either case. The generation waits until this is
   * known.
   */
  const logUnclear = (
    { id, requestId, model }: GenerationRecord,
    n: number,
    event: ApplyTransition["event"],
    attempt?: Attempt,
  ) => {
    if (!attempt) return;
    const { routeId, provider } = attempt.route;
    // Only the status of the provider's text, which can repeat the prompt.
    const [status] = /^\d{3}(?=:|$)/.exec(String(event.detail ?? "")) ?? [];
    const why = event.type === "interrupted" ? "the process ended while the request may have been out" : "its answer was lost";
    const names = { generation_id: id, request_id: requestId, attempt: n, model, route_id: routeId, provider };
    log("attempt unclear", { ...names, outcome: "unclear", reason: status ? `answered ${status}` : why });
  };

  const rateOf = createMismatchMonitor();
  /** Logs an account whose generations are often mismatched. */
  const countRate = ({ id, accountSeq }: GenerationRecord, came: "mismatched" | "delivered", atMs: number): void => {
    const rate = rateOf(accountSeq, came, atMs);
    if (rate === undefined) return;
    reads.findGeneration(id).then((found) => {
      const reason = `${rate.mismatched} of ${rate.of} results of the last hour were not what was ordered`;
      if (found) log("account mismatch rate high", { account_id: found.accountId, count: rate.mismatched, reason });
    }, failed);
  };

  /** Logs a result that is mismatched or odd. */
  const logDelivery = (event: ApplyTransition["event"], atMs: number, record: GenerationRecord): void => {
    const { id, requestId, model } = record;
    const names = { generation_id: id, request_id: requestId, attempt: Number(event.n), model };
    if (event.type === "mismatched") {
      countRate(record, "mismatched", atMs);
      log("attempt mismatched", { ...names, reason: describeMismatch(event.mismatch as unknown as Mismatch) });
    }
    if (event.type !== "collected") return;
    countRate(record, "delivered", atMs);
    const { fewer, longer, unmeasured } = (event.odd ?? {}) as Odd;
    if (fewer) log("fewer files delivered", { ...names, count: fewer.came, reason: `${fewer.promised} were promised` });
    if (longer)
      log("longer than billed", { ...names, reason: `${longer.cameMs / 1000} s came, ${longer.orderedMs / 1000} s are billed` });
    if (unmeasured) log("length not measured", names);
  };

  const logEnd = async (record: GenerationRecord): Promise<void> => {
    const { completedAtMs, createdAtMs, reservedCredits, costCredits, seq, attempts: count } = record;
    const attempt = await (deliveredBy.get(seq)?.attempt ?? (count > 0 ? attempts.find(seq, count) : undefined));
    const accountId = await accountIdOf(record);
    log("generation completed", {
      generation_id: record.id,
      request_id: record.requestId,
      ...(accountId === undefined ? {} : { account_id: accountId }),
      model: record.model,
      ...(attempt ? { route_id: attempt.route.routeId, provider: attempt.route.provider } : {}),
      state: record.status,
      started_ms: createdAtMs,
      dur_ms: Math.max(0, (completedAtMs ?? createdAtMs) - createdAtMs),
      count,
      credits: costCredits ?? 0,
      released_credits: reservedCredits - (costCredits ?? 0),
      ...(attempt && record.status === "succeeded" ? { provider_credits: await costOf(attempt) } : {}),
      ...(record.error ? { error_code: record.error.code } : {}),
    });
  };

  const logEvent = (event: ApplyTransition["event"], { seq, atMs }: ApplyTransition, record: GenerationRecord): void => {
    logDelivery(event, atMs, record);
    if ((event.type === "begun" || event.type === "skipped") && Array.isArray(event.passed))
      for (const passed of event.passed)
        log("route skipped", {
          model: record.model,
          route_id: String((passed as { routeId?: string }).routeId),
          outcome: "skipped_down",
        });
    if (event.type === "answerLost" || event.type === "interrupted") {
      const n = Number(event.n);
      attempts.find(seq, n).then((attempt) => logUnclear(record, n, event, attempt), failed);
    }
  };

  return {
    /** Must be called before the cached attempts receive the transition. */
    stepped: (mutation: ApplyTransition, record: GenerationRecord): void => {
      const { attemptChanges, atMs, seq } = mutation;
      for (const { event } of appliedEvents(mutation)) logEvent(event, mutation, record);
      for (const change of attemptChanges) {
        const outcome = outcomeOf(change);
        if (outcome === undefined) continue;
        const found = attempts.find(seq, change.n);
        if (outcome === "delivered") deliveredBy.set(seq, { attempt: found });
        found.then((attempt) => report(record, change, outcome, atMs, attempt)).catch(failed);
      }
    },
    /** A change to an attempt whose generation has ended. */
    marked: ({ seq, change, atMs }: MarkAttempt): void => {
      const outcome = outcomeOf(change);
      if (outcome === undefined) return;
      Promise.all([reads.generationBySeq(seq), attempts.find(seq, change.n)])
        .then(([record, attempt]) => record && report(record, change, outcome, atMs, attempt))
        .catch(failed);
    },
    /** @param moved the change of the balance, in credits */
    credited: (kind: AdjustBalance["kind"], moved: number): void => {
      if (moved !== 0) log("credits added", { source: kind, credits: moved });
    },
    /** A generation has ended. */
    ended: (record: GenerationRecord): void => {
      logEnd(record).catch(failed);
    },
  };
};
export type AttemptEvents = ReturnType<typeof createAttemptEvents>;
