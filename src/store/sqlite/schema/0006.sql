-- Erasure of what a person wrote.
--
-- Texts of persons are in tables with row numbers whose rows are only added at the end, never deleted, and become shorter at most once.
-- SQLite then never copies such a row from page to page. In other tables a page that was rebuilt can keep old bytes of a moved row, which
-- the later erasure of the row does not reach.

-- The request body as received, and what the client attached by headers; moved out of `generation`, whose rows grow. An erasure sets the body
-- to {} and the labels to null.
CREATE TABLE generation_request (
  generation_seq INTEGER PRIMARY KEY REFERENCES generation (seq),
  body TEXT NOT NULL,
  labels TEXT CHECK (labels IS NULL OR json_type(labels) = 'object')
) STRICT;
INSERT INTO generation_request SELECT seq, body, labels FROM generation ORDER BY seq;

DROP TRIGGER generation_terms_immutable;
DROP TRIGGER generation_final;
DROP TRIGGER generation_labels_immutable;
ALTER TABLE generation DROP COLUMN body;
ALTER TABLE generation DROP COLUMN labels;
-- When request, labels and texts of providers were erased.
ALTER TABLE generation ADD COLUMN erased_at_ms INTEGER CHECK (erased_at_ms IS NULL OR completed_at_ms IS NOT NULL);
-- Generations whose texts may be kept too long, by account.
CREATE INDEX generation_to_erase ON generation (account_seq, completed_at_ms) WHERE completed_at_ms IS NOT NULL AND erased_at_ms IS NULL;

ALTER TABLE account ADD COLUMN prompt_retention_s INTEGER CHECK (prompt_retention_s >= -1);

-- Ended generations whose files have to be deleted now.
CREATE TABLE file_removal (generation_seq INTEGER PRIMARY KEY REFERENCES generation (seq)) STRICT;

-- The same rows as before, in the order of their writing.
CREATE TABLE attempt_request_by_row (
  generation_seq INTEGER NOT NULL,
  attempt_no INTEGER NOT NULL,
  request TEXT NOT NULL,
  PRIMARY KEY (generation_seq, attempt_no),
  FOREIGN KEY (generation_seq, attempt_no) REFERENCES attempt (generation_seq, attempt_no)
) STRICT;
INSERT INTO attempt_request_by_row SELECT generation_seq, attempt_no, request FROM attempt_request ORDER BY generation_seq, attempt_no;
DROP TABLE attempt_request;
ALTER TABLE attempt_request_by_row RENAME TO attempt_request;

-- What providers answered to an attempt, moved out of `attempt`, whose rows grow. A later row replaces the value of an earlier one.
CREATE TABLE attempt_answer (
  seq INTEGER PRIMARY KEY,
  generation_seq INTEGER NOT NULL,
  attempt_no INTEGER NOT NULL,
  results TEXT,
  failure TEXT,
  FOREIGN KEY (generation_seq, attempt_no) REFERENCES attempt (generation_seq, attempt_no)
) STRICT;
INSERT INTO attempt_answer (generation_seq, attempt_no, results, failure) SELECT generation_seq, attempt_no, results, failure FROM attempt
  WHERE results IS NOT NULL OR failure IS NOT NULL ORDER BY generation_seq, attempt_no;
CREATE INDEX attempt_answer_attempt ON attempt_answer (generation_seq, attempt_no);
ALTER TABLE attempt DROP COLUMN results;
ALTER TABLE attempt DROP COLUMN failure;
CREATE VIEW attempt_text (generation_seq, attempt_no, results, failure) AS
  SELECT generation_seq, attempt_no,
    (SELECT t.results FROM attempt_answer t WHERE t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no
      AND t.results IS NOT NULL ORDER BY t.seq DESC LIMIT 1),
    (SELECT t.failure FROM attempt_answer t WHERE t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no
      AND t.failure IS NOT NULL ORDER BY t.seq DESC LIMIT 1)
  FROM attempt a;

CREATE TABLE generation_event_by_row (
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  version INTEGER NOT NULL CHECK (version >= 1),
  at_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  state_after TEXT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (generation_seq, version)
) STRICT;
INSERT INTO generation_event_by_row SELECT generation_seq, version, at_ms, epoch, state_after, event FROM generation_event
  ORDER BY generation_seq, version;
DROP TABLE generation_event;
ALTER TABLE generation_event_by_row RENAME TO generation_event;

CREATE INDEX webhook_delivery_generation ON webhook_delivery (generation_seq) WHERE generation_seq IS NOT NULL;

