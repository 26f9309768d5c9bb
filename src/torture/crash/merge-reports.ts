// Merges the reports of crash runs: checks by name, figures by sum.
import { existsSync, readFileSync } from "node:fs";
import type { Check, Evidence } from "./audit.ts";
import { figuresOfWebhooks } from "./audit-webhooks.ts";
import type { ClientLine } from "./client-log.ts";

export type End = { checks: Check[]; figures: Record<string, number> };

/** One check of each name, with the faults of all. */
export const mergeChecks = (checks: readonly Check[]): Check[] => {
  const byName = new Map<string, Set<string>>();
  for (const { name, faults } of checks) byName.set(name, new Set([...(byName.get(name) ?? []), ...faults]));
  return [...byName].map(([name, faults]) => ({ name, faults: [...faults] }));
};

/** Figures in ms are durations or maxima; of parallel runs the worst counts, not the sum. */
const isWorst = (name: string) => name.endsWith("Ms");

export const mergeEnds = (ends: readonly End[]): End => {
  const figures: Record<string, number> = {};
  for (const end of ends)
    for (const [name, figure] of Object.entries(end.figures))
      figures[name] = isWorst(name) ? Math.max(figures[name] ?? 0, figure) : (figures[name] ?? 0) + figure;
  return { checks: mergeChecks(ends.flatMap(({ checks }) => checks)), figures };
};

/** Responses without a generation, by their codes. */
const rejectedByCode = (client: readonly ClientLine[]): Record<string, number> => {
  const codes: Record<string, number> = {};
  for (const line of client) if (line.type === "ack" && line.code !== null) codes[line.code] = (codes[line.code] ?? 0) + 1;
  return codes;
};

/** Figures of a client log, whose last line may be incomplete. */
export const figuresOfLog = (path: string): Record<string, number> => {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const acked = (status: number) => text.split(`,"status":${status},`).length - 1;
  return { acknowledged: acked(202), replayed: acked(200) };
};

/** `counted`, and the figures of the last audit's evidence. */
export const figuresOf = (counted: Record<string, number>, evidence: Evidence): Record<string, number> => {
  const tries = evidence.stored.flatMap((one) => one.tries);
  const reported = (type: string) =>
    evidence.stored.flatMap((one) => one.events).filter(({ event }) => event.type === type).length;
  const inState = (state: string) => tries.filter((attempt) => attempt.state === state).length;
  const acked = (status: number) => evidence.client.filter((line) => line.type === "ack" && line.status === status).length;
  return {
    ...counted,
    acknowledged: acked(202),
    replayed: acked(200),
    ...rejectedByCode(evidence.client),
    endsSeen: evidence.client.filter((line) => line.type === "seen").length,
    generations: evidence.stored.length,
    cancelled: evidence.stored.filter(({ error }) => error?.code === "cancelled").length,
    deleted: evidence.stored.filter(({ erasedAtMs }) => erasedAtMs !== null).length,
    succeeded: evidence.stored.filter(({ status }) => status === "succeeded").length,
    credits: evidence.stored.reduce((sum, { costCredits }) => sum + (costCredits ?? 0), 0),
    submissions: evidence.submissions.length,
    jobs: evidence.submissions.filter(({ accepted }) => accepted).length,
    interrupted: reported("interrupted"),
    confirmations: reported("interrupted") + reported("answerLost"),
    provedAbsent: inState("absent"),
    lost: inState("lost"),
    capped: inState("capped"),
    superseded: inState("superseded"),
    late: inState("late"),
    fallbacks: evidence.stored.filter(({ attempts }) => attempts > 1).length,
    ...(evidence.webhooks ? figuresOfWebhooks(evidence.webhooks) : {}),
  };
};
