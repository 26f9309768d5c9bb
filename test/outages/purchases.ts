// Finds losses at the providers: responses that were dropped, and additional jobs of one generation.

import type { Submission } from "../../src/simulator/log.ts";
import { type Evidence, matched } from "../../src/torture/crash/audit.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import { ASKABLE, AT_ONCE } from "./catalogue.ts";

/** The purchases of a trial according to clients, providers and the store. */
export type Purchases = {
  evidence: Pick<Evidence, "submissions" | "stored">;
  /** The times at which processes ended without SIGTERM. */
  deaths: readonly number[];
  confirmMs: number;
  /** Attempts in the list of orphans: `generation n`. */
  orphans: ReadonlySet<string>;
};

/** When the provider's response to a submission arrived. */
export const answeredMs = ({ at, provider, plan }: Submission): number =>
  Date.parse(at) + (provider === AT_ONCE ? (plan?.total_ms ?? 0) : 0);
export const isClear = ({ accepted, answer }: Submission): boolean => accepted && answer === 200;
/** A process that ends loses responses in flight and responses that arrived within this time. */
const MOMENT_MS = 1000;
const endedMeanwhile = (deaths: readonly number[], fromMs: number, toMs: number): boolean =>
  deaths.some((atMs) => atMs >= fromMs && atMs <= toMs);

/** The event log of a generation, in ms from a time. */
const lifeOf = ({ events }: Stored, fromMs: number): string =>
  events.map(({ event, atMs }) => `${event.type} ${atMs - fromMs}`).join(", ");

/** Responses that arrived and were dropped. */
export const droppedOf = ({ evidence, deaths }: Purchases): string[] =>
  matched(evidence).flatMap(({ line, one, attempt }) =>
    isClear(line) && attempt.state !== "delivered" && !endedMeanwhile(deaths, Date.parse(line.at), answeredMs(line) + MOMENT_MS)
      ? [
          `${one.id} ${attempt.n}: ${line.provider} had responded, but the attempt is ${attempt.state} (${lifeOf(one, Date.parse(line.at))})`,
        ]
      : [],
  );

/** Additional jobs of a generation: allowed only without a job lookup, and after `confirmMs` or the end of a process. */
export const boughtTwice = ({ evidence, deaths, confirmMs, orphans }: Purchases): { faults: string[]; allowed: number } => {
  const byGeneration = Map.groupBy(
    matched(evidence).filter(({ line }) => line.accepted),
    ({ one }) => one.id,
  );
  let allowed = 0;
  const faults = [...byGeneration].flatMap(([id, jobs]) => {
    const inOrder = jobs.toSorted((a, b) => Date.parse(a.line.at) - Date.parse(b.line.at));
    return inOrder.slice(1).flatMap(({ line }, index) => {
      const before = inOrder[index];
      if (!before) return [];
      // The time counts from the sending of the submission.
      const fromMs = Math.min(Date.parse(before.line.at), before.attempt.sentAtMs ?? Number.POSITIVE_INFINITY);
      const toMs = Date.parse(line.at);
      const life = lifeOf(before.one, fromMs);
      if (before.line.provider === ASKABLE)
        return [`${id}: purchased again ${toMs - fromMs} ms after ${ASKABLE} had accepted it (${life})`];
      if (toMs - fromMs < confirmMs && !endedMeanwhile(deaths, fromMs, toMs))
        return [`${id}: purchased again after ${toMs - fromMs} ms, before ${confirmMs} ms had passed (${life})`];
      allowed += 1;
      return orphans.has(`${id} ${before.attempt.n}`)
        ? []
        : [`${id} ${before.attempt.n}: purchased twice, and not listed as an orphan`];
    });
  });
  return { faults, allowed };
};