CREATE TRIGGER generation_request_no_delete BEFORE DELETE ON generation_request
BEGIN SELECT RAISE(ABORT, 'the request of a generation cannot be deleted'); END;
CREATE TRIGGER generation_request_immutable BEFORE UPDATE ON generation_request
WHEN NEW.generation_seq <> OLD.generation_seq OR NEW.body <> '{}' OR NEW.labels IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the request of a generation is immutable until it is erased'); END;
CREATE TRIGGER attempt_request_no_delete BEFORE DELETE ON attempt_request
BEGIN SELECT RAISE(ABORT, 'the request of an attempt cannot be deleted'); END;
CREATE TRIGGER attempt_request_immutable BEFORE UPDATE ON attempt_request
WHEN (NEW.generation_seq, NEW.attempt_no) IS NOT (OLD.generation_seq, OLD.attempt_no) OR NEW.request <> ''
  OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the request of an attempt is immutable until it is erased'); END;
CREATE TRIGGER attempt_answer_no_delete BEFORE DELETE ON attempt_answer
BEGIN SELECT RAISE(ABORT, 'the answer of a provider cannot be deleted'); END;
CREATE TRIGGER attempt_answer_immutable BEFORE UPDATE ON attempt_answer
WHEN (NEW.seq, NEW.generation_seq, NEW.attempt_no) IS NOT (OLD.seq, OLD.generation_seq, OLD.attempt_no)
  OR NEW.results IS NOT iif(NEW.results IS NULL, NULL, OLD.results)
  OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the answer of a provider is immutable until it is erased'); END;
CREATE TRIGGER generation_event_no_delete BEFORE DELETE ON generation_event
BEGIN SELECT RAISE(ABORT, 'a generation event cannot be deleted'); END;
CREATE TRIGGER generation_event_immutable BEFORE UPDATE ON generation_event
WHEN (NEW.generation_seq, NEW.version, NEW.at_ms, NEW.epoch, NEW.state_after, json_extract(NEW.event, '$.type'))
    IS NOT (OLD.generation_seq, OLD.version, OLD.at_ms, OLD.epoch, OLD.state_after, json_extract(OLD.event, '$.type'))
  OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'a generation event is immutable until its texts are erased'); END;
DROP TRIGGER input_file_no_delete;
CREATE TRIGGER input_file_no_delete BEFORE DELETE ON input_file
WHEN NOT EXISTS (SELECT 1 FROM generation WHERE seq = OLD.generation_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the file of an input cannot be deleted until it is erased'); END;
DROP TRIGGER pinned_input_copy_once;
CREATE TRIGGER pinned_input_copy_once BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input
WHEN OLD.sha256 IS NOT NULL AND (NEW.sha256 IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND erased_at_ms IS NOT NULL))
BEGIN SELECT RAISE(ABORT, 'the copy of an input is immutable until it is erased'); END;

CREATE TRIGGER generation_terms_immutable BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  start_deadline_ms, idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, expected_delivery ON generation
BEGIN SELECT RAISE(ABORT, 'the terms of a generation are immutable'); END;
-- An erasure clears the defaults, and sets a fingerprint that was not stored at submission.
CREATE TRIGGER generation_request_terms_immutable BEFORE UPDATE OF input_defaults, fingerprint ON generation
WHEN NEW.erased_at_ms IS NULL OR OLD.erased_at_ms IS NOT NULL OR NEW.input_defaults <> '{}'
  OR NEW.fingerprint IS NOT coalesce(OLD.fingerprint, NEW.fingerprint)
BEGIN SELECT RAISE(ABORT, 'the terms of a generation are immutable until they are erased'); END;
-- After its end, a generation changes at the deletion of its files and at its erasure, each once.
CREATE TRIGGER generation_final BEFORE UPDATE ON generation
WHEN OLD.completed_at_ms IS NOT NULL AND (
  (NEW.status, NEW.message, NEW.cost_credits, NEW.attempts, NEW.error, NEW.output, NEW.completed_at_ms, NEW.files_expire_at_ms)
    IS NOT (OLD.status, OLD.message, OLD.cost_credits, OLD.attempts, OLD.error, OLD.output, OLD.completed_at_ms, OLD.files_expire_at_ms)
  OR (NEW.files_expired_at_ms, NEW.erased_at_ms) IS (OLD.files_expired_at_ms, OLD.erased_at_ms)
  OR NEW.files_expired_at_ms IS NOT coalesce(OLD.files_expired_at_ms, NEW.files_expired_at_ms)
  OR NEW.erased_at_ms IS NOT coalesce(OLD.erased_at_ms, NEW.erased_at_ms))
BEGIN SELECT RAISE(ABORT, 'an ended generation is immutable'); END;
