// Purchase mutations: a payment credits once and a reversal takes once, in any order.

import type {
  OpenPurchase,
  PayPurchase,
  PurchaseMutation,
  PurchaseResult,
  PurchaseState,
} from "../../domain/purchase-mutations.ts";
import type { Credits } from "../../domain/types.ts";
import { purchaseData } from "../../domain/webhooks.ts";
import { auditPurchase } from "./audit-purchases.ts";
import type { Crediting } from "./balance-adjustments.ts";
import type { Dialect } from "./dialect.ts";
import type { LowBalances } from "./low-balance.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import type { Reversals, Reversed } from "./reversals.ts";
import type { SpendAlerts } from "./spend-alerts.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";
import type { AddEvent } from "./webhooks.ts";

type Stored = {
  seq: number;
  id: string;
  account_seq: number;
  credits: Credits;
  provider: string;
  state: PurchaseState;
  session_id: string | null;
  payment_intent: string | null;
  reversed_credits: Credits;
};

const COLUMNS = "seq, id, account_seq, credits, provider, state, session_id, payment_intent, reversed_credits";
const SELECT_ACCOUNT =
  "SELECT a.id, b.owed_credits AS owed FROM account a JOIN balance b ON b.account_seq = a.seq WHERE a.seq = ?1";
const INSERT_PURCHASE = `INSERT INTO purchase
    (id, account_seq, user_id, credits, provider, state, created_at_ms, expires_at_ms, checked_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6, ?7, ?6)`;
const SET_SESSION = "UPDATE purchase SET session_id = ?2 WHERE seq = ?1";
const SET_CHECKED = "UPDATE purchase SET checked_at_ms = ?2 WHERE id = ?1 AND checked_at_ms < ?2";
const SET_PAID = `UPDATE purchase SET state = 'paid', session_id = ?2, payment_intent = ?3, paid_at_ms = ?4,
    receipt = (SELECT coalesce(max(receipt), 0) + 1 FROM purchase) WHERE seq = ?1`;
const SET_MISMATCHED =
  "UPDATE purchase SET state = 'mismatched', session_id = ?2, payment_intent = ?3, found = ?4 WHERE seq = ?1";
const SET_EXPIRED = "UPDATE purchase SET state = 'expired' WHERE id = ?1 AND state = 'open'";
const SET_INVOICE =
  "UPDATE purchase SET invoice_number = ?2, invoice_url = ?3 WHERE id = ?1 AND state = 'paid' AND invoice_url IS NULL";
const INSERT_LINK = "INSERT INTO purchase_adjustment (adjustment_seq, purchase_seq, reason) VALUES (?1, ?2, ?3)";

type Came = Omit<Reversed, "changed">;
const NOTHING: Came = { transferredCredits: 0, undecided: 0 };

export type PurchasesDeps = {
  crediting: Pick<Crediting, "credit">;
  reversals: Reversals;
  addEvent: AddEvent;
  setThreshold: LowBalances["setThreshold"];
  setSpendAlert: SpendAlerts["setAmount"];
};

