-- People who sign in to the console, what they are signed in with, how they are let in, and who changed what.
-- Each account has one hidden key that the generations of its people's playground belong to. It opens nothing: no key has its hash.
ALTER TABLE api_key ADD COLUMN kind TEXT NOT NULL DEFAULT 'api'
  CHECK (kind IN ('api', 'console') AND (kind = 'console') = (start = 'console'));
CREATE UNIQUE INDEX api_key_console ON api_key (account_seq) WHERE kind = 'console';

CREATE TABLE person (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE CHECK (email = lower(email) AND email LIKE '_%@_%' AND length(email) <= 254),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  role TEXT NOT NULL CHECK (role IN ('member', 'operator', 'viewer')),
  account_seq INTEGER REFERENCES account (seq),
  -- Argon2id in the PHC form.
  password TEXT NOT NULL CHECK (password GLOB '$argon2id$*'),
  created_at_ms INTEGER NOT NULL,
  disabled_at_ms INTEGER,
  CHECK (role <> 'member' OR account_seq IS NOT NULL)
) STRICT;
CREATE INDEX person_account ON person (account_seq) WHERE account_seq IS NOT NULL;

-- Only the SHA-256 of a session's token is kept: who reads the file is not signed in.
CREATE TABLE session (
  hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
  id TEXT NOT NULL UNIQUE,
  person_seq INTEGER NOT NULL REFERENCES person (seq),
  created_at_ms INTEGER NOT NULL,
  seen_at_ms INTEGER NOT NULL CHECK (seen_at_ms >= created_at_ms),
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  ended_at_ms INTEGER,
  agent TEXT NOT NULL CHECK (length(agent) <= 300),
  address TEXT NOT NULL CHECK (length(address) <= 100)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_person ON session (person_seq);

-- Links that let somebody in once: to set the service up, to join, or to set a new password. Kept after use.
CREATE TABLE invitation (
  hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  role TEXT NOT NULL CHECK (role IN ('member', 'operator', 'viewer')),
  -- The account that is joined, or the name of the one that is made for whoever comes.
  account_seq INTEGER REFERENCES account (seq),
  account_name TEXT,
  email TEXT CHECK (email = lower(email)),
  -- Whose password it sets, or who came.
  person_seq INTEGER REFERENCES person (seq),
  made_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > created_at_ms),
  used_at_ms INTEGER,
  withdrawn_at_ms INTEGER,
  CHECK (used_at_ms IS NULL OR withdrawn_at_ms IS NULL),
  CHECK (account_seq IS NULL OR account_name IS NULL),
  CHECK (CASE kind
    WHEN 'setup' THEN role = 'operator' AND email IS NULL AND (person_seq IS NULL) = (used_at_ms IS NULL)
    WHEN 'invite' THEN email IS NOT NULL AND (person_seq IS NULL) = (used_at_ms IS NULL)
      AND (role <> 'member' OR coalesce(account_seq, account_name) IS NOT NULL)
    ELSE person_seq IS NOT NULL AND coalesce(account_seq, account_name) IS NULL END)
) STRICT, WITHOUT ROWID;

-- Who changed what. `detail` is JSON without secrets.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('person', 'command', 'service')),
  actor_id TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  detail TEXT NOT NULL CHECK (json_type(detail) = 'object')
) STRICT;

CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'a line of the audit log is never changed'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'a line of the audit log is never deleted'); END;
CREATE TRIGGER person_stays BEFORE UPDATE OF seq, id, email, created_at_ms ON person
BEGIN SELECT RAISE(ABORT, 'who somebody is never changes'); END;
CREATE TRIGGER person_kept BEFORE DELETE ON person BEGIN SELECT RAISE(ABORT, 'a person is disabled, never deleted'); END;
CREATE TRIGGER operator_remains BEFORE UPDATE OF role, disabled_at_ms ON person
WHEN OLD.role = 'operator' AND OLD.disabled_at_ms IS NULL AND (NEW.role <> 'operator' OR NEW.disabled_at_ms IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM person WHERE role = 'operator' AND disabled_at_ms IS NULL AND seq <> OLD.seq)
BEGIN SELECT RAISE(ABORT, 'this is the last operator: make somebody else one first'); END;
CREATE TRIGGER session_begins BEFORE INSERT ON session
WHEN NOT EXISTS (SELECT 1 FROM person WHERE seq = NEW.person_seq AND disabled_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'somebody who is disabled does not sign in'); END;
CREATE TRIGGER session_stays BEFORE UPDATE ON session
WHEN OLD.ended_at_ms IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.person_seq, NEW.created_at_ms, NEW.expires_at_ms)
    IS NOT (OLD.hash, OLD.id, OLD.person_seq, OLD.created_at_ms, OLD.expires_at_ms)
BEGIN SELECT RAISE(ABORT, 'a session that has ended stays so, and none becomes another'); END;
CREATE TRIGGER invitation_stays BEFORE UPDATE ON invitation
WHEN coalesce(OLD.used_at_ms, OLD.withdrawn_at_ms) IS NOT NULL
  OR (NEW.hash, NEW.id, NEW.kind, NEW.role, NEW.account_name, NEW.email, NEW.created_at_ms, NEW.expires_at_ms)
    IS NOT (OLD.hash, OLD.id, OLD.kind, OLD.role, OLD.account_name, OLD.email, OLD.created_at_ms, OLD.expires_at_ms)
BEGIN SELECT RAISE(ABORT, 'an invitation is used or withdrawn once, and never changes'); END;
CREATE TRIGGER invitation_kept BEFORE DELETE ON invitation BEGIN SELECT RAISE(ABORT, 'an invitation is never deleted'); END;
