-- Webhooks: endpoints, the outbox of their deliveries, and the tries of each delivery.

-- An address that receives events of an account. Its secrets are derived from the secret of the database, its id and a version.
CREATE TABLE webhook_endpoint (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  -- The key that created it; NULL: an operator created it.
  key_seq INTEGER REFERENCES api_key (seq),
  url TEXT NOT NULL,
  -- Event types, separated by spaces; * for all.
  events TEXT NOT NULL,
  description TEXT NOT NULL,
  is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  -- Why the service disabled it; NULL: it is enabled, or the account disabled it.
  disabled_reason TEXT,
  secret_version INTEGER NOT NULL DEFAULT 1 CHECK (secret_version > 0),
  -- Until when the previous secret signs as well; NULL: there is none.
  previous_secret_until_ms INTEGER,
  -- First and last failed try since the last success; NULL: the last try succeeded.
  failing_since_ms INTEGER,
  last_failure_at_ms INTEGER,
  created_at_ms INTEGER NOT NULL,
  deleted_at_ms INTEGER,
  CHECK (disabled_reason IS NULL OR is_enabled = 0),
  CHECK (deleted_at_ms IS NULL OR is_enabled = 0),
  CHECK ((failing_since_ms IS NULL) = (last_failure_at_ms IS NULL))
) STRICT;
CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_seq) WHERE deleted_at_ms IS NULL;

-- The version of an account's default secret after its first rotation; before that it is 1.
CREATE TABLE webhook_secret (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  version INTEGER NOT NULL CHECK (version > 1),
  previous_until_ms INTEGER NOT NULL
) STRICT;

-- The address that a submission names for the events of its generation.
CREATE TABLE generation_webhook (
  generation_seq INTEGER PRIMARY KEY REFERENCES generation (seq),
  url TEXT NOT NULL
) STRICT;

-- The outbox: one row for each event and address, written in the transaction that makes the event true. Row numbers rise with time.
CREATE TABLE webhook_delivery (
  seq INTEGER PRIMARY KEY,
  -- Random end of its id, so that ids cannot be guessed.
  token TEXT NOT NULL,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  -- NULL: the address of the submission.
  endpoint_seq INTEGER REFERENCES webhook_endpoint (seq),
  type TEXT NOT NULL,
  generation_seq INTEGER REFERENCES generation (seq),
  -- The data of an event without a generation, as JSON.
  data TEXT,
  -- Rises with each event about the same object.
  sequence INTEGER NOT NULL CHECK (sequence > 0),
  created_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'dropped')),
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  -- Position in the schedule of retries; a redelivery begins again at 0.
  retry_no INTEGER NOT NULL DEFAULT 0 CHECK (retry_no >= 0),
  due_at_ms INTEGER,
  -- The opening that delivers it.
  epoch INTEGER NOT NULL REFERENCES writer_epoch (epoch),
  CHECK ((state = 'pending') = (due_at_ms IS NOT NULL)),
  CHECK ((generation_seq IS NULL) = (data IS NOT NULL)),
  CHECK (endpoint_seq IS NOT NULL OR generation_seq IS NOT NULL)
) STRICT;
CREATE INDEX webhook_delivery_due ON webhook_delivery (coalesce(endpoint_seq, -account_seq), due_at_ms, seq) WHERE state = 'pending';
CREATE INDEX webhook_delivery_by_account ON webhook_delivery (account_seq, seq);
CREATE TRIGGER webhook_delivery_event_immutable
BEFORE UPDATE OF seq, token, account_seq, endpoint_seq, type, generation_seq, data, sequence, created_at_ms ON webhook_delivery
BEGIN SELECT RAISE(ABORT, 'the event of a delivery is immutable'); END;

-- The tries of a delivery, kept for 30 days. status is NULL if no response arrived; error then states why.
CREATE TABLE webhook_try (
  delivery_seq INTEGER NOT NULL REFERENCES webhook_delivery (seq),
  try_no INTEGER NOT NULL CHECK (try_no > 0),
  at_ms INTEGER NOT NULL,
  status INTEGER,
  -- At most the first 1,024 bytes of the response; NULL: none, or the host is private.
  answer TEXT,
  error TEXT,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (delivery_seq, try_no),
  CHECK ((status IS NULL) = (error IS NOT NULL))
) STRICT, WITHOUT ROWID;
