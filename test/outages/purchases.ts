// What a trial cost at the providers: answers that nothing came of, and jobs of one generation beside the first.

import type { Submission } from "../../src/simulator/log.ts";
import { type Evidence, matched } from "../../src/torture/crash/audit.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import { ASKABLE, AT_ONCE } from "./catalogue.ts";

/** What callers, providers and the books say of the money of a trial. */
export type Purchases = {
  evidence: Pick<Evidence, "submissions" | "stored">;
  /** When processes ended that nobody had told to. */
  deaths: readonly number[];
  confirmMs: number;
  /** Attempts on the operator's list of losses: `generation n`. */
  orphans: ReadonlySet<string>;
};

/** When a provider's answer to a submission was there. */
export const answeredMs = ({ at, provider, plan }: Submission): number =>
  Date.parse(at) + (provider === AT_ONCE ? (plan?.total_ms ?? 0) : 0);
export const isClear = ({ accepted, answer }: Submission): boolean => accepted && answer === 200;
/** A process that ends takes what is on the wire along, and what arrived a moment ago. */
const MOMENT_MS = 1000;
const endedMeanwhile = (deaths: readonly number[], fromMs: number, toMs: number): boolean =>
  deaths.some((atMs) => atMs >= fromMs && atMs <= toMs);

/** Its journal, in ms from a moment. */
const lifeOf = ({ journal }: Stored, fromMs: number): string =>
  journal.map(({ event, atMs }) => `${event.type} ${atMs - fromMs}`).join(", ");

/** Answers that had arrived, and that nothing came of. */
export const droppedOf = ({ evidence, deaths }: Purchases): string[] =>
  matched(evidence).flatMap(({ line, one, attempt }) =>
    isClear(line) && attempt.state !== "delivered" && !endedMeanwhile(deaths, Date.parse(line.at), answeredMs(line) + MOMENT_MS)
      ? [
          `${one.id} ${attempt.n}: ${line.provider} had answered, and the attempt is ${attempt.state} (${lifeOf(one, Date.parse(line.at))})`,
        ]
      : [],
  );

/** Jobs of one generation beside the first: allowed where nobody could ask, and only after the wait for it or the end of a process. */
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
      // The wait is counted from the sending.
      const fromMs = Math.min(Date.parse(before.line.at), before.attempt.sentAtMs ?? Number.POSITIVE_INFINITY);
      const toMs = Date.parse(line.at);
      const life = lifeOf(before.one, fromMs);
      if (before.line.provider === ASKABLE)
        return [`${id}: bought again ${toMs - fromMs} ms after ${ASKABLE} had accepted it (${life})`];
      if (toMs - fromMs < confirmMs && !endedMeanwhile(deaths, fromMs, toMs))
        return [`${id}: bought again after ${toMs - fromMs} ms, before the ${confirmMs} ms of the wait were over (${life})`];
      allowed += 1;
      return orphans.has(`${id} ${before.attempt.n}`)
        ? []
        : [`${id} ${before.attempt.n}: bought twice, and not among the orphans`];
    });
  });
  return { faults, allowed };
};
