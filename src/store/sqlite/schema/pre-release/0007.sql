-- Refunds and disputes in another currency, disputes that turn again, and accounts that owe.

-- When the provider says it was so. Absent: of before this step, or of a release before it; it was not later than `at_ms`.
ALTER TABLE reversal ADD COLUMN told_at_ms INTEGER;

-- A dispute that was won may be lost later, and the other way round: what is told of it later counts. A refund only goes on.
DROP TRIGGER reversal_goes_on;
CREATE TRIGGER reversal_goes_on BEFORE UPDATE ON reversal
WHEN (NEW.id, NEW.kind, NEW.payment_intent) IS NOT (OLD.id, OLD.kind, OLD.payment_intent)
  OR (instr('asked taken lost returned', NEW.state) < instr('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR coalesce(NEW.told_at_ms, NEW.at_ms) <= coalesce(OLD.told_at_ms, OLD.at_ms)))
BEGIN SELECT RAISE(ABORT, 'a refund or dispute keeps its payment and only goes on'); END;

-- Refunds and disputes in another currency than usd: what they take back in credits is not known until an operator has decided it. Then a
-- row of `reversal` has the credits, and what is told of it later changes that. One of a greater amount than was decided about is undecided.
CREATE TABLE foreign_reversal (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'dispute')),
  payment_intent TEXT NOT NULL,
  -- In the smallest unit of the currency.
  amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  currency TEXT NOT NULL CHECK (length(currency) BETWEEN 1 AND 10 AND currency <> 'usd'),
  state TEXT NOT NULL CHECK (state IN ('asked', 'taken', 'lost', 'returned')),
  told_at_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  decided_amount INTEGER CHECK (decided_amount BETWEEN 1 AND amount),
  decided_credits INTEGER CHECK (decided_credits BETWEEN 0 AND 9007199254740991),
  decided_at_ms INTEGER,
  CHECK ((decided_amount IS NULL) = (decided_credits IS NULL) AND (decided_amount IS NULL) = (decided_at_ms IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_reversal_payment ON foreign_reversal (payment_intent);
CREATE INDEX foreign_reversal_undecided ON foreign_reversal (id)
  WHERE state IN ('taken', 'lost') AND (decided_amount IS NULL OR decided_amount < amount);
CREATE TRIGGER foreign_reversal_kept BEFORE DELETE ON foreign_reversal
BEGIN SELECT RAISE(ABORT, 'a refund or dispute is never deleted'); END;
CREATE TRIGGER foreign_reversal_goes_on BEFORE UPDATE ON foreign_reversal
WHEN (NEW.id, NEW.kind, NEW.payment_intent, NEW.currency) IS NOT (OLD.id, OLD.kind, OLD.payment_intent, OLD.currency)
  OR NEW.amount < OLD.amount OR coalesce(NEW.decided_credits, -1) < coalesce(OLD.decided_credits, -1)
  OR (instr('asked taken lost returned', NEW.state) < instr('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR NEW.told_at_ms <= OLD.told_at_ms))
BEGIN SELECT RAISE(ABORT, 'a refund or dispute keeps its payment and only goes on'); END;

-- Few accounts owe, and those that do are asked for.
CREATE INDEX balance_owing ON balance (account_seq) WHERE owed_credits > 0;
