-- What a client attaches to its generation by headers: {"metadata": {name: value} or null, "endUser": text or null}; null without both. An
-- erasure sets it to null.
ALTER TABLE generation ADD COLUMN labels text CHECK (labels IS NULL OR jsonb_typeof(CAST(labels AS jsonb)) = 'object');
CREATE TRIGGER generation_labels_immutable BEFORE UPDATE OF labels ON generation FOR EACH ROW
  WHEN (NEW.labels IS NOT NULL AND NEW.labels IS DISTINCT FROM OLD.labels)
  EXECUTE FUNCTION reject('the labels of a generation are immutable');

-- The metadata by name and value, in which an account finds its generations.
CREATE TABLE generation_metadata (
  account_seq bigint NOT NULL REFERENCES account (seq),
  name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
  value text COLLATE "C" NOT NULL CHECK (length(value) <= 500),
  generation_seq bigint NOT NULL REFERENCES generation (seq),
  PRIMARY KEY (account_seq, name, value, generation_seq)
);
