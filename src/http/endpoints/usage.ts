// Serves the usage of the account, GET /v1/usage.
import type { Clock } from "../../domain/clock.ts";
import { type UsageLine, type UsageReads, usageRange, usageView } from "../../reports/usage.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { readQuery, wordIn } from "../query.ts";
import { usd } from "../resource.ts";
import { answerJson } from "../response.ts";

const GROUPINGS = ["day", "model", "key"] as const;
type Grouping = (typeof GROUPINGS)[number];

export type UsageDeps = {
  reads: UsageReads;
  clock: Clock;
  /** Resolves when usage includes every generation that has ended by now. */
  rollUpUsage: () => Promise<void>;
};

const sums = ({ count, succeeded, failed, chargedCredits, medianWaitMs }: UsageLine) => ({
  generations: count,
  succeeded,
  failed,
  charged_usd: usd(chargedCredits),
  median_wait_s: medianWaitMs === null ? null : medianWaitMs / 1000,
});
/** A key has a name beside its id. */
const groupOf = (by: Grouping, { of, name }: UsageLine) => ({ [by]: of, ...(by === "key" ? { name } : {}) });

export const usage =
  ({ reads, clock, rollUpUsage }: UsageDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    requireUnlimitedKey(caller);
    const { from, to, group_by } = readQuery(request, ["from", "to", "group_by"]);
    const by = wordIn("group_by", group_by, GROUPINGS) ?? "day";
    const range = usageRange({ from, to }, clock.nowMs());
    await rollUpUsage();
    const view = await usageView(reads, { ...range, accountId: caller.accountId, by });
    const shown = {
      object: "usage",
      ...{ from: view.from, to: view.to, group_by: by },
      total: sums(view.total),
      data: view.lines.map((line) => ({ ...groupOf(by, line), ...sums(line) })),
    };
    return answerJson(200, JSON.stringify(shown), requestId);
  };
