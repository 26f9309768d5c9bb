-- What says whether two requests under one Idempotency-Key are the same: the SHA-256 of the canonical form, in hex; null for those accepted before
-- or by a node of the release before, whose bodies are compared, and for those without a key.
ALTER TABLE generation ADD COLUMN fingerprint text CHECK (length(fingerprint) = 64);
DROP TRIGGER generation_frozen ON generation;
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added, ordered, fingerprint ON generation FOR EACH ROW
  EXECUTE FUNCTION refuse('what was agreed at submission is never changed');

-- Where keys were used from, a /24 or /48 each, and since when: the first use from one is told in the audit log. At most 100 for a key.
CREATE TABLE key_network (
  key_seq bigint NOT NULL REFERENCES api_key (seq),
  network text NOT NULL,
  first_used_at_ms bigint NOT NULL,
  PRIMARY KEY (key_seq, network)
);
