-- The schema over SQLite: tables, the conditions on their rows, and triggers that enforce what no code may break.

-- Named values: mode, secret, creation time, marks of a restore and of a store migration.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- One row for each time that a writer opened the file. Transfers and generation events store the epoch that wrote them.
CREATE TABLE writer_epoch (
  epoch INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  opened_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE account (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  burst_per_s INTEGER CHECK (burst_per_s >= 1),
  in_progress_limit INTEGER CHECK (in_progress_limit >= 0),
  created_at_ms INTEGER NOT NULL
) STRICT;

-- The balance of an account. It changes with every transfer, so it has a table of short rows: fewer pages are written.
CREATE TABLE balance (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  available_credits INTEGER NOT NULL DEFAULT 0 CHECK (available_credits BETWEEN 0 AND 9007199254740991),
  held_credits INTEGER NOT NULL DEFAULT 0 CHECK (held_credits BETWEEN 0 AND 9007199254740991),
  charged_credits INTEGER NOT NULL DEFAULT 0 CHECK (charged_credits BETWEEN 0 AND 9007199254740991),
  owed_credits INTEGER NOT NULL DEFAULT 0 CHECK (owed_credits BETWEEN 0 AND 9007199254740991),
  in_progress INTEGER NOT NULL DEFAULT 0 CHECK (in_progress >= 0),
  -- The last transfer of the account: its number in the chain, and its row in `transfer_log`.
  last_transfer_no INTEGER NOT NULL DEFAULT 0,
  last_transfer_seq INTEGER,
  CHECK (available_credits + held_credits + charged_credits <= 9007199254740991)
) STRICT;

CREATE TABLE api_key (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  scope TEXT NOT NULL CHECK (scope IN ('generate', 'read')),
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  prefix TEXT NOT NULL CHECK (length(prefix) <= 20),
  created_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER,
  -- Each account has one hidden key for the generations of its console. No secret has its hash, so it authenticates nothing.
  kind TEXT NOT NULL DEFAULT 'api' CHECK (kind IN ('api', 'console') AND (kind = 'console') = (prefix = 'console'))
) STRICT;
CREATE INDEX api_key_account ON api_key (account_seq);
CREATE UNIQUE INDEX api_key_console ON api_key (account_seq) WHERE kind = 'console';

-- The routes of a generation in the order of attempts, fixed at submission. Thousands of generations share a plan.
CREATE TABLE plan (seq INTEGER PRIMARY KEY, routes TEXT NOT NULL UNIQUE) STRICT;

-- A generation: the request, its terms, the hold of its reserve, and its result. The hold is part of the row, so neither exists without
-- the other. Columns that may be large come last; SQLite does not read their pages for the columns before them.
CREATE TABLE generation (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL REFERENCES balance (account_seq),
  id TEXT NOT NULL,
  model TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT,
  quoted_credits INTEGER NOT NULL,
  reserved_credits INTEGER NOT NULL,
  cost_credits INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  output TEXT,
  created_at_ms INTEGER NOT NULL,
  start_deadline_ms INTEGER NOT NULL CHECK (start_deadline_ms >= created_at_ms),
  completed_at_ms INTEGER,
  files_expire_at_ms INTEGER,
  files_expired_at_ms INTEGER,
  idempotency_key TEXT,
  -- The hold, as `transfer_log` shows it.
  hold_transfer_no INTEGER NOT NULL,
  hold_previous_seq INTEGER,
  hold_available_after INTEGER NOT NULL,
  hold_held_after INTEGER NOT NULL,
  hold_epoch INTEGER NOT NULL,
  hold_hash TEXT NOT NULL,
  key_seq INTEGER NOT NULL REFERENCES api_key (seq),
  max_cost_credits INTEGER NOT NULL CHECK (max_cost_credits >= 1),
  request_id TEXT NOT NULL,
  plan_seq INTEGER NOT NULL REFERENCES plan (seq),
  -- The request body as received, and the defaults of the input fields that it omits.
  body TEXT NOT NULL,
  input_defaults TEXT NOT NULL,
  -- The delivery that results are compared with before the charge; null if no comparison was stored at submission.
  expected_delivery TEXT,
  -- SHA-256 in hex of the canonical request, which identifies it under an Idempotency-Key; null without a key. If it is null with a key, the
  -- bodies are compared.
  fingerprint TEXT CHECK (length(fingerprint) = 64),
  CHECK (quoted_credits BETWEEN 1 AND reserved_credits AND reserved_credits <= 9007199254740991),
  -- The columns that each status requires and excludes.
  CHECK (CASE status
    WHEN 'queued' THEN attempts = 0
      AND coalesce(message, cost_credits, error, output, completed_at_ms, files_expire_at_ms, files_expired_at_ms) IS NULL
    WHEN 'running' THEN attempts >= 0
      AND coalesce(cost_credits, error, output, completed_at_ms, files_expire_at_ms, files_expired_at_ms) IS NULL
    WHEN 'succeeded' THEN attempts >= 1 AND cost_credits BETWEEN 1 AND reserved_credits AND output IS NOT NULL
      AND completed_at_ms >= created_at_ms AND files_expire_at_ms IS NOT NULL AND coalesce(message, error) IS NULL
    WHEN 'failed' THEN attempts >= 0 AND cost_credits IS 0 AND error IS NOT NULL
      AND completed_at_ms >= created_at_ms AND coalesce(message, output, files_expire_at_ms, files_expired_at_ms) IS NULL
    ELSE 0 END)
) STRICT;
CREATE UNIQUE INDEX generation_idempotency_key ON generation (account_seq, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX generation_open ON generation (seq) WHERE completed_at_ms IS NULL;
CREATE INDEX generation_files_to_expire ON generation (files_expire_at_ms)
  WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL;

-- The persisted state of the generation's statechart.
CREATE TABLE snapshot (
  generation_seq INTEGER PRIMARY KEY REFERENCES generation (seq),
  version INTEGER NOT NULL CHECK (version >= 1),
  state TEXT NOT NULL,
  -- The deadline of the state and the attempt that it is about (0: none). A parked generation has no deadline.
  deadline_kind TEXT CHECK (deadline_kind IN ('submit', 'slot', 'attempt', 'collect')),
  deadline_attempt_no INTEGER CHECK (deadline_attempt_no >= 0),
  deadline_at_ms INTEGER,
  snapshot TEXT NOT NULL,
  CHECK ((deadline_kind IS NULL) = (deadline_at_ms IS NULL) AND (deadline_kind IS NULL) = (deadline_attempt_no IS NULL))
) STRICT;

-- The options of a route at the start of an attempt, because the catalogue may change later. Thousands of attempts share them.
CREATE TABLE route_options (seq INTEGER PRIMARY KEY, options TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE attempt (
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  attempt_no INTEGER NOT NULL CHECK (attempt_no >= 1),
  ref TEXT NOT NULL UNIQUE,
  route_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  options_seq INTEGER NOT NULL REFERENCES route_options (seq),
  kind TEXT NOT NULL CHECK (kind IN ('image', 'video', 'audio')),
  price_credits INTEGER NOT NULL CHECK (price_credits BETWEEN 1 AND 9007199254740991),
  state TEXT NOT NULL CHECK (state IN ('intent', 'sending', 'accepted', 'delivered', 'rejected', 'absent', 'failed', 'lost',
    'capped', 'cancelled', 'superseded', 'late', 'mismatched')),
  sent_at_ms INTEGER,
  ends_at_ms INTEGER,
  job_id TEXT,
  job_urls TEXT,
  results TEXT,
  failure TEXT,
  watch_until_ms INTEGER,
  ended_at_ms INTEGER,
  PRIMARY KEY (generation_seq, attempt_no),
  CHECK (state <> 'sending' OR sent_at_ms IS NOT NULL),
  CHECK (state NOT IN ('accepted', 'delivered', 'late', 'mismatched') OR job_id IS NOT NULL),
  CHECK (job_id IS NULL OR sent_at_ms IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attempt_job ON attempt (provider, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX attempt_watched ON attempt (generation_seq) WHERE watch_until_ms IS NOT NULL;
CREATE INDEX attempt_delivered ON attempt (route_id, ended_at_ms, sent_at_ms) WHERE state = 'delivered';

-- The exact bytes of a submission. A separate table, so that a change of the attempt does not write them again.
CREATE TABLE attempt_request (
  generation_seq INTEGER NOT NULL,
  attempt_no INTEGER NOT NULL,
  request TEXT NOT NULL,
  PRIMARY KEY (generation_seq, attempt_no),
  FOREIGN KEY (generation_seq, attempt_no) REFERENCES attempt (generation_seq, attempt_no)
) STRICT, WITHOUT ROWID;

-- Copies of linked inputs whose length is billed. Each is downloaded before the first attempt, and providers receive the copy, so the file
-- that is measured is the file that is sent. The columns of the copy are null until it exists.
CREATE TABLE pinned_input (
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  input_no INTEGER NOT NULL CHECK (input_no BETWEEN 1 AND 99),
  field TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('video', 'audio')),
  -- The billed length, measured at submission, and the largest difference that the copy may have.
  measured_ms INTEGER NOT NULL CHECK (measured_ms >= 1),
  frame_ms INTEGER NOT NULL CHECK (frame_ms BETWEEN 1 AND 1000),
  sha256 TEXT CHECK (length(sha256) = 64),
  bytes INTEGER CHECK (bytes >= 1),
  mime TEXT,
  ms INTEGER,
  pinned_at_ms INTEGER,
  removed_at_ms INTEGER,
  PRIMARY KEY (generation_seq, input_no),
  CHECK (CASE WHEN sha256 IS NULL THEN coalesce(bytes, mime, ms, pinned_at_ms) IS NULL
    ELSE bytes IS NOT NULL AND mime IS NOT NULL AND ms IS NOT NULL AND pinned_at_ms IS NOT NULL END),
  CHECK (ms IS NULL OR ms BETWEEN measured_ms - frame_ms AND measured_ms + frame_ms)
) STRICT, WITHOUT ROWID;
CREATE INDEX pinned_input_kept ON pinned_input (generation_seq) WHERE removed_at_ms IS NULL;

-- The events of each generation, with the state that each led to.
CREATE TABLE generation_event (
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  version INTEGER NOT NULL CHECK (version >= 1),
  at_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  state_after TEXT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (generation_seq, version)
) STRICT, WITHOUT ROWID;

-- The deadline of each open generation, stored whatever else is lost. A queued generation waits until its start deadline.
CREATE VIEW deadline (generation_seq, kind, attempt_no, at_ms) AS
  SELECT seq, 'start', 0, start_deadline_ms FROM generation WHERE completed_at_ms IS NULL AND status = 'queued'
  UNION ALL
  SELECT generation_seq, deadline_kind, deadline_attempt_no, deadline_at_ms FROM snapshot WHERE deadline_kind IS NOT NULL;

-- Transfers other than holds. Rows are only added, at the end. `hash` chains the transfers of an account (format: src/store/sql/ledger.ts),
-- and `previous_seq` names the transfer before. An account's chain is therefore read from its last transfer without an index, which every
-- transfer would have to update. Triggers check the referenced rows, so there are no foreign keys that would check them again.
CREATE TABLE transfer (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL,
  transfer_no INTEGER NOT NULL,
  previous_seq INTEGER,
  -- The newest generation at that time, which places the row among the holds.
  after_generation_seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  from_side TEXT NOT NULL,
  to_side TEXT NOT NULL,
  generation_seq INTEGER,
  attempt_no INTEGER,
  available_after INTEGER NOT NULL,
  held_after INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  hash TEXT NOT NULL,
  note TEXT,
  CHECK (CASE kind
    WHEN 'capture' THEN generation_seq IS NOT NULL AND from_side = 'held' AND to_side = 'charged' AND attempt_no IS NOT NULL
    WHEN 'release' THEN generation_seq IS NOT NULL AND from_side = 'held' AND to_side = 'available'
    WHEN 'topup' THEN generation_seq IS NULL AND from_side = 'funding' AND to_side = 'available'
    WHEN 'adjust' THEN generation_seq IS NULL AND from_side || to_side IN ('availableadjustments', 'adjustmentsavailable')
    ELSE 0 END)
) STRICT;
CREATE UNIQUE INDEX transfer_settlement_once ON transfer (generation_seq, kind) WHERE generation_seq IS NOT NULL;

-- All transfers. `seq` is the row of a transfer or, negative, the row of the generation that has the hold; `previous_seq` and
-- `balance.last_transfer_seq` name rows in the same way.
CREATE VIEW transfer_log (seq, account_seq, transfer_no, previous_seq, kind, credits, from_side, to_side, generation_seq, attempt_no,
  available_after, held_after, at_ms, epoch, hash, note) AS
  SELECT -seq, account_seq, hold_transfer_no, hold_previous_seq, 'hold', reserved_credits, 'available', 'held', seq, NULL,
    hold_available_after, hold_held_after, created_at_ms, hold_epoch, hold_hash, NULL FROM generation
  UNION ALL
  SELECT seq, account_seq, transfer_no, previous_seq, kind, credits, from_side, to_side, generation_seq, attempt_no, available_after,
    held_after, at_ms, epoch, hash, note FROM transfer;

-- The two entries of each transfer.
CREATE VIEW transfer_entry (transfer_seq, account_seq, side, credits) AS
  SELECT seq, account_seq, from_side, -credits FROM transfer_log
  UNION ALL
  SELECT seq, account_seq, to_side, credits FROM transfer_log;

-- Requested changes of a balance, and the part that could be transferred. The difference is a debt.
CREATE TABLE balance_adjustment (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  kind TEXT NOT NULL CHECK (kind IN ('topup', 'adjust')),
  requested_credits INTEGER NOT NULL CHECK (requested_credits BETWEEN -9007199254740991 AND 9007199254740991),
  transferred_credits INTEGER NOT NULL,
  reference TEXT UNIQUE,
  transfer_seq INTEGER REFERENCES transfer (seq),
  note TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  CHECK (transferred_credits = requested_credits OR (requested_credits < transferred_credits AND transferred_credits <= 0)),
  CHECK ((transfer_seq IS NULL) = (transferred_credits = 0))
) STRICT;
CREATE INDEX balance_adjustment_transfer ON balance_adjustment (transfer_seq) WHERE transfer_seq IS NOT NULL;

-- Adjustments that repaid a debt. The debt of an account is the untransferred part of its adjustments minus these.
CREATE TABLE debt_repayment (
  adjustment_seq INTEGER PRIMARY KEY REFERENCES balance_adjustment (seq),
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991)
) STRICT;
CREATE INDEX debt_repayment_account ON debt_repayment (account_seq);
CREATE INDEX balance_owing ON balance (account_seq) WHERE owed_credits > 0;

-- Accounts that are paused because of a debt and not by an operator. They resume when the debt is repaid.
CREATE TABLE paused_by_debt (account_seq INTEGER PRIMARY KEY REFERENCES account (seq)) STRICT;

-- The available balance below which the users of an account are notified. 0: never; no row: the default of the service.
CREATE TABLE balance_alert (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  credits INTEGER NOT NULL CHECK (credits BETWEEN 0 AND 9007199254740991)
) STRICT;

-- The persisted state of each route's circuit breaker.
CREATE TABLE route_health (route_id TEXT PRIMARY KEY, snapshot TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Routes that an operator has disabled, with the reason.
CREATE TABLE disabled_route (
  route_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Credentials of providers, encrypted with a key that is not in this file.
CREATE TABLE provider_credential (
  account TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  sealed TEXT NOT NULL,
  set_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE console_user (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE CHECK (email = lower(email) AND email LIKE '_%@_%' AND length(email) <= 254),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  role TEXT NOT NULL CHECK (role IN ('member', 'operator', 'viewer')),
  account_seq INTEGER REFERENCES account (seq),
  -- Argon2id in PHC format.
  password TEXT NOT NULL CHECK (password GLOB '$argon2id$*'),
  created_at_ms INTEGER NOT NULL,
  disabled_at_ms INTEGER,
  CHECK (role <> 'member' OR account_seq IS NOT NULL)
) STRICT;
CREATE INDEX console_user_account ON console_user (account_seq) WHERE account_seq IS NOT NULL;

-- Only the SHA-256 of a session token is stored, so a copy of the file has no usable token.
CREATE TABLE session (
  hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
  id TEXT NOT NULL UNIQUE,
  user_seq INTEGER NOT NULL REFERENCES console_user (seq),
  created_at_ms INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL CHECK (seen_at_ms >= created_at_ms),
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  ended_at_ms INTEGER,
  agent TEXT NOT NULL CHECK (length(agent) <= 300),
  address TEXT NOT NULL CHECK (length(address) <= 100)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_of_user ON session (user_seq);

-- Links for one use: the set-up of the service, an invitation, a new password. They are kept after use.
CREATE TABLE invitation (
  hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  role TEXT NOT NULL CHECK (role IN ('member', 'operator', 'viewer')),
  -- The account of the new user, or the name of the account that is created for the new user.
  account_seq INTEGER REFERENCES account (seq),
  account_name TEXT,
  email TEXT CHECK (email = lower(email)),
  -- The user whose password is set, or the user that the link created.
  user_seq INTEGER REFERENCES console_user (seq),
  created_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  used_at_ms INTEGER,
  withdrawn_at_ms INTEGER,
  CHECK (used_at_ms IS NULL OR withdrawn_at_ms IS NULL),
  CHECK (account_seq IS NULL OR account_name IS NULL),
  CHECK (CASE kind
    WHEN 'setup' THEN role = 'operator' AND email IS NULL AND (user_seq IS NULL) = (used_at_ms IS NULL)
    WHEN 'invite' THEN email IS NOT NULL AND (user_seq IS NULL) = (used_at_ms IS NULL)
      AND (role <> 'member' OR coalesce(account_seq, account_name) IS NOT NULL)
    ELSE user_seq IS NOT NULL AND coalesce(account_seq, account_name) IS NULL END)
) STRICT, WITHOUT ROWID;

-- The audit log. `detail` is JSON without secrets.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  principal_kind TEXT NOT NULL CHECK (principal_kind IN ('user', 'command', 'service')),
  principal_id TEXT NOT NULL,
  principal_name TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  detail TEXT NOT NULL CHECK (json_type(detail) = 'object')
) STRICT;

-- Limits of a key beyond its scope; a key without a row has none. A key and the keys that replaced it by rotation share one spend limit,
-- which is numbered by the first of them.
CREATE TABLE api_key_policy (
  key_seq INTEGER PRIMARY KEY REFERENCES api_key (seq),
  spend_limit_seq INTEGER NOT NULL REFERENCES api_key (seq),
  rotated_from INTEGER UNIQUE REFERENCES api_key (seq),
  expires_at_ms INTEGER,
  models TEXT CHECK (json_type(models) = 'array' AND json_array_length(models) >= 1)
) STRICT;
CREATE INDEX api_key_policy_spend_limit ON api_key_policy (spend_limit_seq);

-- Spend limits by day, week and month, and the first day of their count: the start of the week and of the month in which the first limit
-- was set, or earlier. The row remains when all limits are removed.
CREATE TABLE spend_limit (
  seq INTEGER PRIMARY KEY REFERENCES api_key (seq),
  from_day INTEGER NOT NULL,
  day_limit_credits INTEGER CHECK (day_limit_credits >= 1),
  week_limit_credits INTEGER CHECK (week_limit_credits >= 1),
  month_limit_credits INTEGER CHECK (month_limit_credits >= 1)
) STRICT;

-- Credits of the generations submitted under a spend limit on a day (days since 1970, UTC): the hold of open ones, the cost of ended ones.
CREATE TABLE spend_by_day (
  spend_limit_seq INTEGER NOT NULL REFERENCES spend_limit (seq),
  day INTEGER NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (spend_limit_seq, day)
) STRICT, WITHOUT ROWID;

-- The cost of the ended generations that a key submitted on a day, up to the same transfer as `usage_daily`. A new spend limit starts with
-- these sums and does not read every generation.
CREATE TABLE settled_spend_by_day (
  key_seq INTEGER NOT NULL,
  day INTEGER NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (key_seq, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key_last_used (key_seq INTEGER PRIMARY KEY REFERENCES api_key (seq), last_used_at_ms INTEGER NOT NULL) STRICT;

-- The networks (/24 or /48) from which a key was used, with the time of the first use, at most 100 for each key. The audit log has an entry
-- for each.
CREATE TABLE api_key_network (
  key_seq INTEGER NOT NULL REFERENCES api_key (seq),
  network TEXT NOT NULL,
  first_used_at_ms INTEGER NOT NULL,
  PRIMARY KEY (key_seq, network)
) STRICT, WITHOUT ROWID;

-- Ended generations by the day of their end; `wait` is a bucket of the time from submission to end. The rows are computed from the transfers
-- up to the one that `usage_up_to` in `meta` names, and can be computed again.
CREATE TABLE usage_daily (
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

-- Purchases of credits. The row is written before the checkout is created. It changes from open to expired, mismatched or paid, and never
-- back. Mismatched: the payment differs from the purchase, nothing is credited, and an operator decides.
CREATE TABLE purchase (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  user_id TEXT,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1000 AND 500000 AND credits % 100 = 0),
  provider TEXT NOT NULL CHECK (provider IN ('stripe', 'test')),
  state TEXT NOT NULL CHECK (state IN ('open', 'expired', 'mismatched', 'paid')),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  -- The payment provider's ids of the checkout and of the payment.
  session_id TEXT UNIQUE,
  payment_intent TEXT UNIQUE,
  -- The reported payment, if it differs from the purchase.
  found TEXT,
  paid_at_ms INTEGER,
  -- Receipts are numbered without gaps.
  receipt INTEGER UNIQUE CHECK (receipt >= 1),
  invoice_number TEXT,
  invoice_url TEXT,
  -- The last query to the payment provider, at first the creation. The purchase with the oldest query is queried next.
  checked_at_ms INTEGER NOT NULL,
  -- The part that is reversed at present.
  reversed_credits INTEGER NOT NULL DEFAULT 0 CHECK (reversed_credits BETWEEN 0 AND credits),
  CHECK ((state = 'paid') = (receipt IS NOT NULL) AND (receipt IS NULL) = (paid_at_ms IS NULL)),
  CHECK (state <> 'paid' OR session_id IS NOT NULL),
  CHECK (state = 'paid' OR reversed_credits = 0),
  CHECK ((state = 'mismatched') = (found IS NOT NULL))
) STRICT;
CREATE INDEX purchase_account ON purchase (account_seq);
CREATE INDEX purchase_open ON purchase (checked_at_ms) WHERE state = 'open';
CREATE INDEX purchase_mismatched ON purchase (created_at_ms) WHERE state = 'mismatched';
CREATE INDEX purchase_uninvoiced ON purchase (checked_at_ms) WHERE state = 'paid' AND provider = 'stripe' AND invoice_url IS NULL;

-- The adjustments of a purchase: its payment, what reversals took, and what they returned.
CREATE TABLE purchase_adjustment (
  adjustment_seq INTEGER PRIMARY KEY REFERENCES balance_adjustment (seq),
  purchase_seq INTEGER NOT NULL REFERENCES purchase (seq),
  reason TEXT NOT NULL CHECK (reason IN ('paid', 'taken', 'returned'))
) STRICT;
CREATE UNIQUE INDEX purchase_paid_once ON purchase_adjustment (purchase_seq) WHERE reason = 'paid';
CREATE INDEX purchase_adjustment_purchase ON purchase_adjustment (purchase_seq);

-- Refunds and disputes with the payment provider's ids. A reversal may be reported before its purchase is paid; it then counts from the
-- payment on. `asked` (an inquiry) takes nothing, `taken` and `lost` do, `returned` (failed, withdrawn or won) no longer does.
CREATE TABLE reversal (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'dispute')),
  payment_intent TEXT NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  state TEXT NOT NULL CHECK (state IN ('asked', 'taken', 'lost', 'returned')),
  at_ms INTEGER NOT NULL,
  -- The time that the payment provider gives for the state; null if unknown, in which case it is not later than `at_ms`.
  reported_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX reversal_payment ON reversal (payment_intent);

-- Refunds and disputes in another currency than usd. An operator decides their credits; then `reversal` has a row with them, which later
-- reports change. If the amount exceeds the decided amount, the reversal is undecided again.
CREATE TABLE foreign_reversal (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('refund', 'dispute')),
  payment_intent TEXT NOT NULL,
  -- In the smallest unit of the currency.
  amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  currency TEXT NOT NULL CHECK (length(currency) BETWEEN 1 AND 10 AND currency <> 'usd'),
  state TEXT NOT NULL CHECK (state IN ('asked', 'taken', 'lost', 'returned')),
  reported_at_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  decided_amount INTEGER CHECK (decided_amount BETWEEN 1 AND amount),
  decided_credits INTEGER CHECK (decided_credits BETWEEN 0 AND 9007199254740991),
  decided_at_ms INTEGER,
  CHECK ((decided_amount IS NULL) = (decided_credits IS NULL) AND (decided_amount IS NULL) = (decided_at_ms IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_reversal_payment ON foreign_reversal (payment_intent);
CREATE INDEX foreign_reversal_undecided ON foreign_reversal (id)
  WHERE state IN ('taken', 'lost') AND (decided_amount IS NULL OR decided_amount < amount);

-- Immutable rows.
CREATE TRIGGER transfer_immutable BEFORE UPDATE ON transfer BEGIN SELECT RAISE(ABORT, 'a transfer is immutable'); END;
CREATE TRIGGER transfer_no_delete BEFORE DELETE ON transfer BEGIN SELECT RAISE(ABORT, 'a transfer cannot be deleted'); END;
CREATE TRIGGER generation_event_immutable BEFORE UPDATE ON generation_event
BEGIN SELECT RAISE(ABORT, 'a generation event is immutable'); END;
CREATE TRIGGER generation_event_no_delete BEFORE DELETE ON generation_event
BEGIN SELECT RAISE(ABORT, 'a generation event cannot be deleted'); END;
CREATE TRIGGER attempt_request_immutable BEFORE UPDATE ON attempt_request
BEGIN SELECT RAISE(ABORT, 'the request of an attempt is immutable'); END;
CREATE TRIGGER attempt_request_no_delete BEFORE DELETE ON attempt_request
BEGIN SELECT RAISE(ABORT, 'the request of an attempt cannot be deleted'); END;
CREATE TRIGGER plan_immutable BEFORE UPDATE ON plan BEGIN SELECT RAISE(ABORT, 'a plan is immutable'); END;
CREATE TRIGGER plan_no_delete BEFORE DELETE ON plan BEGIN SELECT RAISE(ABORT, 'a plan cannot be deleted'); END;
CREATE TRIGGER route_options_immutable BEFORE UPDATE ON route_options BEGIN SELECT RAISE(ABORT, 'route options are immutable'); END;
CREATE TRIGGER route_options_no_delete BEFORE DELETE ON route_options
BEGIN SELECT RAISE(ABORT, 'route options cannot be deleted'); END;
CREATE TRIGGER balance_adjustment_immutable BEFORE UPDATE ON balance_adjustment
BEGIN SELECT RAISE(ABORT, 'a balance adjustment is immutable'); END;
CREATE TRIGGER balance_adjustment_no_delete BEFORE DELETE ON balance_adjustment
BEGIN SELECT RAISE(ABORT, 'a balance adjustment cannot be deleted'); END;
CREATE TRIGGER debt_repayment_immutable BEFORE UPDATE ON debt_repayment
BEGIN SELECT RAISE(ABORT, 'a debt repayment is immutable'); END;
CREATE TRIGGER debt_repayment_no_delete BEFORE DELETE ON debt_repayment
BEGIN SELECT RAISE(ABORT, 'a debt repayment cannot be deleted'); END;
CREATE TRIGGER generation_no_delete BEFORE DELETE ON generation BEGIN SELECT RAISE(ABORT, 'a generation cannot be deleted'); END;
CREATE TRIGGER attempt_no_delete BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'an attempt cannot be deleted'); END;
CREATE TRIGGER pinned_input_no_delete BEFORE DELETE ON pinned_input
BEGIN SELECT RAISE(ABORT, 'a pinned input cannot be deleted'); END;
CREATE TRIGGER audit_immutable BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'an audit entry is immutable'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'an audit entry cannot be deleted'); END;
CREATE TRIGGER console_user_no_delete BEFORE DELETE ON console_user
BEGIN SELECT RAISE(ABORT, 'a user cannot be deleted, only disabled'); END;
CREATE TRIGGER invitation_no_delete BEFORE DELETE ON invitation BEGIN SELECT RAISE(ABORT, 'an invitation cannot be deleted'); END;
CREATE TRIGGER purchase_no_delete BEFORE DELETE ON purchase BEGIN SELECT RAISE(ABORT, 'a purchase cannot be deleted'); END;
CREATE TRIGGER purchase_adjustment_immutable BEFORE UPDATE ON purchase_adjustment
BEGIN SELECT RAISE(ABORT, 'the adjustment of a purchase is immutable'); END;
CREATE TRIGGER purchase_adjustment_no_delete BEFORE DELETE ON purchase_adjustment
BEGIN SELECT RAISE(ABORT, 'the adjustment of a purchase cannot be deleted'); END;
CREATE TRIGGER reversal_no_delete BEFORE DELETE ON reversal BEGIN SELECT RAISE(ABORT, 'a reversal cannot be deleted'); END;
CREATE TRIGGER foreign_reversal_no_delete BEFORE DELETE ON foreign_reversal
BEGIN SELECT RAISE(ABORT, 'a reversal cannot be deleted'); END;

-- A balance changes by one transfer of its chain at a time and names the row of that transfer.
CREATE TRIGGER balance_follows_transfer
BEFORE UPDATE OF available_credits, held_credits, charged_credits, last_transfer_no, last_transfer_seq ON balance
BEGIN SELECT CASE
  WHEN NEW.last_transfer_no <> OLD.last_transfer_no + 1
    THEN RAISE(ABORT, 'a balance changes only with the next transfer of its chain')
  WHEN NEW.last_transfer_seq < 0 AND EXISTS (SELECT 1 FROM generation g WHERE g.seq = -NEW.last_transfer_seq
    AND g.account_seq = NEW.account_seq AND g.hold_transfer_no = NEW.last_transfer_no
    AND g.hold_previous_seq IS OLD.last_transfer_seq AND g.hold_available_after = NEW.available_credits
    AND g.hold_held_after = NEW.held_credits) THEN NULL
  WHEN NEW.last_transfer_seq > 0 AND EXISTS (SELECT 1 FROM transfer t WHERE t.seq = NEW.last_transfer_seq
    AND t.account_seq = NEW.account_seq AND t.transfer_no = NEW.last_transfer_no AND t.previous_seq IS OLD.last_transfer_seq
    AND t.available_after = NEW.available_credits AND t.held_after = NEW.held_credits) THEN NULL
  ELSE RAISE(ABORT, 'a transfer matches the balance of its account')
  END;
END;
CREATE TRIGGER transfer_settlement_bounds BEFORE INSERT ON transfer WHEN NEW.generation_seq IS NOT NULL
BEGIN SELECT CASE
  WHEN NOT EXISTS (SELECT 1 FROM generation g WHERE g.seq = NEW.generation_seq AND g.account_seq = NEW.account_seq
    AND g.completed_at_ms IS NULL)
  THEN RAISE(ABORT, 'a settlement precedes the end of its generation')
  WHEN NEW.credits > (SELECT reserved_credits FROM generation WHERE seq = NEW.generation_seq)
    - (SELECT coalesce(sum(credits), 0) FROM transfer WHERE generation_seq = NEW.generation_seq)
  THEN RAISE(ABORT, 'a settlement takes at most the hold')
  END;
END;

-- The terms of a generation are fixed at submission, its status changes in one direction, and its end requires the settlement.
CREATE TRIGGER generation_terms_immutable BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  start_deadline_ms, idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, input_defaults, expected_delivery, fingerprint ON generation
BEGIN SELECT RAISE(ABORT, 'the terms of a generation are immutable'); END;
CREATE TRIGGER generation_final BEFORE UPDATE ON generation
WHEN OLD.completed_at_ms IS NOT NULL AND (OLD.files_expired_at_ms IS NOT NULL OR NEW.files_expired_at_ms IS NULL OR
  (NEW.status, NEW.message, NEW.cost_credits, NEW.attempts, NEW.error, NEW.output, NEW.completed_at_ms, NEW.files_expire_at_ms)
  IS NOT (OLD.status, OLD.message, OLD.cost_credits, OLD.attempts, OLD.error, OLD.output, OLD.completed_at_ms,
  OLD.files_expire_at_ms))
BEGIN SELECT RAISE(ABORT, 'an ended generation is immutable'); END;
CREATE TRIGGER generation_status_order BEFORE UPDATE OF status ON generation
WHEN (NEW.status = 'queued' AND OLD.status <> 'queued') OR (NEW.status = 'succeeded' AND OLD.status = 'queued')
BEGIN SELECT RAISE(ABORT, 'the status of a generation changes from queued to running to its end'); END;
CREATE TRIGGER generation_success_captured BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'succeeded' AND OLD.status <> 'succeeded' AND NOT (
  EXISTS (SELECT 1 FROM transfer t JOIN attempt a ON a.generation_seq = t.generation_seq AND a.attempt_no = t.attempt_no
    WHERE t.generation_seq = NEW.seq AND t.kind = 'capture' AND t.credits = NEW.cost_credits
    AND a.state = 'delivered' AND a.price_credits = NEW.cost_credits)
  AND coalesce((SELECT credits FROM transfer WHERE generation_seq = NEW.seq AND kind = 'release'), 0)
    = NEW.reserved_credits - NEW.cost_credits)
BEGIN SELECT RAISE(ABORT, 'a generation succeeds with the capture of its cost'); END;
CREATE TRIGGER generation_failure_released BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'failed' AND OLD.status <> 'failed' AND (
  coalesce((SELECT credits FROM transfer WHERE generation_seq = NEW.seq AND kind = 'release'), 0) <> NEW.reserved_credits
  OR EXISTS (SELECT 1 FROM transfer WHERE generation_seq = NEW.seq AND kind = 'capture')
  OR EXISTS (SELECT 1 FROM attempt WHERE generation_seq = NEW.seq AND state = 'delivered'))
BEGIN SELECT RAISE(ABORT, 'a generation fails with the release of its hold'); END;

-- The terms of an attempt are fixed at its start. After the end of its generation it is neither sent nor charged.
CREATE TRIGGER attempt_starts_as_intent BEFORE INSERT ON attempt
WHEN NEW.state <> 'intent' OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND completed_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt starts as an intent of an open generation'); END;
CREATE TRIGGER attempt_requires_pinned_inputs BEFORE INSERT ON attempt
WHEN EXISTS (SELECT 1 FROM pinned_input WHERE generation_seq = NEW.generation_seq AND sha256 IS NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt starts after the inputs of its generation are pinned'); END;
CREATE TRIGGER attempt_terms_immutable
BEFORE UPDATE OF generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits ON attempt
BEGIN SELECT RAISE(ABORT, 'the terms of an attempt are immutable'); END;
CREATE TRIGGER attempt_end_and_job_once BEFORE UPDATE OF ends_at_ms, job_id ON attempt
WHEN NEW.ends_at_ms IS NOT coalesce(OLD.ends_at_ms, NEW.ends_at_ms) OR NEW.job_id IS NOT coalesce(OLD.job_id, NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'an attempt has one job and one time limit'); END;
CREATE TRIGGER attempt_final_after_generation BEFORE UPDATE ON attempt
WHEN EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND completed_at_ms IS NOT NULL)
  AND ((OLD.state = 'delivered') <> (NEW.state = 'delivered') OR NEW.sent_at_ms IS NOT OLD.sent_at_ms
    OR NEW.ends_at_ms IS NOT OLD.ends_at_ms OR (NEW.state <> OLD.state AND NEW.state IN ('intent', 'sending')))
BEGIN SELECT RAISE(ABORT, 'an attempt of an ended generation is not sent and not charged'); END;
CREATE TRIGGER attempt_mismatch_final BEFORE UPDATE OF state ON attempt
WHEN OLD.state = 'mismatched' AND NEW.state <> 'mismatched'
BEGIN SELECT RAISE(ABORT, 'a mismatched attempt is never charged'); END;
CREATE TRIGGER pinned_input_terms_immutable
BEFORE UPDATE OF generation_seq, input_no, field, kind, measured_ms, frame_ms ON pinned_input
BEGIN SELECT RAISE(ABORT, 'the measured length of an input is immutable'); END;
CREATE TRIGGER pinned_input_copy_once BEFORE UPDATE OF sha256, bytes, mime, ms, pinned_at_ms ON pinned_input WHEN OLD.sha256 IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the copy of an input is immutable'); END;

CREATE TRIGGER console_user_identity_immutable BEFORE UPDATE OF seq, id, email, created_at_ms ON console_user
BEGIN SELECT RAISE(ABORT, 'the identity of a user is immutable'); END;
CREATE TRIGGER console_user_last_operator BEFORE UPDATE OF role, disabled_at_ms ON console_user
WHEN OLD.role = 'operator' AND OLD.disabled_at_ms IS NULL AND (NEW.role <> 'operator' OR NEW.disabled_at_ms IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM console_user WHERE role = 'operator' AND disabled_at_ms IS NULL AND seq <> OLD.seq)
BEGIN SELECT RAISE(ABORT, 'this is the last operator: make another user an operator first'); END;
CREATE TRIGGER session_requires_enabled_user BEFORE INSERT ON session
WHEN NOT EXISTS (SELECT 1 FROM console_user WHERE seq = NEW.user_seq AND disabled_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'a disabled user cannot sign in'); END;
CREATE TRIGGER session_final BEFORE UPDATE ON session
WHEN OLD.ended_at_ms IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.user_seq, NEW.created_at_ms, NEW.expires_at_ms)
    IS NOT (OLD.hash, OLD.id, OLD.user_seq, OLD.created_at_ms, OLD.expires_at_ms)
BEGIN SELECT RAISE(ABORT, 'an ended session is immutable, and a session keeps its user'); END;
CREATE TRIGGER invitation_single_use BEFORE UPDATE ON invitation
WHEN coalesce(OLD.used_at_ms, OLD.withdrawn_at_ms) IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.kind, NEW.role, NEW.account_name, NEW.email, NEW.created_at_ms, NEW.expires_at_ms)
    IS NOT (OLD.hash, OLD.id, OLD.kind, OLD.role, OLD.account_name, OLD.email, OLD.created_at_ms, OLD.expires_at_ms)
BEGIN SELECT RAISE(ABORT, 'an invitation is used or withdrawn once, and its terms are immutable'); END;

CREATE TRIGGER purchase_terms_immutable
BEFORE UPDATE OF seq, id, account_seq, user_id, credits, provider, created_at_ms, expires_at_ms ON purchase
BEGIN SELECT RAISE(ABORT, 'the terms of a purchase are immutable'); END;
CREATE TRIGGER purchase_payment_once BEFORE UPDATE ON purchase
WHEN NEW.session_id IS NOT coalesce(OLD.session_id, NEW.session_id)
  OR NEW.payment_intent IS NOT coalesce(OLD.payment_intent, NEW.payment_intent)
  OR NEW.paid_at_ms IS NOT coalesce(OLD.paid_at_ms, NEW.paid_at_ms) OR NEW.receipt IS NOT coalesce(OLD.receipt, NEW.receipt)
  OR NEW.invoice_number IS NOT coalesce(OLD.invoice_number, NEW.invoice_number)
  OR NEW.invoice_url IS NOT coalesce(OLD.invoice_url, NEW.invoice_url)
BEGIN SELECT RAISE(ABORT, 'the payment details of a purchase are immutable'); END;
CREATE TRIGGER purchase_state_order BEFORE UPDATE OF state ON purchase
WHEN NEW.state <> OLD.state AND (NEW.state = 'open' OR OLD.state IN ('paid', 'mismatched'))
BEGIN SELECT RAISE(ABORT, 'the state of a purchase changes from open to its end'); END;
CREATE TRIGGER purchase_credited_in_full BEFORE INSERT ON purchase_adjustment
WHEN NEW.reason = 'paid' AND NOT EXISTS (SELECT 1 FROM purchase p JOIN balance_adjustment a ON a.seq = NEW.adjustment_seq
  WHERE p.seq = NEW.purchase_seq AND a.account_seq = p.account_seq AND a.kind = 'topup' AND a.requested_credits = p.credits
  AND a.transferred_credits = p.credits)
BEGIN SELECT RAISE(ABORT, 'a paid purchase is credited in full'); END;

-- A won dispute may be lost later and the reverse, so a later report of a dispute counts. The state of a refund changes in one direction.
CREATE TRIGGER reversal_state_order BEFORE UPDATE ON reversal
WHEN (NEW.id, NEW.kind, NEW.payment_intent) IS NOT (OLD.id, OLD.kind, OLD.payment_intent)
  OR (instr('asked taken lost returned', NEW.state) < instr('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR coalesce(NEW.reported_at_ms, NEW.at_ms) <= coalesce(OLD.reported_at_ms, OLD.at_ms)))
BEGIN SELECT RAISE(ABORT, 'a reversal keeps its payment, and its state changes in one direction'); END;
CREATE TRIGGER foreign_reversal_state_order BEFORE UPDATE ON foreign_reversal
WHEN (NEW.id, NEW.kind, NEW.payment_intent, NEW.currency) IS NOT (OLD.id, OLD.kind, OLD.payment_intent, OLD.currency)
  OR NEW.amount < OLD.amount OR coalesce(NEW.decided_credits, -1) < coalesce(OLD.decided_credits, -1)
  OR (instr('asked taken lost returned', NEW.state) < instr('asked taken lost returned', OLD.state)
    AND (NEW.kind = 'refund' OR NEW.reported_at_ms <= OLD.reported_at_ms))
BEGIN SELECT RAISE(ABORT, 'a reversal keeps its payment, and its state changes in one direction'); END;
