-- What must hold of the rows whatever the code does; a constraint's code (23514), so that it refuses the deed that broke it.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER posting_stays BEFORE UPDATE ON posting FOR EACH ROW EXECUTE FUNCTION refuse('a movement is never changed');
CREATE TRIGGER posting_kept BEFORE DELETE ON posting FOR EACH ROW EXECUTE FUNCTION refuse('a movement is never deleted');
CREATE TRIGGER journal_stays BEFORE UPDATE ON journal FOR EACH ROW EXECUTE FUNCTION refuse('a journal line is never changed');
CREATE TRIGGER journal_kept BEFORE DELETE ON journal FOR EACH ROW EXECUTE FUNCTION refuse('a journal line is never deleted');
CREATE TRIGGER request_stays BEFORE UPDATE ON attempt_request FOR EACH ROW EXECUTE FUNCTION refuse('a request is never changed');
CREATE TRIGGER request_kept BEFORE DELETE ON attempt_request FOR EACH ROW EXECUTE FUNCTION refuse('a request is never deleted');
CREATE TRIGGER plan_stays BEFORE UPDATE ON plan FOR EACH ROW EXECUTE FUNCTION refuse('a plan is never changed');
CREATE TRIGGER plan_kept BEFORE DELETE ON plan FOR EACH ROW EXECUTE FUNCTION refuse('a plan is never deleted');
CREATE TRIGGER options_stay BEFORE UPDATE ON route_options FOR EACH ROW
  EXECUTE FUNCTION refuse('what an attempt was begun with is never changed');
CREATE TRIGGER options_kept BEFORE DELETE ON route_options FOR EACH ROW
  EXECUTE FUNCTION refuse('what an attempt was begun with is never deleted');
CREATE TRIGGER credit_stays BEFORE UPDATE ON credit FOR EACH ROW EXECUTE FUNCTION refuse('a credit is never changed');
CREATE TRIGGER credit_kept BEFORE DELETE ON credit FOR EACH ROW EXECUTE FUNCTION refuse('a credit is never deleted');
CREATE TRIGGER generation_kept BEFORE DELETE ON generation FOR EACH ROW EXECUTE FUNCTION refuse('a generation is never deleted');
CREATE TRIGGER attempt_kept BEFORE DELETE ON attempt FOR EACH ROW EXECUTE FUNCTION refuse('an attempt is never deleted');
CREATE TRIGGER claim_stays BEFORE UPDATE OR DELETE ON claim FOR EACH ROW EXECUTE FUNCTION refuse('a claim stays');
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION refuse('a line of the audit log is never changed');
CREATE TRIGGER audit_kept BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse('a line of the audit log is never deleted');
CREATE TRIGGER person_stays BEFORE UPDATE OF seq, id, email, created_at_ms ON person FOR EACH ROW
  EXECUTE FUNCTION refuse('who somebody is never changes');
CREATE TRIGGER person_kept BEFORE DELETE ON person FOR EACH ROW EXECUTE FUNCTION refuse('a person is disabled, never deleted');
CREATE TRIGGER invitation_kept BEFORE DELETE ON invitation FOR EACH ROW EXECUTE FUNCTION refuse('an invitation is never deleted');
CREATE TRIGGER settled_stays BEFORE UPDATE ON owed_settled FOR EACH ROW EXECUTE FUNCTION refuse('what settled a debt is never changed');
CREATE TRIGGER settled_kept BEFORE DELETE ON owed_settled FOR EACH ROW EXECUTE FUNCTION refuse('what settled a debt is never deleted');
CREATE TRIGGER purchase_kept BEFORE DELETE ON purchase FOR EACH ROW EXECUTE FUNCTION refuse('a purchase is never deleted');
CREATE TRIGGER purchase_frozen BEFORE UPDATE OF seq, id, account_seq, person_id, credits, provider, created_at_ms, expires_at_ms ON purchase
  FOR EACH ROW EXECUTE FUNCTION refuse('what was asked for is never changed');
CREATE TRIGGER purchase_credit_stays BEFORE UPDATE ON purchase_credit FOR EACH ROW
  EXECUTE FUNCTION refuse('what a credit was for is never changed');
