-- Erasure of what a person wrote. Overwritten rows remain as dead row versions until VACUUM; see docs/decisions/0021.

ALTER TABLE generation ADD COLUMN erased_at_ms bigint CHECK (erased_at_ms IS NULL OR completed_at_ms IS NOT NULL);
CREATE INDEX generation_to_erase ON generation (account_seq, completed_at_ms) WHERE completed_at_ms IS NOT NULL AND erased_at_ms IS NULL;
ALTER TABLE account ADD COLUMN prompt_retention_s bigint CHECK (prompt_retention_s >= -1);
CREATE TABLE file_removal (generation_seq bigint PRIMARY KEY REFERENCES generation (seq));
CREATE INDEX webhook_delivery_generation ON webhook_delivery (generation_seq) WHERE generation_seq IS NOT NULL;

-- Metadata is indexed by digests of name and value, as on SQLite (src/store/sql/metadata-term.ts).
CREATE FUNCTION metadata_digest(text) RETURNS text LANGUAGE sql AS $$ SELECT left(encode(sha256(convert_to($1, 'UTF8')), 'hex'), 32) $$;
DELETE FROM generation_metadata;
INSERT INTO generation_metadata (account_seq, name, value, generation_seq)
  SELECT g.account_seq, metadata_digest(m.key), metadata_digest(m.key || '=' || m.value), g.seq
  FROM (SELECT account_seq, seq, CAST(labels AS json) -> 'metadata' AS metadata FROM generation WHERE labels IS NOT NULL) g
    CROSS JOIN LATERAL json_each_text(CASE json_typeof(g.metadata) WHEN 'object' THEN g.metadata ELSE '{}' END) m;
DROP FUNCTION metadata_digest;

-- The texts of a generation and of its attempts, which SQLite has in tables of their own. Shared statements read them here.
CREATE VIEW attempt_text (generation_seq, attempt_no, results, failure) AS
  SELECT generation_seq, attempt_no, results, failure FROM attempt;
CREATE VIEW generation_request (generation_seq, body, labels) AS SELECT seq, body, labels FROM generation;

-- Rejects a change of a row unless its generation is erased.
CREATE FUNCTION reject_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM generation WHERE seq = OLD.generation_seq AND erased_at_ms IS NOT NULL) THEN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER attempt_request_immutable ON attempt_request;
CREATE TRIGGER attempt_request_immutable BEFORE UPDATE ON attempt_request FOR EACH ROW
  WHEN ((NEW.generation_seq, NEW.attempt_no) IS DISTINCT FROM (OLD.generation_seq, OLD.attempt_no) OR NEW.request <> '')
  EXECUTE FUNCTION reject('the request of an attempt is immutable until it is erased');
CREATE TRIGGER attempt_request_erased BEFORE UPDATE ON attempt_request FOR EACH ROW
  EXECUTE FUNCTION reject_unless_erased('the request of an attempt is immutable until it is erased');
DROP TRIGGER generation_event_immutable ON generation_event;
CREATE TRIGGER generation_event_immutable BEFORE UPDATE ON generation_event FOR EACH ROW
  WHEN ((NEW.generation_seq, NEW.version, NEW.at_ms, NEW.epoch, NEW.state_after, CAST(NEW.event AS json) ->> 'type')
    IS DISTINCT FROM (OLD.generation_seq, OLD.version, OLD.at_ms, OLD.epoch, OLD.state_after, CAST(OLD.event AS json) ->> 'type'))
  EXECUTE FUNCTION reject('a generation event is immutable until its texts are erased');
CREATE TRIGGER generation_event_erased BEFORE UPDATE ON generation_event FOR EACH ROW
  EXECUTE FUNCTION reject_unless_erased('a generation event is immutable until its texts are erased');
DROP TRIGGER input_file_no_delete ON input_file;
CREATE TRIGGER input_file_no_delete BEFORE DELETE ON input_file FOR EACH ROW
  EXECUTE FUNCTION reject_unless_erased('the file of an input cannot be deleted until it is erased');
DROP TRIGGER pinned_input_copy_once ON pinned_input;
CREATE TRIGGER pinned_input_copy_once BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input FOR EACH ROW
  WHEN (OLD.sha256 IS NOT NULL AND NEW.sha256 IS NOT NULL)
  EXECUTE FUNCTION reject('the copy of an input is immutable until it is erased');
CREATE TRIGGER pinned_input_erased BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input FOR EACH ROW
  WHEN (OLD.sha256 IS NOT NULL AND NEW.sha256 IS NULL)
  EXECUTE FUNCTION reject_unless_erased('the copy of an input is immutable until it is erased');

DROP TRIGGER generation_terms_immutable ON generation;
CREATE TRIGGER generation_terms_immutable BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  start_deadline_ms, idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, expected_delivery ON generation FOR EACH ROW
  EXECUTE FUNCTION reject('the terms of a generation are immutable');
-- The erasure first marks the row, which clears the defaults and sets a fingerprint that was not stored at submission. Then it overwrites
-- body and labels.
CREATE TRIGGER generation_request_terms_immutable BEFORE UPDATE OF input_defaults, fingerprint ON generation FOR EACH ROW
  WHEN (NEW.erased_at_ms IS NULL OR OLD.erased_at_ms IS NOT NULL OR NEW.input_defaults <> '{}'
    OR NEW.fingerprint IS DISTINCT FROM coalesce(OLD.fingerprint, NEW.fingerprint))
  EXECUTE FUNCTION reject('the terms of a generation are immutable until they are erased');
DROP TRIGGER generation_labels_immutable ON generation;
CREATE TRIGGER generation_labels_immutable BEFORE UPDATE OF body, labels ON generation FOR EACH ROW
  WHEN (NEW.body <> '{}' OR NEW.labels IS NOT NULL OR OLD.erased_at_ms IS NULL)
  EXECUTE FUNCTION reject('the request of a generation is immutable until it is erased');
DROP TRIGGER generation_final ON generation;
CREATE TRIGGER generation_final BEFORE UPDATE ON generation FOR EACH ROW
WHEN (OLD.completed_at_ms IS NOT NULL AND (
  (NEW.status, NEW.message, NEW.cost_credits, NEW.attempts, NEW.error, NEW.output, NEW.completed_at_ms, NEW.files_expire_at_ms)
    IS DISTINCT FROM (OLD.status, OLD.message, OLD.cost_credits, OLD.attempts, OLD.error, OLD.output, OLD.completed_at_ms,
    OLD.files_expire_at_ms)
  OR (NEW.files_expired_at_ms, NEW.erased_at_ms, NEW.body, NEW.labels)
    IS NOT DISTINCT FROM (OLD.files_expired_at_ms, OLD.erased_at_ms, OLD.body, OLD.labels)
  OR NEW.files_expired_at_ms IS DISTINCT FROM coalesce(OLD.files_expired_at_ms, NEW.files_expired_at_ms)
  OR NEW.erased_at_ms IS DISTINCT FROM coalesce(OLD.erased_at_ms, NEW.erased_at_ms)))
EXECUTE FUNCTION reject('an ended generation is immutable');
