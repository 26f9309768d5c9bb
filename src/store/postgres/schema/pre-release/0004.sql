-- Refunds and disputes in another currency, disputes that turn again, and accounts that owe; see step 7 of SQLite.
ALTER TABLE reversal ADD COLUMN told_at_ms bigint;
DROP TRIGGER reversal_goes_on ON reversal;
CREATE TRIGGER reversal_goes_on BEFORE UPDATE ON reversal FOR EACH ROW
WHEN ((NEW.id, NEW.kind, NEW.payment_intent) IS DISTINCT FROM (OLD.id, OLD.kind, OLD.payment_intent)
  OR (strpos('asked taken lost returned', NEW.state) < strpos('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR coalesce(NEW.told_at_ms, NEW.at_ms) <= coalesce(OLD.told_at_ms, OLD.at_ms))))
EXECUTE FUNCTION refuse('a refund or dispute keeps its payment and only goes on');

CREATE TABLE foreign_reversal (
  id text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('refund', 'dispute')),
  payment_intent text COLLATE "C" NOT NULL,
  amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  currency text NOT NULL CHECK (length(currency) BETWEEN 1 AND 10 AND currency <> 'usd'),
  state text NOT NULL CHECK (state IN ('asked', 'taken', 'lost', 'returned')),
  told_at_ms bigint NOT NULL,
  at_ms bigint NOT NULL,
  decided_amount bigint,
  decided_credits bigint CHECK (decided_credits BETWEEN 0 AND 9007199254740991),
  decided_at_ms bigint,
  CHECK (decided_amount BETWEEN 1 AND amount),
  CHECK ((decided_amount IS NULL) = (decided_credits IS NULL) AND (decided_amount IS NULL) = (decided_at_ms IS NULL))
);
CREATE INDEX foreign_reversal_payment ON foreign_reversal (payment_intent);
CREATE INDEX foreign_reversal_undecided ON foreign_reversal (id)
  WHERE state IN ('taken', 'lost') AND (decided_amount IS NULL OR decided_amount < amount);
CREATE TRIGGER foreign_reversal_kept BEFORE DELETE ON foreign_reversal FOR EACH ROW
EXECUTE FUNCTION refuse('a refund or dispute is never deleted');
CREATE TRIGGER foreign_reversal_goes_on BEFORE UPDATE ON foreign_reversal FOR EACH ROW
WHEN ((NEW.id, NEW.kind, NEW.payment_intent, NEW.currency) IS DISTINCT FROM (OLD.id, OLD.kind, OLD.payment_intent, OLD.currency)
  OR NEW.amount < OLD.amount OR coalesce(NEW.decided_credits, -1) < coalesce(OLD.decided_credits, -1)
  OR (strpos('asked taken lost returned', NEW.state) < strpos('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR NEW.told_at_ms <= OLD.told_at_ms)))
EXECUTE FUNCTION refuse('a refund or dispute keeps its payment and only goes on');

CREATE INDEX balance_owing ON balance (account_seq) WHERE owed_credits > 0;
