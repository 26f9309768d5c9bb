-- Resumable uploads, and the parts of them that are stored.

-- An upload that its client continues after a broken connection. It counts against the quota of the account with its whole size until it
-- ends. A request that appends bytes holds the lock. `error` is the API error that ended it, as JSON. One that ended without a file and
-- without an error was terminated, or has expired.
CREATE TABLE resumable_upload (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  bytes INTEGER NOT NULL CHECK (bytes >= 1),
  -- Upload-Metadata as its client sent it.
  metadata TEXT,
  received_bytes INTEGER NOT NULL DEFAULT 0,
  parts INTEGER NOT NULL DEFAULT 0 CHECK (parts >= 0),
  lock_id TEXT,
  locked_until_ms INTEGER,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  file_id TEXT REFERENCES uploaded_file (id),
  error TEXT,
  CHECK (received_bytes BETWEEN 0 AND bytes),
  CHECK ((lock_id IS NULL) = (locked_until_ms IS NULL)),
  CHECK (ended_at_ms IS NOT NULL OR (file_id IS NULL AND error IS NULL)),
  CHECK (file_id IS NULL OR (error IS NULL AND received_bytes = bytes))
) STRICT;
CREATE INDEX resumable_upload_open ON resumable_upload (account_seq) WHERE ended_at_ms IS NULL;
CREATE INDEX resumable_upload_to_expire ON resumable_upload (expires_at_ms);

-- Bytes of a resumable upload: the row precedes the bytes in storage, and is deleted after them.
CREATE TABLE resumable_part (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  upload_seq INTEGER NOT NULL REFERENCES resumable_upload (seq),
  first_byte INTEGER NOT NULL CHECK (first_byte >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 1),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  -- The name in the bucket; NULL: the bytes are on the disk of the service.
  object TEXT,
  created_at_ms INTEGER NOT NULL,
  stored_at_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX resumable_part_stored ON resumable_part (upload_seq, first_byte) WHERE stored_at_ms IS NOT NULL;
CREATE INDEX resumable_part_upload ON resumable_part (upload_seq);

CREATE TRIGGER resumable_upload_terms_immutable BEFORE UPDATE OF seq, id, account_seq, bytes, metadata, created_at_ms, expires_at_ms
ON resumable_upload
BEGIN SELECT RAISE(ABORT, 'the terms of a resumable upload are immutable'); END;
CREATE TRIGGER resumable_upload_final BEFORE UPDATE ON resumable_upload WHEN OLD.ended_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an ended upload stays ended'); END;
CREATE TRIGGER resumable_upload_kept BEFORE DELETE ON resumable_upload WHEN OLD.ended_at_ms IS NULL
BEGIN SELECT RAISE(ABORT, 'an open upload cannot be deleted'); END;
CREATE TRIGGER resumable_upload_never_shrinks BEFORE UPDATE OF received_bytes ON resumable_upload
WHEN NEW.received_bytes < OLD.received_bytes
BEGIN SELECT RAISE(ABORT, 'the offset of an upload never decreases'); END;
CREATE TRIGGER resumable_part_needed BEFORE DELETE ON resumable_part
WHEN OLD.stored_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM resumable_upload WHERE seq = OLD.upload_seq AND ended_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an open upload needs its stored parts'); END;
