-- The first schema: what is stored, and what must hold of it whatever the code does.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- One row per opening by a writer; movements and journal lines carry the epoch that wrote them.
CREATE TABLE owner (
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

-- What stands where. Apart from the account, because it changes with every movement: the smaller the row, the fewer pages do.
CREATE TABLE balance (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  available_credits INTEGER NOT NULL DEFAULT 0 CHECK (available_credits BETWEEN 0 AND 9007199254740991),
  held_credits INTEGER NOT NULL DEFAULT 0 CHECK (held_credits BETWEEN 0 AND 9007199254740991),
  charged_credits INTEGER NOT NULL DEFAULT 0 CHECK (charged_credits BETWEEN 0 AND 9007199254740991),
  owed_credits INTEGER NOT NULL DEFAULT 0 CHECK (owed_credits BETWEEN 0 AND 9007199254740991),
  in_progress INTEGER NOT NULL DEFAULT 0 CHECK (in_progress >= 0),
  -- The last movement of the account: its place in the chain, and its row in `movement`.
  chain_seq INTEGER NOT NULL DEFAULT 0,
  chain_end INTEGER,
  CHECK (available_credits + held_credits + charged_credits <= 9007199254740991)
) STRICT;

CREATE TABLE api_key (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  scope TEXT NOT NULL CHECK (scope IN ('generate', 'read')),
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  start TEXT NOT NULL CHECK (length(start) <= 20),
  created_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER
) STRICT;
CREATE INDEX api_key_account ON api_key (account_seq);

-- The routes of a generation as frozen at submission, in the order of trying: thousands have the same.
CREATE TABLE plan (seq INTEGER PRIMARY KEY, routes TEXT NOT NULL UNIQUE) STRICT;

-- A generation: what was asked and agreed, the hold of its reserve, and what became of it. The hold is not a row of its own, so that
-- there is neither a generation without its hold nor a hold without its generation. What may be large comes last: reading what is
-- before it never touches it.
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
  wait_ends_at_ms INTEGER NOT NULL CHECK (wait_ends_at_ms >= created_at_ms),
  completed_at_ms INTEGER,
  files_expire_at_ms INTEGER,
  files_expired_at_ms INTEGER,
  idempotency_key TEXT,
  -- The hold, as `movement` shows it.
  hold_chain_seq INTEGER NOT NULL,
  hold_previous INTEGER,
  hold_available_after INTEGER NOT NULL,
  hold_held_after INTEGER NOT NULL,
  hold_epoch INTEGER NOT NULL,
  hold_hash TEXT NOT NULL,
  key_seq INTEGER NOT NULL REFERENCES api_key (seq),
  max_cost_credits INTEGER NOT NULL CHECK (max_cost_credits >= 1),
  request_id TEXT NOT NULL,
  plan_seq INTEGER NOT NULL REFERENCES plan (seq),
  -- The request as sent, and the defaults of what its input left out.
  body TEXT NOT NULL,
  added TEXT NOT NULL,
  CHECK (quoted_credits BETWEEN 1 AND reserved_credits AND reserved_credits <= 9007199254740991),
  -- What each status has, and has not.
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
CREATE UNIQUE INDEX generation_key ON generation (account_seq, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX generation_open ON generation (seq) WHERE completed_at_ms IS NULL;
CREATE INDEX generation_files ON generation (files_expire_at_ms)
  WHERE files_expire_at_ms IS NOT NULL AND files_expired_at_ms IS NULL;

CREATE TABLE snapshot (
  seq INTEGER PRIMARY KEY REFERENCES generation (seq),
  version INTEGER NOT NULL CHECK (version >= 1),
  state TEXT NOT NULL,
  -- The deadline of the state, about attempt `due_n` or none (0); a parked generation has none.
  due_kind TEXT CHECK (due_kind IN ('submit', 'seat', 'attempt', 'collect')),
  due_n INTEGER CHECK (due_n >= 0),
  due_at_ms INTEGER,
  snapshot TEXT NOT NULL,
  CHECK ((due_kind IS NULL) = (due_at_ms IS NULL) AND (due_kind IS NULL) = (due_n IS NULL))
) STRICT;

-- The options of routes as attempts were begun with them: a catalogue may be replaced, and thousands of attempts have the same.
CREATE TABLE route_options (seq INTEGER PRIMARY KEY, options TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE attempt (
  seq INTEGER NOT NULL REFERENCES generation (seq),
  n INTEGER NOT NULL CHECK (n >= 1),
  ref TEXT NOT NULL UNIQUE,
  route_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  options_seq INTEGER NOT NULL REFERENCES route_options (seq),
  kind TEXT NOT NULL CHECK (kind IN ('image', 'video', 'audio')),
  price_credits INTEGER NOT NULL CHECK (price_credits BETWEEN 1 AND 9007199254740991),
  state TEXT NOT NULL CHECK (state IN ('intent', 'sending', 'accepted', 'delivered', 'rejected', 'absent', 'failed', 'lost',
    'capped', 'cancelled', 'superseded', 'late')),
  sent_at_ms INTEGER,
  ends_at_ms INTEGER,
  job_id TEXT,
  job_urls TEXT,
  results TEXT,
  failure TEXT,
  watch_until_ms INTEGER,
  ended_at_ms INTEGER,
  PRIMARY KEY (seq, n),
  CHECK (state <> 'sending' OR sent_at_ms IS NOT NULL),
  CHECK (state NOT IN ('accepted', 'delivered', 'late') OR job_id IS NOT NULL),
  CHECK (job_id IS NULL OR sent_at_ms IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attempt_job ON attempt (provider, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX attempt_watched ON attempt (seq) WHERE watch_until_ms IS NOT NULL;
CREATE INDEX attempt_delivered ON attempt (route_id, ended_at_ms, sent_at_ms) WHERE state = 'delivered';

-- The exact bytes of a submission; apart, so that a change of an attempt does not write them again.
CREATE TABLE attempt_request (
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  request TEXT NOT NULL,
  PRIMARY KEY (seq, n),
  FOREIGN KEY (seq, n) REFERENCES attempt (seq, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
  seq INTEGER NOT NULL REFERENCES generation (seq),
  version INTEGER NOT NULL CHECK (version >= 1),
  at_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  state_after TEXT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (seq, version)
) STRICT, WITHOUT ROWID;

-- The deadline that every generation which has not ended has, whatever else is lost. A queued one waits until its time is over.
CREATE VIEW command (seq, kind, n, due_at_ms) AS
  SELECT seq, 'start', 0, wait_ends_at_ms FROM generation WHERE completed_at_ms IS NULL AND status = 'queued'
  UNION ALL
  SELECT seq, due_kind, due_n, due_at_ms FROM snapshot WHERE due_kind IS NOT NULL;

-- What moves credits other than a hold: rows are only ever added, at the end. `hash` chains the movements of an account (the format is in
-- ../money.ts), and each names the one before it, so that an account's are found from its last one on without an index, which each
-- would have to be put into at another place. Triggers look up what a row names, so foreign keys would look twice.
CREATE TABLE posting (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL,
  chain_seq INTEGER NOT NULL,
  previous INTEGER,
  -- The newest generation there was: it places the row among the holds.
  after_seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 9007199254740991),
  from_side TEXT NOT NULL,
  to_side TEXT NOT NULL,
  generation_seq INTEGER,
  attempt_n INTEGER,
  available_after INTEGER NOT NULL,
  held_after INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  hash TEXT NOT NULL,
  note TEXT,
  CHECK (CASE kind
    WHEN 'capture' THEN generation_seq IS NOT NULL AND from_side = 'held' AND to_side = 'charged' AND attempt_n IS NOT NULL
    WHEN 'release' THEN generation_seq IS NOT NULL AND from_side = 'held' AND to_side = 'available'
    WHEN 'topup' THEN generation_seq IS NULL AND from_side = 'funding' AND to_side = 'available'
    WHEN 'adjust' THEN generation_seq IS NULL AND from_side || to_side IN ('availableadjustments', 'adjustmentsavailable')
    ELSE 0 END)
) STRICT;
CREATE UNIQUE INDEX posting_once ON posting (generation_seq, kind) WHERE generation_seq IS NOT NULL;

-- The ledger. `seq` is the row of a posting or, below zero, of the generation whose hold it is; `previous` and `chain_end` name rows so.
CREATE VIEW movement (seq, account_seq, chain_seq, previous, kind, credits, from_side, to_side, generation_seq, attempt_n, available_after,
  held_after, at_ms, epoch, hash, note) AS
  SELECT -seq, account_seq, hold_chain_seq, hold_previous, 'hold', reserved_credits, 'available', 'held', seq, NULL, hold_available_after,
    hold_held_after, created_at_ms, hold_epoch, hold_hash, NULL FROM generation
  UNION ALL
  SELECT seq, account_seq, chain_seq, previous, kind, credits, from_side, to_side, generation_seq, attempt_n, available_after, held_after,
    at_ms, epoch, hash, note FROM posting;

CREATE VIEW entry (movement_seq, account_seq, side, credits) AS
  SELECT seq, account_seq, from_side, -credits FROM movement
  UNION ALL
  SELECT seq, account_seq, to_side, credits FROM movement;

-- What was asked of a balance from outside, and how much of it could be done; the difference is owed.
CREATE TABLE credit (
  seq INTEGER PRIMARY KEY,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  kind TEXT NOT NULL CHECK (kind IN ('topup', 'adjust')),
  asked_credits INTEGER NOT NULL CHECK (asked_credits BETWEEN -9007199254740991 AND 9007199254740991),
  moved_credits INTEGER NOT NULL,
  reference TEXT UNIQUE,
  movement_seq INTEGER REFERENCES posting (seq),
  note TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  CHECK (moved_credits = asked_credits OR (asked_credits < moved_credits AND moved_credits <= 0)),
  CHECK ((movement_seq IS NULL) = (moved_credits = 0))
) STRICT;

CREATE TABLE route_health (route_id TEXT PRIMARY KEY, snapshot TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- What was written stays written.
CREATE TRIGGER posting_stays BEFORE UPDATE ON posting BEGIN SELECT RAISE(ABORT, 'a movement is never changed'); END;
CREATE TRIGGER posting_kept BEFORE DELETE ON posting BEGIN SELECT RAISE(ABORT, 'a movement is never deleted'); END;
CREATE TRIGGER journal_stays BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'a journal line is never changed'); END;
CREATE TRIGGER journal_kept BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'a journal line is never deleted'); END;
CREATE TRIGGER request_stays BEFORE UPDATE ON attempt_request BEGIN SELECT RAISE(ABORT, 'a request is never changed'); END;
CREATE TRIGGER request_kept BEFORE DELETE ON attempt_request BEGIN SELECT RAISE(ABORT, 'a request is never deleted'); END;
CREATE TRIGGER plan_stays BEFORE UPDATE ON plan BEGIN SELECT RAISE(ABORT, 'a plan is never changed'); END;
CREATE TRIGGER plan_kept BEFORE DELETE ON plan BEGIN SELECT RAISE(ABORT, 'a plan is never deleted'); END;
CREATE TRIGGER options_stay BEFORE UPDATE ON route_options BEGIN SELECT RAISE(ABORT, 'what an attempt was begun with is never changed'); END;
CREATE TRIGGER options_kept BEFORE DELETE ON route_options BEGIN SELECT RAISE(ABORT, 'what an attempt was begun with is never deleted'); END;
CREATE TRIGGER credit_stays BEFORE UPDATE ON credit BEGIN SELECT RAISE(ABORT, 'a credit is never changed'); END;
CREATE TRIGGER credit_kept BEFORE DELETE ON credit BEGIN SELECT RAISE(ABORT, 'a credit is never deleted'); END;
CREATE TRIGGER generation_kept BEFORE DELETE ON generation BEGIN SELECT RAISE(ABORT, 'a generation is never deleted'); END;
CREATE TRIGGER attempt_kept BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'an attempt is never deleted'); END;

-- A balance moves one link of the chain at a time, and names the row that says so.
CREATE TRIGGER balance_moves
BEFORE UPDATE OF available_credits, held_credits, charged_credits, chain_seq, chain_end ON balance
BEGIN SELECT CASE
  WHEN NEW.chain_seq <> OLD.chain_seq + 1 THEN RAISE(ABORT, 'a balance changes only with the next movement of its chain')
  WHEN NEW.chain_end < 0 AND EXISTS (SELECT 1 FROM generation g WHERE g.seq = -NEW.chain_end AND g.account_seq = NEW.account_seq
    AND g.hold_chain_seq = NEW.chain_seq AND g.hold_previous IS OLD.chain_end AND g.hold_available_after = NEW.available_credits
    AND g.hold_held_after = NEW.held_credits) THEN NULL
  WHEN NEW.chain_end > 0 AND EXISTS (SELECT 1 FROM posting p WHERE p.seq = NEW.chain_end AND p.account_seq = NEW.account_seq
    AND p.chain_seq = NEW.chain_seq AND p.previous IS OLD.chain_end AND p.available_after = NEW.available_credits
    AND p.held_after = NEW.held_credits) THEN NULL
  ELSE RAISE(ABORT, 'a movement agrees with its account')
  END;
END;
CREATE TRIGGER posting_settles BEFORE INSERT ON posting WHEN NEW.generation_seq IS NOT NULL
BEGIN SELECT CASE
  WHEN NOT EXISTS (SELECT 1 FROM generation g WHERE g.seq = NEW.generation_seq AND g.account_seq = NEW.account_seq
    AND g.completed_at_ms IS NULL)
  THEN RAISE(ABORT, 'a settlement comes before the end of its generation')
  WHEN NEW.credits > (SELECT reserved_credits FROM generation WHERE seq = NEW.generation_seq)
    - (SELECT coalesce(sum(credits), 0) FROM posting WHERE generation_seq = NEW.generation_seq)
  THEN RAISE(ABORT, 'a settlement takes at most what is held')
  END;
END;

-- The row that ends the generation needs the rows that moved its money.
CREATE TRIGGER generation_frozen BEFORE UPDATE OF seq, account_seq, id, model, quoted_credits, reserved_credits, created_at_ms,
  wait_ends_at_ms, idempotency_key, hold_chain_seq, hold_previous, hold_available_after, hold_held_after, hold_epoch,
  hold_hash, key_seq, max_cost_credits, request_id, plan_seq, body, added ON generation
BEGIN SELECT RAISE(ABORT, 'what was agreed at submission is never changed'); END;
CREATE TRIGGER generation_ended BEFORE UPDATE ON generation
WHEN OLD.completed_at_ms IS NOT NULL AND (OLD.files_expired_at_ms IS NOT NULL OR NEW.files_expired_at_ms IS NULL OR
  (NEW.status, NEW.message, NEW.cost_credits, NEW.attempts, NEW.error, NEW.output, NEW.completed_at_ms, NEW.files_expire_at_ms)
  IS NOT (OLD.status, OLD.message, OLD.cost_credits, OLD.attempts, OLD.error, OLD.output, OLD.completed_at_ms,
  OLD.files_expire_at_ms))
BEGIN SELECT RAISE(ABORT, 'a generation that has ended is never changed'); END;
CREATE TRIGGER generation_goes_on BEFORE UPDATE OF status ON generation
WHEN (NEW.status = 'queued' AND OLD.status <> 'queued') OR (NEW.status = 'succeeded' AND OLD.status = 'queued')
BEGIN SELECT RAISE(ABORT, 'a generation goes from queued to running to its end'); END;
CREATE TRIGGER generation_succeeds BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'succeeded' AND OLD.status <> 'succeeded' AND NOT (
  EXISTS (SELECT 1 FROM posting m JOIN attempt a ON a.seq = m.generation_seq AND a.n = m.attempt_n
    WHERE m.generation_seq = NEW.seq AND m.kind = 'capture' AND m.credits = NEW.cost_credits
    AND a.state = 'delivered' AND a.price_credits = NEW.cost_credits)
  AND coalesce((SELECT credits FROM posting WHERE generation_seq = NEW.seq AND kind = 'release'), 0)
    = NEW.reserved_credits - NEW.cost_credits)
BEGIN SELECT RAISE(ABORT, 'a generation succeeds with the capture of its cost'); END;
CREATE TRIGGER generation_fails BEFORE UPDATE OF status ON generation
WHEN NEW.status = 'failed' AND OLD.status <> 'failed' AND (
  coalesce((SELECT credits FROM posting WHERE generation_seq = NEW.seq AND kind = 'release'), 0) <> NEW.reserved_credits
  OR EXISTS (SELECT 1 FROM posting WHERE generation_seq = NEW.seq AND kind = 'capture')
  OR EXISTS (SELECT 1 FROM attempt WHERE seq = NEW.seq AND state = 'delivered'))
BEGIN SELECT RAISE(ABORT, 'a generation fails with the release of its hold'); END;

-- An attempt keeps what it was begun with; after the end it can no longer become what was charged.
CREATE TRIGGER attempt_begins BEFORE INSERT ON attempt
WHEN NEW.state <> 'intent' OR NOT EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an attempt begins as an intent of a generation that has not ended'); END;
CREATE TRIGGER attempt_frozen BEFORE UPDATE OF seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits ON attempt
BEGIN SELECT RAISE(ABORT, 'what an attempt was begun with is never changed'); END;
CREATE TRIGGER attempt_runs_once BEFORE UPDATE OF ends_at_ms, job_id ON attempt
WHEN NEW.ends_at_ms IS NOT coalesce(OLD.ends_at_ms, NEW.ends_at_ms) OR NEW.job_id IS NOT coalesce(OLD.job_id, NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'the route time of an attempt is never restarted, and it owns one job'); END;
CREATE TRIGGER attempt_after_end BEFORE UPDATE ON attempt
WHEN EXISTS (SELECT 1 FROM generation WHERE seq = NEW.seq AND completed_at_ms IS NOT NULL)
  AND ((OLD.state = 'delivered') <> (NEW.state = 'delivered') OR NEW.sent_at_ms IS NOT OLD.sent_at_ms
    OR NEW.ends_at_ms IS NOT OLD.ends_at_ms OR (NEW.state <> OLD.state AND NEW.state IN ('intent', 'sending')))
BEGIN SELECT RAISE(ABORT, 'after the end an attempt is not sent and not charged'); END;
