-- What says whether two requests under one Idempotency-Key are the same: the SHA-256 of the canonical form, in hex; null for those accepted before,
-- whose bodies are compared, and for those without a key.
ALTER TABLE generation ADD COLUMN fingerprint TEXT CHECK (length(fingerprint) = 64);
DROP TRIGGER generation_frozen;
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added, ordered, fingerprint ON generation
BEGIN SELECT RAISE(ABORT, 'what was agreed at submission is never changed'); END;
