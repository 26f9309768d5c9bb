-- End users: whom an account makes its generations for, with their limits and their spending.

-- An end user of an account, named by the header of its submissions or by its limit. Without a limit both columns are null. `term` is a digest
-- of the name; an erasure replaces it, so that the same name begins another end user.
CREATE TABLE end_user (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  term TEXT NOT NULL,
  limit_window TEXT CHECK (limit_window IN ('day', 'week', 'month', 'total')),
  limit_credits INTEGER CHECK (limit_credits BETWEEN 0 AND 9007199254740991),
  created_at_ms INTEGER NOT NULL,
  -- When its name was erased: with its last generation, and without a limit.
  erased_at_ms INTEGER,
  UNIQUE (account_seq, term),
  CHECK ((limit_window IS NULL) = (limit_credits IS NULL)),
  CHECK (erased_at_ms IS NULL OR limit_window IS NULL)
) STRICT;
CREATE INDEX end_user_account ON end_user (account_seq) WHERE erased_at_ms IS NULL;

-- The names, in a table whose rows are added at the end and only become shorter (see 0006.sql). An erasure makes a name empty.
CREATE TABLE end_user_name (
  end_user_seq INTEGER PRIMARY KEY REFERENCES end_user (seq),
  name TEXT NOT NULL CHECK (length(name) <= 120)
) STRICT;

-- A day (since 1970, UTC) of an end user. `spent_credits` and `held_credits` are of the generations submitted on the day: holds plus costs, and
-- holds alone. The other columns are of the generations that ended on the day.
CREATE TABLE end_user_day (
  end_user_seq INTEGER NOT NULL REFERENCES end_user (seq),
  day INTEGER NOT NULL,
  spent_credits INTEGER NOT NULL CHECK (spent_credits BETWEEN 0 AND 9007199254740991),
  held_credits INTEGER NOT NULL CHECK (held_credits BETWEEN 0 AND spent_credits),
  succeeded INTEGER NOT NULL CHECK (succeeded >= 0),
  failed INTEGER NOT NULL CHECK (failed >= 0),
  charged_credits INTEGER NOT NULL CHECK (charged_credits BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (end_user_seq, day)
) STRICT, WITHOUT ROWID;

-- The end user whose days count the generation; null: none. An erasure sets it to null.
ALTER TABLE generation ADD COLUMN end_user_seq INTEGER REFERENCES end_user (seq);
CREATE INDEX generation_end_user ON generation (end_user_seq) WHERE end_user_seq IS NOT NULL;

CREATE TRIGGER end_user_terms_immutable BEFORE UPDATE OF seq, account_seq, created_at_ms ON end_user
BEGIN SELECT RAISE(ABORT, 'the terms of an end user are immutable'); END;
CREATE TRIGGER end_user_erased_once BEFORE UPDATE OF term, erased_at_ms ON end_user
WHEN OLD.erased_at_ms IS NOT NULL OR NEW.erased_at_ms IS NULL
  OR EXISTS (SELECT 1 FROM generation WHERE end_user_seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'an end user is erased once, with its last generation'); END;
CREATE TRIGGER end_user_name_immutable BEFORE UPDATE ON end_user_name
WHEN NEW.end_user_seq <> OLD.end_user_seq OR NEW.name <> ''
  OR NOT EXISTS (SELECT 1 FROM end_user WHERE seq = NEW.end_user_seq AND erased_at_ms IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the name of an end user is immutable until it is erased'); END;
CREATE TRIGGER end_user_name_no_delete BEFORE DELETE ON end_user_name
BEGIN SELECT RAISE(ABORT, 'the name of an end user cannot be deleted'); END;
CREATE TRIGGER generation_end_user_immutable BEFORE UPDATE OF end_user_seq ON generation
WHEN NEW.end_user_seq IS NOT NULL OR (OLD.end_user_seq IS NOT NULL AND NEW.erased_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'the end user of a generation is immutable until it is erased'); END;