export const preparePurchases = ({ forUpdate }: Dialect, deps: PurchasesDeps) => {
  const { reversals, addEvent, setThreshold, setSpendAlert } = deps;
  const { credit } = deps.crediting;
  const selectById = `SELECT ${COLUMNS} FROM purchase WHERE id = ?1 ${forUpdate}`;
  const selectByPayment = `SELECT ${COLUMNS} FROM purchase WHERE payment_intent = ?1 ${forUpdate}`;

  const named = function* (id: string): SqlProgram<Stored> {
    const found = yield* first<Stored>(selectById, id);
    if (!found) throw new MutationRejected(`there is no purchase ${id}`);
    return found;
  };
  const answer = function* (of: Stored | undefined, changed: boolean, came: Came = NOTHING): SqlProgram<PurchaseResult> {
    const now = of && (yield* first<Stored>(selectById, of.id));
    const account = now && (yield* first<{ id: string; owed: Credits }>(SELECT_ACCOUNT, now.account_seq));
    const purchase = now && account ? { id: now.id, accountId: account.id, state: now.state, owedCredits: account.owed } : null;
    const { transferredCredits, undecided } = came;
    return {
      kind: "purchase",
      changed,
      transferredCredits,
      purchase,
      ...(undecided > 0 ? { undecided } : {}),
    };
  };

  const open = function* (mutation: OpenPurchase): SqlProgram<PurchaseResult> {
    const { id, accountSeq, userId, credits, provider, atMs, expiresAtMs } = mutation;
    const known = yield* first<Stored>(selectById, id);
    if (known) {
      if (known.account_seq !== accountSeq || known.credits !== credits || known.provider !== provider)
        throw new MutationRejected(`the purchase ${id} is another one`);
      return yield* answer(known, false);
    }
    yield* change(INSERT_PURCHASE, id, accountSeq, userId, credits, provider, atMs, expiresAtMs);
    return yield* answer(yield* named(id), true);
  };

  const pay = function* ({ id, payment, atMs }: PayPurchase): SqlProgram<PurchaseResult> {
    const bought = yield* named(id);
    const { sessionId, paymentIntent, amountCredits, currency } = payment;
    if (bought.session_id !== null && bought.session_id !== sessionId)
      throw new MutationRejected(`the purchase ${id} belongs to another checkout`);
    if (bought.state === "paid" || bought.state === "mismatched") return yield* answer(bought, false);
    if (amountCredits !== bought.credits || currency !== "usd") {
      const found = `${amountCredits ?? "no amount"} ${currency.slice(0, 3)}`;
      yield* change(SET_MISMATCHED, bought.seq, sessionId, paymentIntent, found);
      return yield* answer(bought, true);
    }
    const { seq, transferredCredits, isNew } = yield* credit({
      ...{ accountSeq: bought.account_seq, kind: "topup", credits: bought.credits, atMs },
      note: `purchase ${bought.id}`,
      reference: `${bought.id} paid`,
    });
    if (!isNew) throw new MutationRejected(`the reference "${bought.id} paid" was already used`);
    yield* change(SET_PAID, bought.seq, sessionId, paymentIntent, atMs);
    yield* change(INSERT_LINK, seq, bought.seq, "paid");
    const came = yield* reversals.review(yield* named(id), atMs);
    const paid = yield* answer(bought, true, { ...came, transferredCredits: transferredCredits + came.transferredCredits });
    const deliveries = yield* addEvent({
      ...{ accountSeq: bought.account_seq, type: "purchase.completed", sequence: 1, atMs },
      data: purchaseData({ id: bought.id, credits: bought.credits, paidAtMs: atMs }),
    });
    return deliveries.length === 0 || paid.kind === "refused" ? paid : { ...paid, deliveries };
  };

  const reversed = function* (paymentIntent: string, came: Reversed): SqlProgram<PurchaseResult> {
    return yield* answer(yield* first<Stored>(selectByPayment, paymentIntent), came.changed, came);
  };

  const execute = function* (mutation: PurchaseMutation): SqlProgram<PurchaseResult> {
    switch (mutation.mutation) {
      case "open-purchase":
        return yield* open(mutation);
      case "name-checkout": {
        const bought = yield* named(mutation.id);
        if (bought.session_id === mutation.sessionId) return yield* answer(bought, false);
        yield* change(SET_SESSION, bought.seq, mutation.sessionId);
        return yield* answer(bought, true);
      }
      case "note-asked":
        return yield* answer(yield* named(mutation.id), (yield* change(SET_CHECKED, mutation.id, mutation.atMs)) > 0);
      case "pay-purchase":
        return yield* pay(mutation);
      case "expire-purchase":
        return yield* answer(yield* named(mutation.id), (yield* change(SET_EXPIRED, mutation.id)) > 0);
      case "note-invoice":
        return yield* answer(
          yield* named(mutation.id),
          (yield* change(SET_INVOICE, mutation.id, mutation.number, mutation.url)) > 0,
        );
      case "note-reversal":
        return yield* reversed(mutation.paymentIntent, yield* reversals.note(mutation));
      case "note-foreign-reversal":
        return yield* reversed(mutation.paymentIntent, yield* reversals.noteForeign(mutation));
      case "set-low-balance": {
        const { accountSeq, credits, atMs } = mutation;
        return yield* answer(undefined, yield* setThreshold(accountSeq, credits, atMs));
      }
      case "set-spend-alert": {
        const { changed, reached } = yield* setSpendAlert(mutation.accountSeq, mutation.credits, mutation.atMs);
        const answered = yield* answer(undefined, changed);
        return reached.length > 0 && answered.kind === "purchase" ? { ...answered, spendReached: reached } : answered;
      }
    }
  };
  return function* (mutation: PurchaseMutation): SqlProgram<PurchaseResult> {
    const outcome = yield* execute(mutation);
    yield* auditPurchase(mutation, outcome);
    return outcome;
  };
};