CREATE TRIGGER purchase_credit_kept BEFORE DELETE ON purchase_credit FOR EACH ROW
  EXECUTE FUNCTION refuse('what a credit was for is never deleted');
CREATE TRIGGER reversal_kept BEFORE DELETE ON reversal FOR EACH ROW EXECUTE FUNCTION refuse('a refund or dispute is never deleted');
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added ON generation FOR EACH ROW
  EXECUTE FUNCTION refuse('what was agreed at submission is never changed');
CREATE TRIGGER attempt_frozen BEFORE UPDATE OF seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits ON attempt
  FOR EACH ROW EXECUTE FUNCTION refuse('what an attempt was begun with is never changed');

-- What a statement of a batch must have found: as many rows as it is about, or nothing of the batch is written.
CREATE FUNCTION insist(met bigint, wanted bigint, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF met <> wanted THEN
    RAISE EXCEPTION USING MESSAGE = otherwise, ERRCODE = 'check_violation';
  END IF;
END $$;

-- A balance moves along its chain: from its new end back to where it was, each movement follows from the one before it. Many may be written
-- at once, so all of them are walked.
CREATE FUNCTION balance_moves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  at bigint := NEW.chain_end;
  place bigint := NEW.chain_seq;
  available bigint := NEW.available_credits;
  held bigint := NEW.held_credits;
  charged bigint := NEW.charged_credits;
  link record;
BEGIN
  IF NEW.chain_seq <= OLD.chain_seq THEN
    RAISE EXCEPTION 'a balance changes only with the next movement of its chain' USING ERRCODE = 'check_violation';
  END IF;
  WHILE place > OLD.chain_seq LOOP
    IF at < 0 THEN
      SELECT hold_chain_seq AS chain_seq, hold_previous AS previous, hold_available_after AS available_after, hold_held_after AS held_after,
        reserved_credits AS credits, 'available' AS from_side, 'held' AS to_side INTO link
      FROM generation WHERE seq = -at AND account_seq = NEW.account_seq;
    ELSE
      SELECT p.chain_seq, p.previous, p.available_after, p.held_after, p.credits, p.from_side, p.to_side INTO link
      FROM posting p WHERE p.seq = at AND p.account_seq = NEW.account_seq;
    END IF;
    IF NOT FOUND OR link.chain_seq <> place OR link.available_after <> available OR link.held_after <> held THEN
      RAISE EXCEPTION 'a movement agrees with its account' USING ERRCODE = 'check_violation';
    END IF;
    available := available + CASE 'available' WHEN link.from_side THEN link.credits WHEN link.to_side THEN -link.credits ELSE 0 END;
    held := held + CASE 'held' WHEN link.from_side THEN link.credits WHEN link.to_side THEN -link.credits ELSE 0 END;
    charged := charged + CASE 'charged' WHEN link.to_side THEN -link.credits ELSE 0 END;
    at := link.previous;
    place := place - 1;
  END LOOP;
  IF at IS DISTINCT FROM OLD.chain_end
    OR (available, held, charged) IS DISTINCT FROM (OLD.available_credits, OLD.held_credits, OLD.charged_credits) THEN
    RAISE EXCEPTION 'a movement agrees with its account' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER balance_moves BEFORE UPDATE OF available_credits, held_credits, charged_credits, chain_seq, chain_end ON balance
  FOR EACH ROW EXECUTE FUNCTION balance_moves();

CREATE FUNCTION posting_settles() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  reserved bigint;
BEGIN
  SELECT reserved_credits INTO reserved FROM generation
  WHERE seq = NEW.generation_seq AND account_seq = NEW.account_seq AND completed_at_ms IS NULL;
  IF reserved IS NULL THEN
    RAISE EXCEPTION 'a settlement comes before the end of its generation' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.credits > reserved - (SELECT coalesce(sum(credits), 0) FROM posting WHERE generation_seq = NEW.generation_seq) THEN
    RAISE EXCEPTION 'a settlement takes at most what is held' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER posting_settles BEFORE INSERT ON posting FOR EACH ROW WHEN (NEW.generation_seq IS NOT NULL)
  EXECUTE FUNCTION posting_settles();

CREATE TRIGGER generation_ended BEFORE UPDATE ON generation FOR EACH ROW
WHEN (OLD.completed_at_ms IS NOT NULL AND (OLD.files_expired_at_ms IS NOT NULL OR NEW.files_expired_at_ms IS NULL OR
  (NEW.status, NEW.message, NEW.cost_credits, NEW.attempts, NEW.error, NEW.output, NEW.completed_at_ms, NEW.files_expire_at_ms)
  IS DISTINCT FROM (OLD.status, OLD.message, OLD.cost_credits, OLD.attempts, OLD.error, OLD.output, OLD.completed_at_ms,
  OLD.files_expire_at_ms)))
EXECUTE FUNCTION refuse('a generation that has ended is never changed');
CREATE TRIGGER generation_goes_on BEFORE UPDATE OF status ON generation FOR EACH ROW
WHEN ((NEW.status = 'queued' AND OLD.status <> 'queued') OR (NEW.status = 'succeeded' AND OLD.status = 'queued'))
EXECUTE FUNCTION refuse('a generation goes from queued to running to its end');

-- The row that ends the generation needs the rows that moved its money.
CREATE FUNCTION generation_ends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  released bigint := coalesce((SELECT credits FROM posting WHERE generation_seq = NEW.seq AND kind = 'release'), 0);
BEGIN
  IF NEW.status = 'succeeded' AND NOT (
    EXISTS (SELECT 1 FROM posting m JOIN attempt a ON a.seq = m.generation_seq AND a.n = m.attempt_n
      WHERE m.generation_seq = NEW.seq AND m.kind = 'capture' AND m.credits = NEW.cost_credits
      AND a.state = 'delivered' AND a.price_credits = NEW.cost_credits)
    AND released = NEW.reserved_credits - NEW.cost_credits) THEN
    RAISE EXCEPTION 'a generation succeeds with the capture of its cost' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status = 'failed' AND (
    released <> NEW.reserved_credits
    OR EXISTS (SELECT 1 FROM posting WHERE generation_seq = NEW.seq AND kind = 'capture')
    OR EXISTS (SELECT 1 FROM attempt WHERE seq = NEW.seq AND state = 'delivered')) THEN
    RAISE EXCEPTION 'a generation fails with the release of its hold' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER generation_ends BEFORE UPDATE OF status ON generation FOR EACH ROW
WHEN (NEW.status <> OLD.status AND NEW.status IN ('succeeded', 'failed')) EXECUTE FUNCTION generation_ends();

CREATE FUNCTION attempt_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state <> 'intent' OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NULL) THEN
    RAISE EXCEPTION 'an attempt begins as an intent of a generation that has not ended' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER attempt_begins BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION attempt_begins();
