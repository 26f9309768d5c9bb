// The deeds that all drivers share, with what this one brings for them: the money, attempts and limits of its one writer.
import type { DeedOutcome, OfficeDeed } from "../../deeds.ts";
import { isPurchaseDeed, type PurchaseDeed } from "../../purchase.ts";
import type { Asking } from "../sql/asking.ts";
import { type Crediting, prepareCredit } from "../sql/credit.ts";
import { prepareOffice } from "../sql/office.ts";
import { preparePurchases } from "../sql/purchase.ts";
import { prepareReversals } from "../sql/reversal.ts";
import { prepareUsage } from "../sql/usage.ts";
import { known, SQLITE } from "./asking.ts";
import type { Attempts } from "./attempt.ts";
import type { Limits } from "./limits.ts";
import type { Money } from "./money.ts";

/** Postings are numbered in the order of their commits, so one mark is of all of them. */
const SELECT_MARK = "SELECT CAST(value AS bigint) AS \"upTo\" FROM meta WHERE name = 'usage_up_to'";
const SET_MARK =
  "INSERT INTO meta VALUES ('usage_up_to', CAST(?1 AS text)) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/** The money of the one writer, for what asks one statement after another. */
export const prepareCrediting = (money: Money): Crediting =>
  prepareCredit({
    head: (accountSeq) => known(money.head(accountSeq)),
    post: (accountSeq, head, move) => known(money.post(accountSeq, head, move)),
    owe: (accountSeq, head, credits) => known(money.owe(accountSeq, head, credits)),
  });

export const prepareAsked = (crediting: Crediting, attempts: Attempts, limits: Limits) => {
  const reversals = prepareReversals(SQLITE, crediting);
  const purchases = preparePurchases(SQLITE, crediting, reversals);
  const office = prepareOffice({
    dialect: SQLITE,
    ...{ crediting, reversals },
    changeAttempt: (seq, change, atMs) => known(attempts.change(seq, change, atMs)),
    rollUpUsage: prepareUsage(SQLITE, { select: SELECT_MARK, set: SET_MARK, where: "true" }),
    notAddedUp: `p.seq > coalesce((${SELECT_MARK}), 0)`,
    keysChanged: () => limits.forget(),
  });
  return (deed: OfficeDeed | PurchaseDeed): Asking<DeedOutcome> => (isPurchaseDeed(deed) ? purchases(deed) : office(deed));
};
