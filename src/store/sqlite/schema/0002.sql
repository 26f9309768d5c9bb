-- What a client attaches to its generation by headers: {"metadata": {name: value} or null, "endUser": text or null}; null without both. An
-- erasure sets it to null.
ALTER TABLE generation ADD COLUMN labels TEXT CHECK (labels IS NULL OR json_type(labels) = 'object');
CREATE TRIGGER generation_labels_immutable BEFORE UPDATE OF labels ON generation
WHEN NEW.labels IS NOT NULL AND NEW.labels IS NOT OLD.labels
BEGIN SELECT RAISE(ABORT, 'the labels of a generation are immutable'); END;

-- The metadata by name and value, in which an account finds its generations.
CREATE TABLE generation_metadata (
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
  value TEXT NOT NULL CHECK (length(value) <= 500),
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  PRIMARY KEY (account_seq, name, value, generation_seq)
) STRICT, WITHOUT ROWID;
