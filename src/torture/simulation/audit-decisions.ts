// Audits operator decisions against generation events, audit log and credits.
//
// Each decision counts once, and only for its own generation.

import type { Attempt, GenerationRecord } from "../../domain/types.ts";
import type { StoredEvent, StoreReads } from "../../store/store.ts";
import type { AuditRow } from "../../store/user-reads.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { OPERATOR, type Order } from "./operator.ts";
import type { Upstream } from "./upstream.ts";

export type DecisionEvidence = {
  orders: readonly Order[];
  upstream: Pick<Upstream, "jobs">;
  reads: Pick<StoreReads, "eventsOf" | "transfersOf" | "attemptsOf" | "audit">;
  situations: CoverageCounters;
};

const TYPES = { settle: "settledByOperator", fail: "failedByOperator", retry: "retriedByOperator" } as const;
const SEEN = { settle: "decidedSettle", fail: "decidedFail", retry: "decidedRetry" } as const;
const MAX_LINES = 100_000;
/** The longest delay before an owner learns of a decision, if it is cut off, stopped or dead and clocks differ. */
const MAX_UNHEARD_MS = 45 * 60_000;

/** Transitions that carry out a decision. */
const stepsOf = ({ decision, reason }: Order, events: readonly StoredEvent[]): StoredEvent[] =>
  events.filter(({ event }) => event.type === TYPES[decision] && event.reason === reason);

/** Compares the response to one decision with the stored data. */
const auditOrder = (order: Order, events: readonly StoredEvent[], lines: readonly AuditRow[], end: GenerationRecord) => {
  const { id, decision, reason, answer, refused, requestedAtMs } = order;
  const name = `${id}, ${reason} (${decision})`;
  const steps = stepsOf(order, events);
  const faults: string[] = [];
  if (steps.length > 1) faults.push(`${name}: carried out ${steps.length} times`);
  if (lines.length > 1) faults.push(`${name}: ${lines.length} lines in the audit log`);
  if (steps.length > 0 && lines.length === 0) faults.push(`${name}: carried out, and not in the audit log`);
  if (answer && lines.length === 0) faults.push(`${name}: answered, and not in the audit log`);
  if (order.wasOver && (answer || lines.length > 0)) faults.push(`${name}: decided after its end`);
  if (refused !== null && steps.length + lines.length > 0) faults.push(`${name}: refused, and on disk all the same`);
  if (answer?.isTaken && steps.length === 0) faults.push(`${name}: acknowledged, and not in the event log`);
  const [step] = steps;
  if (step && (step.event.by !== OPERATOR.name || lines.some(({ target }) => target !== id)))
    faults.push(`${name}: by ${JSON.stringify(step.event.by)} about ${lines[0]?.target}`);
  // The owner learns of the decision, unless the generation has ended before.
  const endedMs = end.completedAtMs ?? Number.POSITIVE_INFINITY;
  const isNoted = answer !== null && answer.status !== "succeeded" && answer.status !== "failed";
  if (isNoted && decision === "fail" && steps.length === 0 && endedMs > requestedAtMs + MAX_UNHEARD_MS)
    faults.push(`${name}: accepted, and the generation continued for ${Math.round((endedMs - requestedAtMs) / 60_000)} min`);
  return faults;
};

/** Checks the outcome of decisions about one generation. */
const auditEnd = (
  end: GenerationRecord,
  events: readonly StoredEvent[],
  attempts: readonly Attempt[],
  evidence: DecisionEvidence,
) => {
  const { upstream, situations } = evidence;
  const faults: string[] = [];
  const last = events.at(-1);
  const isFailedByOperator = last?.event.type === TYPES.fail;
  if (events.some((line) => line.event.type === TYPES.fail && line !== last))
    faults.push(`${end.id}: continued after an operator had failed it`);
  if (isFailedByOperator && (end.status !== "failed" || end.costCredits !== 0))
    faults.push(`${end.id}: failed by an operator, and ${end.status} at ${end.costCredits}`);
  const settled = events.findLast(({ event }) => event.type === TYPES.settle);
  const collected = end.status === "succeeded" ? last?.event : undefined;
  if (settled) situations.count(collected && collected.n === settled.event.n ? "settledCharged" : "settledElsewhere");
  const charged = attempts.filter(({ state }) => state === "delivered");
  if (charged.length !== (end.status === "succeeded" ? 1 : 0))
    faults.push(`${end.id}: ${end.status} with ${charged.length} attempts that delivered`);
  for (const { n, route, job: delivered } of charged) {
    const job = upstream.jobs.find(({ provider, jobId }) => provider === route.provider && jobId === delivered?.jobId);
    if (collected?.n !== n) faults.push(`${end.id}: charged for attempt ${n}, and ${collected?.n} was collected`);
    if (job && (job.fails !== null || job.cancelled || job.wrong !== null))
      faults.push(`${end.id}: charged for ${job.jobId}, which delivered nothing`);
  }
  if (isFailedByOperator && attempts.some(({ state }) => state === "late")) situations.count("failedDelivered");
  return faults;
};
export const auditDecisions = async (
  evidence: DecisionEvidence,
  ends: ReadonlyMap<string, GenerationRecord>,
): Promise<string[]> => {
  const { orders, reads, situations } = evidence;
  if (orders.length === 0) return [];
  const faults: string[] = [];
  const log = Map.groupBy(await reads.audit(null, MAX_LINES, { action: "decide-generation" }), ({ detail }) => detail.reason);
  for (const [id, mine] of Map.groupBy(orders, (order) => order.id)) {
    const end = ends.get(id);
    const [first] = mine;
    if (!end || !first) {
      faults.push(`${id}: decided, and not there`);
      continue;
    }
    const events = await reads.eventsOf(first.seq);
    for (const order of mine) {
      const [step] = stepsOf(order, events);
      if (step) situations.count(SEEN[order.decision]);
      if (order.answer && !step) situations.count("decisionsOvertaken");
      if (!order.answer && order.refused === null) situations.count("decisionsUnanswered");
      faults.push(...auditOrder(order, events, log.get(order.reason) ?? [], end));
    }
    faults.push(...auditEnd(end, events, await reads.attemptsOf(first.seq), evidence));
    const captures = (await reads.transfersOf(first.seq)).filter(({ kind }) => kind === "capture");
    if (captures.length !== (end.status === "succeeded" ? 1 : 0))
      faults.push(`${id}: ${end.status}, and charged ${captures.length} times`);
  }
  return faults;
};
