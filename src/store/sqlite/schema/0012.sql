-- Spend alerts: the amount whose spend in a calendar month (UTC) the users of an account are notified about.
CREATE TABLE spend_alert (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  -- The first day (since 1970) of the last month whose spend reached the amount, and when that was recorded. NULL: none.
  reached_month_day INTEGER CHECK (reached_month_day >= 0),
  reached_at_ms INTEGER,
  CHECK ((reached_month_day IS NULL) = (reached_at_ms IS NULL))
) STRICT;
