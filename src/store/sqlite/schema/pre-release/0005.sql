-- Purchases of credits, what was taken back of them, and debts that were settled.

-- What settled a debt: an adjustment that took what is owed out of what had come in. Owed is what was asked and not there to take
-- (`credit`), less these.
CREATE TABLE owed_settled (
  credit_seq INTEGER PRIMARY KEY REFERENCES credit (seq),
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991)
) STRICT;
CREATE INDEX owed_settled_account ON owed_settled (account_seq);

-- Accounts that a debt paused, and nobody else: they are open again when it is settled.
CREATE TABLE paused_by_debt (account_seq INTEGER PRIMARY KEY REFERENCES account (seq)) STRICT;

-- Below this much available the account's people are told; absent: the service's default. 0: never.
CREATE TABLE low_balance (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  credits INTEGER NOT NULL CHECK (credits BETWEEN 0 AND 9007199254740991)
) STRICT;

-- A purchase is written before its checkout is asked for. It goes from open to expired, mismatched (paid otherwise than was asked:
-- nothing is credited, a person looks) or paid, and never back.
CREATE TABLE purchase (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  person_id TEXT,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1000 AND 500000 AND credits % 100 = 0),
  provider TEXT NOT NULL CHECK (provider IN ('stripe', 'test')),
  state TEXT NOT NULL CHECK (state IN ('open', 'expired', 'mismatched', 'paid')),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  -- The provider's names of its checkout and of the payment.
  session_id TEXT UNIQUE,
  payment_intent TEXT UNIQUE,
  -- What was paid, as the provider says it, where it is not what was asked.
  found TEXT,
  paid_at_ms INTEGER,
  -- Receipts are numbered without a gap.
  receipt INTEGER UNIQUE CHECK (receipt >= 1),
  invoice_number TEXT,
  invoice_url TEXT,
  -- When the provider was last asked about it; at first, when it was opened. Whoever waited longest is asked next.
  asked_at_ms INTEGER NOT NULL,
  -- How much of it is taken back at present.
  reversed_credits INTEGER NOT NULL DEFAULT 0 CHECK (reversed_credits BETWEEN 0 AND credits),
  CHECK ((state = 'paid') = (receipt IS NOT NULL) AND (receipt IS NULL) = (paid_at_ms IS NULL)),
  CHECK (state <> 'paid' OR session_id IS NOT NULL),
  CHECK (state = 'paid' OR reversed_credits = 0),
  CHECK ((state = 'mismatched') = (found IS NOT NULL))
) STRICT;
CREATE INDEX purchase_account ON purchase (account_seq);
CREATE INDEX purchase_open ON purchase (asked_at_ms) WHERE state = 'open';
CREATE INDEX purchase_mismatched ON purchase (created_at_ms) WHERE state = 'mismatched';
CREATE INDEX purchase_uninvoiced ON purchase (asked_at_ms) WHERE state = 'paid' AND provider = 'stripe' AND invoice_url IS NULL;

-- The credits of a purchase: the one that paid it, those that took it back, and those that gave it back again.
CREATE TABLE purchase_credit (
  credit_seq INTEGER PRIMARY KEY REFERENCES credit (seq),
  purchase_seq INTEGER NOT NULL REFERENCES purchase (seq),
  why TEXT NOT NULL CHECK (why IN ('paid', 'taken', 'returned'))
) STRICT;
CREATE UNIQUE INDEX purchase_paid_once ON purchase_credit (purchase_seq) WHERE why = 'paid';
CREATE INDEX purchase_credits ON purchase_credit (purchase_seq);

-- Refunds and disputes by the provider's names. One may be known before its purchase is: it counts when that is paid. `asked` (an
-- inquiry) takes nothing; `taken` and `lost` do; `returned` (failed, withdrawn or won) no longer does.
CREATE TABLE reversal (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'dispute')),
  payment_intent TEXT NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  state TEXT NOT NULL CHECK (state IN ('asked', 'taken', 'lost', 'returned')),
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reversal_payment ON reversal (payment_intent);

CREATE TRIGGER settled_stays BEFORE UPDATE ON owed_settled BEGIN SELECT RAISE(ABORT, 'what settled a debt is never changed'); END;
CREATE TRIGGER settled_kept BEFORE DELETE ON owed_settled BEGIN SELECT RAISE(ABORT, 'what settled a debt is never deleted'); END;
CREATE TRIGGER purchase_kept BEFORE DELETE ON purchase BEGIN SELECT RAISE(ABORT, 'a purchase is never deleted'); END;
CREATE TRIGGER purchase_frozen BEFORE UPDATE OF seq, id, account_seq, person_id, credits, provider, created_at_ms, expires_at_ms ON purchase
BEGIN SELECT RAISE(ABORT, 'what was asked for is never changed'); END;
CREATE TRIGGER purchase_names_once BEFORE UPDATE ON purchase
WHEN NEW.session_id IS NOT coalesce(OLD.session_id, NEW.session_id) OR NEW.payment_intent IS NOT coalesce(OLD.payment_intent, NEW.payment_intent)
  OR NEW.paid_at_ms IS NOT coalesce(OLD.paid_at_ms, NEW.paid_at_ms) OR NEW.receipt IS NOT coalesce(OLD.receipt, NEW.receipt)
  OR NEW.invoice_number IS NOT coalesce(OLD.invoice_number, NEW.invoice_number)
  OR NEW.invoice_url IS NOT coalesce(OLD.invoice_url, NEW.invoice_url)
BEGIN SELECT RAISE(ABORT, 'what is known of a payment is never changed'); END;
CREATE TRIGGER purchase_goes_on BEFORE UPDATE OF state ON purchase
WHEN NEW.state <> OLD.state AND (NEW.state = 'open' OR OLD.state IN ('paid', 'mismatched'))
BEGIN SELECT RAISE(ABORT, 'a purchase goes from open to its end'); END;
CREATE TRIGGER purchase_credit_stays BEFORE UPDATE ON purchase_credit BEGIN SELECT RAISE(ABORT, 'what a credit was for is never changed'); END;
CREATE TRIGGER purchase_credit_kept BEFORE DELETE ON purchase_credit BEGIN SELECT RAISE(ABORT, 'what a credit was for is never deleted'); END;
CREATE TRIGGER purchase_pays BEFORE INSERT ON purchase_credit
WHEN NEW.why = 'paid' AND NOT EXISTS (SELECT 1 FROM purchase p JOIN credit c ON c.seq = NEW.credit_seq WHERE p.seq = NEW.purchase_seq
  AND c.account_seq = p.account_seq AND c.kind = 'topup' AND c.asked_credits = p.credits AND c.moved_credits = p.credits)
BEGIN SELECT RAISE(ABORT, 'a purchase is credited with what was paid for it'); END;
CREATE TRIGGER reversal_kept BEFORE DELETE ON reversal BEGIN SELECT RAISE(ABORT, 'a refund or dispute is never deleted'); END;
CREATE TRIGGER reversal_goes_on BEFORE UPDATE ON reversal
WHEN (NEW.id, NEW.kind, NEW.payment_intent) IS NOT (OLD.id, OLD.kind, OLD.payment_intent)
  OR instr('asked taken lost returned', NEW.state) < instr('asked taken lost returned', OLD.state)
BEGIN SELECT RAISE(ABORT, 'a refund or dispute keeps its payment and only goes on'); END;

-- What a movement of the ledger was for is found by it.
CREATE INDEX credit_movement ON credit (movement_seq) WHERE movement_seq IS NOT NULL;
