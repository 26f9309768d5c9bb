-- What says whether two requests under one Idempotency-Key are the same: the SHA-256 of the canonical form, in hex; null for those accepted before,
-- whose bodies are compared, and for those without a key.
ALTER TABLE generation ADD COLUMN fingerprint TEXT CHECK (length(fingerprint) = 64);
DROP TRIGGER generation_frozen;
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added, ordered, fingerprint ON generation
BEGIN SELECT RAISE(ABORT, 'what was agreed at submission is never changed'); END;

-- Where keys were used from, a /24 or /48 each, and since when: the first use from one is told in the audit log. At most 100 for a key.
CREATE TABLE key_network (
  key_seq INTEGER NOT NULL REFERENCES api_key (seq),
  network TEXT NOT NULL,
  first_used_at_ms INTEGER NOT NULL,
  PRIMARY KEY (key_seq, network)
) STRICT, WITHOUT ROWID;
