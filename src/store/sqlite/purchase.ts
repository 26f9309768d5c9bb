// The deeds of purchases: a payment credits once, and what has to be given back is taken once, whatever comes how often and in which order.
import type { Database } from "bun:sqlite";
import type {
  NoteReversalDeed,
  OpenPurchaseDeed,
  PayPurchaseDeed,
  PurchaseDeed,
  PurchaseOutcome,
  PurchaseState,
} from "../../purchase.ts";
import type { Credits } from "../../terms.ts";
import { preparePurchaseAudit } from "./audit-purchases.ts";
import type { Crediting } from "./credit.ts";
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

export const preparePurchases = (db: Database, { credit }: Crediting) => {
  const selectById = db.prepare<Stored, [string]>(`SELECT ${COLUMNS} FROM purchase WHERE id = ?1`);
  const selectByPayment = db.prepare<Stored, [string]>(`SELECT ${COLUMNS} FROM purchase WHERE payment_intent = ?1`);
  const selectAccount = db.prepare<{ id: string; owed: Credits }, [number]>(
    "SELECT a.id, b.owed_credits AS owed FROM account a JOIN balance b ON b.account_seq = a.seq WHERE a.seq = ?1",
  );
  const insertPurchase = db.prepare(
    `INSERT INTO purchase (id, account_seq, person_id, credits, provider, state, created_at_ms, expires_at_ms, asked_at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6, ?7, ?6)`,
  );
  const setSession = db.prepare("UPDATE purchase SET session_id = ?2 WHERE seq = ?1");
  const setAsked = db.prepare("UPDATE purchase SET asked_at_ms = ?2 WHERE id = ?1 AND asked_at_ms < ?2");
  const setPaid = db.prepare(
    `UPDATE purchase SET state = 'paid', session_id = ?2, payment_intent = ?3, paid_at_ms = ?4,
       receipt = (SELECT coalesce(max(receipt), 0) + 1 FROM purchase) WHERE seq = ?1`,
  );
  const setMismatched = db.prepare(
    "UPDATE purchase SET state = 'mismatched', session_id = ?2, payment_intent = ?3, found = ?4 WHERE seq = ?1",
  );
  const setExpired = db.prepare("UPDATE purchase SET state = 'expired' WHERE id = ?1 AND state = 'open'");
  const setInvoice = db.prepare(
    "UPDATE purchase SET invoice_number = ?2, invoice_url = ?3 WHERE id = ?1 AND state = 'paid' AND invoice_url IS NULL",
  );
  const insertLink = db.prepare("INSERT INTO purchase_credit (credit_seq, purchase_seq, why) VALUES (?1, ?2, ?3)");
  const countLinks = db.prepare<{ n: number }, [number]>("SELECT count(*) AS n FROM purchase_credit WHERE purchase_seq = ?1");
  const saveReversal = db.prepare(
    `INSERT INTO reversal (id, kind, payment_intent, credits, state, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (id) DO UPDATE SET credits = max(credits, excluded.credits), at_ms = excluded.at_ms,
       state = iif(instr('asked taken lost returned', excluded.state) > instr('asked taken lost returned', state), excluded.state, state)
     WHERE credits < excluded.credits OR instr('asked taken lost returned', state) < instr('asked taken lost returned', excluded.state)`,
  );
  const sumReversals = db.prepare<{ credits: Credits }, [string]>(
    "SELECT coalesce(sum(credits), 0) AS credits FROM reversal WHERE payment_intent = ?1 AND state IN ('taken', 'lost')",
  );
  const setReversed = db.prepare("UPDATE purchase SET reversed_credits = ?2 WHERE seq = ?1");
  const setLowBalance = db.prepare(
    "INSERT INTO low_balance VALUES (?1, ?2) ON CONFLICT (account_seq) DO UPDATE SET credits = excluded.credits WHERE credits <> excluded.credits",
  );
  const audit = preparePurchaseAudit(db);
  const dropLowBalance = db.prepare("DELETE FROM low_balance WHERE account_seq = ?1");

  const named = (id: string): Stored => {
    const found = selectById.get(id);
    if (!found) throw new DeedRefused(`there is no purchase ${id}`);
    return found;
  };
  const answer = (of: Stored | null, changed: boolean, movedCredits: Credits = 0): PurchaseOutcome => {
    const now = of && selectById.get(of.id);
    const account = now && selectAccount.get(now.account_seq);
    const purchase = now && account ? { id: now.id, accountId: account.id, state: now.state, owedCredits: account.owed } : null;
    return { kind: "purchase", changed, movedCredits, purchase };
  };

  const open = (deed: OpenPurchaseDeed): PurchaseOutcome => {
    const known = selectById.get(deed.id);
    if (known) {
      if (known.account_seq !== deed.accountSeq || known.credits !== deed.credits || known.provider !== deed.provider)
        throw new DeedRefused(`the purchase ${deed.id} is another one`);
      return answer(known, false);
    }
    insertPurchase.run(deed.id, deed.accountSeq, deed.personId, deed.credits, deed.provider, deed.atMs, deed.expiresAtMs);
    return answer(named(deed.id), true);
  };

  /** Takes back, or gives back, the difference between what is to be reversed of a purchase and what is. */
  const reverse = (bought: Stored, atMs: number): Credits => {
    if (bought.state !== "paid" || bought.payment_intent === null) return 0;
    const due = Math.min(bought.credits, sumReversals.get(bought.payment_intent)?.credits ?? 0);
    const credits = bought.reversed_credits - due;
    if (credits === 0) return 0;
    const why = credits < 0 ? "taken" : "returned";
    const times = countLinks.get(bought.seq)?.n ?? 0;
    const { seq, movedCredits } = credit({
      ...{ accountSeq: bought.account_seq, kind: "adjust", credits, atMs },
      note: why === "taken" ? `taken back of purchase ${bought.id}` : `given back of purchase ${bought.id}`,
      reference: `${bought.id} ${times}`,
    });
    insertLink.run(seq, bought.seq, why);
    setReversed.run(bought.seq, due);
    return movedCredits;
  };

  const pay = ({ id, payment, atMs }: PayPurchaseDeed): PurchaseOutcome => {
    const bought = named(id);
    const { sessionId, paymentIntent, amountCredits, currency } = payment;
    if (bought.session_id !== null && bought.session_id !== sessionId)
      throw new DeedRefused(`the purchase ${id} belongs to another checkout`);
    if (bought.state === "paid" || bought.state === "mismatched") return answer(bought, false);
    if (amountCredits !== bought.credits || currency !== "usd") {
      const found = `${amountCredits ?? "no amount"} ${currency.slice(0, 3)}`;
      setMismatched.run(bought.seq, sessionId, paymentIntent, found);
      return answer(bought, true);
    }
    const { seq, movedCredits, isNew } = credit({
      ...{ accountSeq: bought.account_seq, kind: "topup", credits: bought.credits, atMs },
      note: `purchase ${bought.id}`,
      reference: `${bought.id} paid`,
    });
    if (!isNew) throw new DeedRefused(`the reference "${bought.id} paid" was already used`);
    setPaid.run(bought.seq, sessionId, paymentIntent, atMs);
    insertLink.run(seq, bought.seq, "paid");
    return answer(bought, true, movedCredits + reverse(named(id), atMs));
  };

  const noteReversal = (deed: NoteReversalDeed): PurchaseOutcome => {
    const { id, kind, paymentIntent, credits, state, atMs } = deed;
    const { changes } = saveReversal.run(id, kind, paymentIntent, credits, state, atMs);
    const bought = selectByPayment.get(paymentIntent);
    return answer(bought, changes > 0, bought && changes > 0 ? reverse(bought, atMs) : 0);
  };

  const carryOut = (deed: PurchaseDeed): PurchaseOutcome => {
    switch (deed.deed) {
      case "open-purchase":
        return open(deed);
      case "name-checkout": {
        const bought = named(deed.id);
        if (bought.session_id === deed.sessionId) return answer(bought, false);
        setSession.run(bought.seq, deed.sessionId);
        return answer(bought, true);
      }
      case "note-asked":
        return answer(named(deed.id), setAsked.run(deed.id, deed.atMs).changes > 0);
      case "pay-purchase":
        return pay(deed);
      case "expire-purchase":
        return answer(named(deed.id), setExpired.run(deed.id).changes > 0);
      case "note-invoice":
        return answer(named(deed.id), setInvoice.run(deed.id, deed.number, deed.url).changes > 0);
      case "note-reversal":
        return noteReversal(deed);
      case "set-low-balance": {
        const { accountSeq, credits } = deed;
        const { changes } = credits === null ? dropLowBalance.run(accountSeq) : setLowBalance.run(accountSeq, credits);
        return answer(null, changes > 0);
      }
    }
  };
  return (deed: PurchaseDeed): PurchaseOutcome => {
    const outcome = carryOut(deed);
    audit(deed, outcome);
    return outcome;
  };
};