CREATE TRIGGER attempt_runs_once BEFORE UPDATE OF ends_at_ms, job_id ON attempt FOR EACH ROW
WHEN (NEW.ends_at_ms IS DISTINCT FROM coalesce(OLD.ends_at_ms, NEW.ends_at_ms)
  OR NEW.job_id IS DISTINCT FROM coalesce(OLD.job_id, NEW.job_id))
EXECUTE FUNCTION refuse('the route time of an attempt is never restarted, and it owns one job');
CREATE FUNCTION attempt_after_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NOT NULL) THEN
    RAISE EXCEPTION 'after the end an attempt is not sent and not charged' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER attempt_after_end BEFORE UPDATE ON attempt FOR EACH ROW
WHEN ((OLD.state = 'delivered') <> (NEW.state = 'delivered') OR NEW.sent_at_ms IS DISTINCT FROM OLD.sent_at_ms
  OR NEW.ends_at_ms IS DISTINCT FROM OLD.ends_at_ms OR (NEW.state <> OLD.state AND NEW.state IN ('intent', 'sending')))
EXECUTE FUNCTION attempt_after_end();

-- Two operators who step down at the same moment wait for each other here.
CREATE FUNCTION operator_remains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM person WHERE role = 'operator' AND disabled_at_ms IS NULL AND seq <> OLD.seq ORDER BY seq FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'this is the last operator: make somebody else one first' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER operator_remains BEFORE UPDATE OF role, disabled_at_ms ON person FOR EACH ROW
WHEN (OLD.role = 'operator' AND OLD.disabled_at_ms IS NULL AND (NEW.role <> 'operator' OR NEW.disabled_at_ms IS NOT NULL))
EXECUTE FUNCTION operator_remains();
CREATE FUNCTION session_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM person WHERE seq = NEW.person_seq AND disabled_at_ms IS NULL) THEN
    RAISE EXCEPTION 'somebody who is disabled does not sign in' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER session_begins BEFORE INSERT ON session FOR EACH ROW EXECUTE FUNCTION session_begins();
