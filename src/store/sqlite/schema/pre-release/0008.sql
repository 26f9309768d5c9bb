-- Links of inputs whose length is billed. Each is fetched whole before the first attempt, and our copy of it is what providers are given:
-- what was measured is what is sent. Nothing is known of a copy until it is there.
CREATE TABLE pinned_input (
  seq INTEGER NOT NULL REFERENCES generation (seq),
  n INTEGER NOT NULL CHECK (n BETWEEN 1 AND 99),
  field TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('video', 'audio')),
  -- As measured at submission, which is billed, and how far the copy may be from it.
  measured_ms INTEGER NOT NULL CHECK (measured_ms >= 1),
  frame_ms INTEGER NOT NULL CHECK (frame_ms BETWEEN 1 AND 1000),
  sha256 TEXT CHECK (length(sha256) = 64),
  bytes INTEGER CHECK (bytes >= 1),
  mime TEXT,
  ms INTEGER,
  pinned_at_ms INTEGER,
  removed_at_ms INTEGER,
  PRIMARY KEY (seq, n),
  CHECK (CASE WHEN sha256 IS NULL THEN coalesce(bytes, mime, ms, pinned_at_ms) IS NULL
    ELSE bytes IS NOT NULL AND mime IS NOT NULL AND ms IS NOT NULL AND pinned_at_ms IS NOT NULL END),
  CHECK (ms IS NULL OR ms BETWEEN measured_ms - frame_ms AND measured_ms + frame_ms)
) STRICT, WITHOUT ROWID;
CREATE INDEX pinned_input_kept ON pinned_input (seq) WHERE removed_at_ms IS NULL;

CREATE TRIGGER pinned_input_frozen BEFORE UPDATE OF seq, n, field, kind, measured_ms, frame_ms ON pinned_input
BEGIN SELECT RAISE(ABORT, 'what was measured at submission is never changed'); END;
CREATE TRIGGER pinned_input_once BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input WHEN OLD.sha256 IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'what was pinned is never changed'); END;
CREATE TRIGGER pinned_input_stays BEFORE DELETE ON pinned_input BEGIN SELECT RAISE(ABORT, 'what was pinned is never deleted'); END;
CREATE TRIGGER attempt_pinned BEFORE INSERT ON attempt
WHEN EXISTS (SELECT 1 FROM pinned_input WHERE seq = NEW.seq AND sha256 IS NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt begins when the inputs of its generation are pinned'); END;
