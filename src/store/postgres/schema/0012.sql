CREATE TABLE spend_alert (
  account_seq bigint PRIMARY KEY REFERENCES account (seq),
  credits bigint NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  reached_month_day bigint CHECK (reached_month_day >= 0),
  reached_at_ms bigint,
  CHECK ((reached_month_day IS NULL) = (reached_at_ms IS NULL))
);
