// The deeds of purchases: a payment credits once, and what has to be given back is taken once, whatever comes how often and in which order.
import type {
  NoteReversalDeed,
  OpenPurchaseDeed,
  PayPurchaseDeed,
  PurchaseDeed,
  PurchaseOutcome,
  PurchaseState,
  ReversalState,
} from "../../purchase.ts";
import type { Credits } from "../../terms.ts";
import { type Asking, change, first } from "./asking.ts";
import { auditPurchase } from "./audit-purchases.ts";
import type { Crediting } from "./credit.ts";
import type { Dialect } from "./dialect.ts";
import { DeedRefused } from "./refused.ts";

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
    (id, account_seq, person_id, credits, provider, state, created_at_ms, expires_at_ms, asked_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6, ?7, ?6)`;
const SET_SESSION = "UPDATE purchase SET session_id = ?2 WHERE seq = ?1";
const SET_ASKED = "UPDATE purchase SET asked_at_ms = ?2 WHERE id = ?1 AND asked_at_ms < ?2";
const SET_PAID = `UPDATE purchase SET state = 'paid', session_id = ?2, payment_intent = ?3, paid_at_ms = ?4,
    receipt = (SELECT coalesce(max(receipt), 0) + 1 FROM purchase) WHERE seq = ?1`;
const SET_MISMATCHED =
  "UPDATE purchase SET state = 'mismatched', session_id = ?2, payment_intent = ?3, found = ?4 WHERE seq = ?1";
const SET_EXPIRED = "UPDATE purchase SET state = 'expired' WHERE id = ?1 AND state = 'open'";
const SET_INVOICE =
  "UPDATE purchase SET invoice_number = ?2, invoice_url = ?3 WHERE id = ?1 AND state = 'paid' AND invoice_url IS NULL";
const INSERT_LINK = "INSERT INTO purchase_credit (credit_seq, purchase_seq, why) VALUES (?1, ?2, ?3)";
const COUNT_LINKS = "SELECT count(*) AS n FROM purchase_credit WHERE purchase_seq = ?1";
/** A reversal goes on in this order, and never back. */
const REVERSAL_ORDER: readonly ReversalState[] = ["asked", "taken", "lost", "returned"];
const place = (state: string): string =>
  `CASE ${state} ${REVERSAL_ORDER.map((name, at) => `WHEN '${name}' THEN ${at}`).join(" ")} END`;
const GOES_ON = `${place("reversal.state")} < ${place("excluded.state")}`;
const SAVE_REVERSAL = `INSERT INTO reversal (id, kind, payment_intent, credits, state, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms,
    credits = CASE WHEN reversal.credits < excluded.credits THEN excluded.credits ELSE reversal.credits END,
    state = CASE WHEN ${GOES_ON} THEN excluded.state ELSE reversal.state END
  WHERE reversal.credits < excluded.credits OR ${GOES_ON}`;
const SUM_REVERSALS = `SELECT CAST(coalesce(sum(credits), 0) AS bigint) AS credits FROM reversal
  WHERE payment_intent = ?1 AND state IN ('taken', 'lost')`;
const SET_REVERSED = "UPDATE purchase SET reversed_credits = ?2 WHERE seq = ?1";
const SET_LOW_BALANCE = `INSERT INTO low_balance VALUES (?1, ?2)
  ON CONFLICT (account_seq) DO UPDATE SET credits = excluded.credits WHERE low_balance.credits <> excluded.credits`;
const DROP_LOW_BALANCE = "DELETE FROM low_balance WHERE account_seq = ?1";

export const preparePurchases = ({ forUpdate }: Dialect, { credit }: Crediting) => {
  const selectById = `SELECT ${COLUMNS} FROM purchase WHERE id = ?1 ${forUpdate}`;
  const selectByPayment = `SELECT ${COLUMNS} FROM purchase WHERE payment_intent = ?1 ${forUpdate}`;

  const named = function* (id: string): Asking<Stored> {
    const found = yield* first<Stored>(selectById, id);
    if (!found) throw new DeedRefused(`there is no purchase ${id}`);
    return found;
  };
  const answer = function* (of: Stored | undefined, changed: boolean, movedCredits: Credits = 0): Asking<PurchaseOutcome> {
    const now = of && (yield* first<Stored>(selectById, of.id));
    const account = now && (yield* first<{ id: string; owed: Credits }>(SELECT_ACCOUNT, now.account_seq));
    const purchase = now && account ? { id: now.id, accountId: account.id, state: now.state, owedCredits: account.owed } : null;
    return { kind: "purchase", changed, movedCredits, purchase };
  };

  const open = function* (deed: OpenPurchaseDeed): Asking<PurchaseOutcome> {
    const { id, accountSeq, personId, credits, provider, atMs, expiresAtMs } = deed;
    const known = yield* first<Stored>(selectById, id);
    if (known) {
      if (known.account_seq !== accountSeq || known.credits !== credits || known.provider !== provider)
        throw new DeedRefused(`the purchase ${id} is another one`);
      return yield* answer(known, false);
    }
    yield* change(INSERT_PURCHASE, id, accountSeq, personId, credits, provider, atMs, expiresAtMs);
    return yield* answer(yield* named(id), true);
  };

  /** Takes back, or gives back, the difference between what is to be reversed of a purchase and what is. */
  const reverse = function* (bought: Stored, atMs: number): Asking<Credits> {
    if (bought.state !== "paid" || bought.payment_intent === null) return 0;
    const reversals = yield* first<{ credits: Credits }>(SUM_REVERSALS, bought.payment_intent);
    const due = Math.min(bought.credits, reversals?.credits ?? 0);
    const credits = bought.reversed_credits - due;
    if (credits === 0) return 0;
    const why = credits < 0 ? "taken" : "returned";
    const times = (yield* first<{ n: number }>(COUNT_LINKS, bought.seq))?.n ?? 0;
    const { seq, movedCredits } = yield* credit({
      ...{ accountSeq: bought.account_seq, kind: "adjust", credits, atMs },
      note: why === "taken" ? `taken back of purchase ${bought.id}` : `given back of purchase ${bought.id}`,
      reference: `${bought.id} ${times}`,
    });
    yield* change(INSERT_LINK, seq, bought.seq, why);
    yield* change(SET_REVERSED, bought.seq, due);
    return movedCredits;
  };

  const pay = function* ({ id, payment, atMs }: PayPurchaseDeed): Asking<PurchaseOutcome> {
    const bought = yield* named(id);
    const { sessionId, paymentIntent, amountCredits, currency } = payment;
    if (bought.session_id !== null && bought.session_id !== sessionId)
      throw new DeedRefused(`the purchase ${id} belongs to another checkout`);
    if (bought.state === "paid" || bought.state === "mismatched") return yield* answer(bought, false);
    if (amountCredits !== bought.credits || currency !== "usd") {
      const found = `${amountCredits ?? "no amount"} ${currency.slice(0, 3)}`;
      yield* change(SET_MISMATCHED, bought.seq, sessionId, paymentIntent, found);
      return yield* answer(bought, true);
    }
    const { seq, movedCredits, isNew } = yield* credit({
      ...{ accountSeq: bought.account_seq, kind: "topup", credits: bought.credits, atMs },
      note: `purchase ${bought.id}`,
      reference: `${bought.id} paid`,
    });
    if (!isNew) throw new DeedRefused(`the reference "${bought.id} paid" was already used`);
    yield* change(SET_PAID, bought.seq, sessionId, paymentIntent, atMs);
    yield* change(INSERT_LINK, seq, bought.seq, "paid");
    return yield* answer(bought, true, movedCredits + (yield* reverse(yield* named(id), atMs)));
  };

  const noteReversal = function* (deed: NoteReversalDeed): Asking<PurchaseOutcome> {
    const { id, kind, paymentIntent, credits, state, atMs } = deed;
    const changed = (yield* change(SAVE_REVERSAL, id, kind, paymentIntent, credits, state, atMs)) > 0;
    const bought = yield* first<Stored>(selectByPayment, paymentIntent);
    return yield* answer(bought, changed, bought && changed ? yield* reverse(bought, atMs) : 0);
  };

  const carryOut = function* (deed: PurchaseDeed): Asking<PurchaseOutcome> {
    switch (deed.deed) {
      case "open-purchase":
        return yield* open(deed);
      case "name-checkout": {
        const bought = yield* named(deed.id);
        if (bought.session_id === deed.sessionId) return yield* answer(bought, false);
        yield* change(SET_SESSION, bought.seq, deed.sessionId);
        return yield* answer(bought, true);
      }
      case "note-asked":
        return yield* answer(yield* named(deed.id), (yield* change(SET_ASKED, deed.id, deed.atMs)) > 0);
      case "pay-purchase":
        return yield* pay(deed);
      case "expire-purchase":
        return yield* answer(yield* named(deed.id), (yield* change(SET_EXPIRED, deed.id)) > 0);
      case "note-invoice":
        return yield* answer(yield* named(deed.id), (yield* change(SET_INVOICE, deed.id, deed.number, deed.url)) > 0);
      case "note-reversal":
        return yield* noteReversal(deed);
      case "set-low-balance": {
        const { accountSeq, credits } = deed;
        const setting = credits === null ? change(DROP_LOW_BALANCE, accountSeq) : change(SET_LOW_BALANCE, accountSeq, credits);
        return yield* answer(undefined, (yield* setting) > 0);
      }
    }
  };
  return function* (deed: PurchaseDeed): Asking<PurchaseOutcome> {
    const outcome = yield* carryOut(deed);
    yield* auditPurchase(deed, outcome);
    return outcome;
  };
};
