-- What a key may beyond its scope, when it was used, and what generations came to, added up by day.
-- A key without a row has no terms. Keys that follow each other by rotation are one line: what it spends is metered under its first key.
CREATE TABLE key_terms (
  key_seq INTEGER PRIMARY KEY REFERENCES api_key (seq),
  meter_seq INTEGER NOT NULL REFERENCES api_key (seq),
  rotated_from INTEGER UNIQUE REFERENCES api_key (seq),
  expires_at_ms INTEGER,
  models TEXT CHECK (json_type(models) = 'array' AND json_array_length(models) >= 1)
) STRICT;
CREATE INDEX key_terms_meter ON key_terms (meter_seq);

-- The limits of a line, and since when what it spends is metered: at least since the week and the month began in which they were set first.
-- It stays when all limits are taken away.
CREATE TABLE meter (
  seq INTEGER PRIMARY KEY REFERENCES api_key (seq),
  from_day INTEGER NOT NULL,
  day_limit_credits INTEGER CHECK (day_limit_credits >= 1),
  week_limit_credits INTEGER CHECK (week_limit_credits >= 1),
  month_limit_credits INTEGER CHECK (month_limit_credits >= 1)
) STRICT;

-- What the generations that a line submitted on a day (since 1970, UTC) hold while they are open and cost once they have ended.
CREATE TABLE key_spend (
  meter_seq INTEGER NOT NULL REFERENCES meter (seq),
  day INTEGER NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (meter_seq, day)
) STRICT, WITHOUT ROWID;

-- What the generations cost that a key submitted on a day (since 1970, UTC) and that have ended: made with `usage_day`, up to the same
-- posting. What a line has spent when its first limit is set is read from it, not from all of its generations.
CREATE TABLE key_ended (
  key_seq INTEGER NOT NULL,
  day INTEGER NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (key_seq, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_use (key_seq INTEGER PRIMARY KEY REFERENCES api_key (seq), last_used_at_ms INTEGER NOT NULL) STRICT;

-- Generations that have ended, by the day of their end; `wait` is the bucket of the time from submission to end. Made from the postings up
-- to the one that `meta` names `usage_up_to`, and always to be made again from them.
CREATE TABLE usage_day (
  day INTEGER NOT NULL,
  account_seq INTEGER NOT NULL,
  key_seq INTEGER NOT NULL,
  model TEXT NOT NULL,
  wait INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  charged_credits INTEGER NOT NULL,
  wait_ms INTEGER NOT NULL,
  PRIMARY KEY (day, account_seq, key_seq, model, wait)
) STRICT, WITHOUT ROWID;
