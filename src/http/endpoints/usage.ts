// Serves the usage of the account, GET /v1/usage.

import { refuse } from "../../domain/api-errors.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Cursors } from "../../domain/cursors.ts";
import type { Caller } from "../../domain/types.ts";
import { dayText, type UsageLine, type UsageReads, usageRange, usageView } from "../../reports/usage.ts";
import type { EndUserReads } from "../../store/end-user-reads.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { integerIn, LIST_LIMIT, readQuery, wordIn } from "../query.ts";
import { usd } from "../resource.ts";
import { answerJson } from "../response.ts";

const GROUPINGS = ["day", "model", "key", "end_user"] as const;
type Grouping = Exclude<(typeof GROUPINGS)[number], "end_user">;
/** End users that one page examines (a few ms); those without usage in the range are not on it. */
const MAX_EXAMINED = 1_000;

export type UsageDeps = {
  reads: UsageReads & Pick<EndUserReads, "endUserUsage">;
  cursors: Cursors;
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

type Page = { limit?: string | undefined; after?: string | undefined };
type Range = ReturnType<typeof usageRange>;

/** One page of the usage by end user, newest end user first. Its total is that of the account. */
const usageByEndUser = async ({ reads, cursors }: UsageDeps, { accountId, accountSeq }: Caller, range: Range, sent: Page) => {
  const limit = integerIn("limit", sent.limit, LIST_LIMIT);
  const scope = ["usage_by_end_user", accountId, range.fromDay, range.toDay].join("|");
  const beforeSeq = sent.after === undefined ? null : cursors.read(scope, sent.after);
  if (beforeSeq === undefined)
    return refuse("invalid_request", "after: must be next of a page of this list with the same range.");
  const [{ total }, { rows, next }] = await Promise.all([
    usageView(reads, { ...range, accountId, by: "day" }),
    reads.endUserUsage({ accountSeq, ...range, beforeSeq, limit, maxExamined: MAX_EXAMINED }),
  ]);
  return {
    object: "usage",
    ...{ from: dayText(range.fromDay), to: dayText(range.toDay), group_by: "end_user" },
    total: sums(total),
    data: rows.map(({ name, succeeded, failed, chargedCredits }) => ({
      ...{ end_user: name, generations: succeeded + failed, succeeded, failed, charged_usd: usd(chargedCredits) },
    })),
    has_more: next !== null,
    next: next === null ? null : cursors.sign(scope, next),
  };
};

export const usage =
  (deps: UsageDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    requireUnlimitedKey(caller);
    const { reads, clock, rollUpUsage } = deps;
    const { from, to, group_by, ...page } = readQuery(request, ["from", "to", "group_by", "limit", "after"]);
    const by = wordIn("group_by", group_by, GROUPINGS) ?? "day";
    const range = usageRange({ from, to }, clock.nowMs());
    if (by !== "end_user" && (page.limit !== undefined || page.after !== undefined))
      refuse("invalid_request", "limit, after: only usage by end user has pages; send group_by=end_user.");
    await rollUpUsage();
    if (by === "end_user") return answerJson(200, JSON.stringify(await usageByEndUser(deps, caller, range, page)), requestId);
    const view = await usageView(reads, { ...range, accountId: caller.accountId, by });
    const shown = {
      object: "usage",
      ...{ from: view.from, to: view.to, group_by: by },
      total: sums(view.total),
      data: view.lines.map((line) => ({ ...groupOf(by, line), ...sums(line) })),
    };
    return answerJson(200, JSON.stringify(shown), requestId);
  };
