-- What was ordered with a generation, and attempts that delivered something else. It only adds: nodes of the release before go on beside it,
-- and what they accept is not compared.

-- What is to be delivered, frozen at submission (src/ordered.ts); null for those accepted before.
ALTER TABLE generation ADD COLUMN ordered text;
DROP TRIGGER generation_frozen ON generation;
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added, ordered ON generation FOR EACH ROW
  EXECUTE FUNCTION refuse('what was agreed at submission is never changed');

ALTER TABLE attempt DROP CONSTRAINT attempt_state_check;
ALTER TABLE attempt ADD CONSTRAINT attempt_state_check CHECK (state IN ('intent', 'sending', 'accepted', 'delivered', 'rejected', 'absent',
  'failed', 'lost', 'capped', 'cancelled', 'superseded', 'late', 'mismatched'));
ALTER TABLE attempt ADD CONSTRAINT attempt_mismatched_job CHECK (state <> 'mismatched' OR job_id IS NOT NULL);
-- What delivered something else is never charged: it stays what it is.
CREATE TRIGGER attempt_mismatched BEFORE UPDATE OF state ON attempt FOR EACH ROW
  WHEN (OLD.state = 'mismatched' AND NEW.state <> 'mismatched')
  EXECUTE FUNCTION refuse('an attempt that delivered something else stays so');
