-- Links of inputs whose length is billed. Each is fetched whole before the first attempt, and our copy of it is what providers are given:
-- what was measured is what is sent. Nothing is known of a copy until it is there.
CREATE TABLE pinned_input (
  seq bigint NOT NULL REFERENCES generation (seq),
  n bigint NOT NULL CHECK (n BETWEEN 1 AND 99),
  field text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('video', 'audio')),
  -- As measured at submission, which is billed, and how far the copy may be from it.
  measured_ms bigint NOT NULL CHECK (measured_ms >= 1),
  frame_ms bigint NOT NULL CHECK (frame_ms BETWEEN 1 AND 1000),
  sha256 text CHECK (length(sha256) = 64),
  bytes bigint CHECK (bytes >= 1),
  mime text,
  ms bigint,
  pinned_at_ms bigint,
  removed_at_ms bigint,
  PRIMARY KEY (seq, n),
  CHECK (CASE WHEN sha256 IS NULL THEN bytes IS NULL AND mime IS NULL AND ms IS NULL AND pinned_at_ms IS NULL
    ELSE bytes IS NOT NULL AND mime IS NOT NULL AND ms IS NOT NULL AND pinned_at_ms IS NOT NULL END),
  CHECK (ms IS NULL OR ms BETWEEN measured_ms - frame_ms AND measured_ms + frame_ms)
);
CREATE INDEX pinned_input_kept ON pinned_input (seq) WHERE removed_at_ms IS NULL;

CREATE TRIGGER pinned_input_frozen BEFORE UPDATE OF seq, n, field, kind, measured_ms, frame_ms ON pinned_input FOR EACH ROW
  EXECUTE FUNCTION refuse('what was measured at submission is never changed');
CREATE TRIGGER pinned_input_once BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input FOR EACH ROW
  WHEN (OLD.sha256 IS NOT NULL) EXECUTE FUNCTION refuse('what was pinned is never changed');
CREATE TRIGGER pinned_input_stays BEFORE DELETE ON pinned_input FOR EACH ROW
  EXECUTE FUNCTION refuse('what was pinned is never deleted');
CREATE FUNCTION attempt_pinned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM pinned_input WHERE seq = NEW.seq AND sha256 IS NULL) THEN
    RAISE EXCEPTION 'an attempt begins when the inputs of its generation are pinned' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER attempt_pinned BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION attempt_pinned();
