-- What was ordered with a generation, and attempts that delivered something else.

-- What is to be delivered, frozen at submission (src/ordered.ts); null for those accepted before, which are not compared.
ALTER TABLE generation ADD COLUMN ordered TEXT;
DROP TRIGGER generation_frozen;
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added, ordered ON generation
BEGIN SELECT RAISE(ABORT, 'what was agreed at submission is never changed'); END;

-- A table is made anew to widen one of its checks; foreign keys are off meanwhile, and looked at before the commit. Triggers that name it are
-- dropped before and made again behind it, word for word.
DROP TRIGGER generation_succeeds;
DROP TRIGGER generation_fails;
CREATE TABLE attempt_made_anew (
  seq INTEGER NOT NULL REFERENCES generation (seq),
  n INTEGER NOT NULL CHECK (n >= 1),
  ref TEXT NOT NULL UNIQUE,
  route_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  options_seq INTEGER NOT NULL REFERENCES route_options (seq),
  kind TEXT NOT NULL CHECK (kind IN ('image', 'video', 'audio')),
  price_credits INTEGER NOT NULL CHECK (price_credits BETWEEN 1 AND 9007199254740991),
  state TEXT NOT NULL CHECK (state IN ('intent', 'sending', 'accepted', 'delivered', 'rejected', 'absent', 'failed', 'lost',
    'capped', 'cancelled', 'superseded', 'late', 'mismatched')),
  sent_at_ms INTEGER,
  ends_at_ms INTEGER,
  job_id TEXT,
  job_urls TEXT,
  results TEXT,
  failure TEXT,
  watch_until_ms INTEGER,
  ended_at_ms INTEGER,
  PRIMARY KEY (seq, n),
  CHECK (state <> 'sending' OR sent_at_ms IS NOT NULL),
  CHECK (state NOT IN ('accepted', 'delivered', 'late', 'mismatched') OR job_id IS NOT NULL),
  CHECK (job_id IS NULL OR sent_at_ms IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_made_anew (seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state, sent_at_ms, ends_at_ms,
    job_id, job_urls, results, failure, watch_until_ms, ended_at_ms)
  SELECT seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state, sent_at_ms, ends_at_ms,
    job_id, job_urls, results, failure, watch_until_ms, ended_at_ms FROM attempt ORDER BY seq, n;
DROP TABLE attempt;
ALTER TABLE attempt_made_anew RENAME TO attempt;
CREATE UNIQUE INDEX attempt_job ON attempt (provider, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX attempt_watched ON attempt (seq) WHERE watch_until_ms IS NOT NULL;
CREATE INDEX attempt_delivered ON attempt (route_id, ended_at_ms, sent_at_ms) WHERE state = 'delivered';

CREATE TRIGGER generation_succeeds BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'succeeded' AND OLD.status <> 'succeeded' AND NOT (
  EXISTS (SELECT 1 FROM posting m JOIN attempt a ON a.seq = m.generation_seq AND a.n = m.attempt_n
    WHERE m.generation_seq = NEW.seq AND m.kind = 'capture' AND m.credits = NEW.cost_credits
    AND a.state = 'delivered' AND a.price_credits = NEW.cost_credits)
  AND coalesce((SELECT credits FROM posting WHERE generation_seq = NEW.seq AND kind = 'release'), 0)
    = NEW.reserved_credits - NEW.cost_credits)
BEGIN SELECT RAISE(ABORT, 'a generation succeeds with the capture of its cost'); END;
CREATE TRIGGER generation_fails BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'failed' AND OLD.status <> 'failed' AND (
  coalesce((SELECT credits FROM posting WHERE generation_seq = NEW.seq AND kind = 'release'), 0) <> NEW.reserved_credits
  OR EXISTS (SELECT 1 FROM posting WHERE generation_seq = NEW.seq AND kind = 'capture')
  OR EXISTS (SELECT 1 FROM attempt WHERE seq = NEW.seq AND state = 'delivered'))
BEGIN SELECT RAISE(ABORT, 'a generation fails with the release of its hold'); END;
CREATE TRIGGER attempt_kept BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'an attempt is never deleted'); END;
CREATE TRIGGER attempt_begins BEFORE INSERT ON attempt
WHEN NEW.state <> 'intent' OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt begins as an intent of a generation that has not ended'); END;
CREATE TRIGGER attempt_frozen BEFORE UPDATE OF seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits ON attempt
BEGIN SELECT RAISE(ABORT, 'what an attempt was begun with is never changed'); END;
CREATE TRIGGER attempt_runs_once BEFORE UPDATE OF ends_at_ms, job_id ON attempt
WHEN NEW.ends_at_ms IS NOT coalesce(OLD.ends_at_ms, NEW.ends_at_ms) OR NEW.job_id IS NOT coalesce(OLD.job_id, NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'the route time of an attempt is never restarted, and it owns one job'); END;
CREATE TRIGGER attempt_after_end BEFORE UPDATE ON attempt
WHEN EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NOT NULL)
  AND ((OLD.state = 'delivered') <> (NEW.state = 'delivered') OR NEW.sent_at_ms IS NOT OLD.sent_at_ms
    OR NEW.ends_at_ms IS NOT OLD.ends_at_ms OR (NEW.state <> OLD.state AND NEW.state IN ('intent', 'sending')))
BEGIN SELECT RAISE(ABORT, 'after the end an attempt is not sent and not charged'); END;
-- What delivered something else is never charged: it stays what it is.
CREATE TRIGGER attempt_mismatched BEFORE UPDATE OF state ON attempt
WHEN OLD.state = 'mismatched' AND NEW.state <> 'mismatched'
BEGIN SELECT RAISE(ABORT, 'an attempt that delivered something else stays so'); END;