CREATE TRIGGER session_stays BEFORE UPDATE ON session FOR EACH ROW
WHEN (OLD.ended_at_ms IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.person_seq, NEW.created_at_ms, NEW.expires_at_ms)
    IS DISTINCT FROM (OLD.hash, OLD.id, OLD.person_seq, OLD.created_at_ms, OLD.expires_at_ms))
EXECUTE FUNCTION refuse('a session that has ended stays so, and none becomes another');
CREATE TRIGGER invitation_stays BEFORE UPDATE ON invitation FOR EACH ROW
WHEN (coalesce(OLD.used_at_ms, OLD.withdrawn_at_ms) IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.kind, NEW.role, NEW.account_name, NEW.email, NEW.created_at_ms, NEW.expires_at_ms)
    IS DISTINCT FROM (OLD.hash, OLD.id, OLD.kind, OLD.role, OLD.account_name, OLD.email, OLD.created_at_ms, OLD.expires_at_ms))
EXECUTE FUNCTION refuse('an invitation is used or withdrawn once, and never changes');

CREATE TRIGGER purchase_names_once BEFORE UPDATE ON purchase FOR EACH ROW
WHEN (NEW.session_id IS DISTINCT FROM coalesce(OLD.session_id, NEW.session_id)
  OR NEW.payment_intent IS DISTINCT FROM coalesce(OLD.payment_intent, NEW.payment_intent)
  OR NEW.paid_at_ms IS DISTINCT FROM coalesce(OLD.paid_at_ms, NEW.paid_at_ms)
  OR NEW.receipt IS DISTINCT FROM coalesce(OLD.receipt, NEW.receipt)
  OR NEW.invoice_number IS DISTINCT FROM coalesce(OLD.invoice_number, NEW.invoice_number)
  OR NEW.invoice_url IS DISTINCT FROM coalesce(OLD.invoice_url, NEW.invoice_url))
EXECUTE FUNCTION refuse('what is known of a payment is never changed');
CREATE TRIGGER purchase_goes_on BEFORE UPDATE OF state ON purchase FOR EACH ROW
WHEN (NEW.state <> OLD.state AND (NEW.state = 'open' OR OLD.state IN ('paid', 'mismatched')))
EXECUTE FUNCTION refuse('a purchase goes from open to its end');
CREATE FUNCTION purchase_pays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM purchase p JOIN credit c ON c.seq = NEW.credit_seq WHERE p.seq = NEW.purchase_seq
    AND c.account_seq = p.account_seq AND c.kind = 'topup' AND c.asked_credits = p.credits AND c.moved_credits = p.credits) THEN
    RAISE EXCEPTION 'a purchase is credited with what was paid for it' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER purchase_pays BEFORE INSERT ON purchase_credit FOR EACH ROW WHEN (NEW.why = 'paid') EXECUTE FUNCTION purchase_pays();
CREATE TRIGGER reversal_goes_on BEFORE UPDATE ON reversal FOR EACH ROW
WHEN ((NEW.id, NEW.kind, NEW.payment_intent) IS DISTINCT FROM (OLD.id, OLD.kind, OLD.payment_intent)
  OR strpos('asked taken lost returned', NEW.state) < strpos('asked taken lost returned', OLD.state))
EXECUTE FUNCTION refuse('a refund or dispute keeps its payment and only goes on');
