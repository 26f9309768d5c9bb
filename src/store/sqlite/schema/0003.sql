-- Files that accounts upload, and the stored files that generations take as inputs.

-- Uploaded bytes, once for each account and content. The row precedes the bytes and outlives them. `object` is the name in the bucket; null:
-- the bytes are on the disk of the service. `duration_ms` is null if the length is not known, `picture_ms` if the pictures are as long.
CREATE TABLE upload_blob (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 1),
  mime TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('image', 'video', 'audio')),
  width INTEGER CHECK (width >= 1),
  height INTEGER CHECK (height >= 1),
  duration_ms INTEGER CHECK (duration_ms >= 1),
  picture_ms INTEGER CHECK (picture_ms >= 1),
  object TEXT,
  created_at_ms INTEGER NOT NULL,
  -- Its life: reserved, stored, retired (no file may name it), removed (its bytes are deleted).
  stored_at_ms INTEGER,
  retired_at_ms INTEGER,
  removed_at_ms INTEGER,
  CHECK (removed_at_ms IS NULL OR retired_at_ms IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX upload_blob_content ON upload_blob (account_seq, sha256) WHERE stored_at_ms IS NOT NULL AND retired_at_ms IS NULL;
CREATE INDEX upload_blob_reserved ON upload_blob (created_at_ms) WHERE stored_at_ms IS NULL AND retired_at_ms IS NULL;
CREATE INDEX upload_blob_retired ON upload_blob (seq) WHERE retired_at_ms IS NOT NULL AND removed_at_ms IS NULL;

-- A file of an account, as its API shows it. Several files can name one blob.
CREATE TABLE uploaded_file (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_seq INTEGER NOT NULL REFERENCES account (seq),
  blob_seq INTEGER NOT NULL REFERENCES upload_blob (seq),
  created_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER NOT NULL CHECK (last_used_at_ms >= created_at_ms),
  expires_at_ms INTEGER NOT NULL,
  deleted_at_ms INTEGER
) STRICT;
CREATE INDEX uploaded_file_account ON uploaded_file (account_seq, seq) WHERE deleted_at_ms IS NULL;
CREATE INDEX uploaded_file_blob ON uploaded_file (blob_seq) WHERE deleted_at_ms IS NULL;
CREATE INDEX uploaded_file_to_expire ON uploaded_file (expires_at_ms) WHERE deleted_at_ms IS NULL;

-- The bytes that count against the quota of an account: those of its blobs that are not retired.
CREATE TABLE upload_usage (
  account_seq INTEGER PRIMARY KEY REFERENCES account (seq),
  bytes INTEGER NOT NULL CHECK (bytes BETWEEN 0 AND 9007199254740991)
) STRICT;

-- A stored file that an input field of a generation names: an uploaded file, or a result file of another generation. The numbers follow those
-- of its pinned inputs. `storage_id` and `file_no` name the bytes in the storage of uploads or of results.
CREATE TABLE input_file (
  generation_seq INTEGER NOT NULL REFERENCES generation (seq),
  input_no INTEGER NOT NULL CHECK (input_no BETWEEN 1 AND 99),
  field TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('image', 'video', 'audio')),
  file_seq INTEGER REFERENCES uploaded_file (seq),
  source_generation_seq INTEGER REFERENCES generation (seq),
  storage_id TEXT NOT NULL,
  file_no INTEGER NOT NULL CHECK (file_no BETWEEN 1 AND 99),
  object TEXT,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 1),
  mime TEXT NOT NULL,
  PRIMARY KEY (generation_seq, input_no),
  CHECK ((file_seq IS NULL) <> (source_generation_seq IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX input_file_source ON input_file (source_generation_seq) WHERE source_generation_seq IS NOT NULL;

CREATE TRIGGER upload_blob_no_delete BEFORE DELETE ON upload_blob BEGIN SELECT RAISE(ABORT, 'a stored blob cannot be deleted'); END;
CREATE TRIGGER uploaded_file_no_delete BEFORE DELETE ON uploaded_file
BEGIN SELECT RAISE(ABORT, 'the row of an uploaded file cannot be deleted'); END;
CREATE TRIGGER input_file_no_delete BEFORE DELETE ON input_file
BEGIN SELECT RAISE(ABORT, 'the file of an input cannot be deleted'); END;
CREATE TRIGGER input_file_immutable BEFORE UPDATE ON input_file
BEGIN SELECT RAISE(ABORT, 'the file of an input is immutable'); END;
CREATE TRIGGER upload_blob_terms_immutable BEFORE UPDATE OF seq, id, account_seq, sha256, bytes, mime, kind, width, height, duration_ms,
  picture_ms, created_at_ms ON upload_blob
BEGIN SELECT RAISE(ABORT, 'the content of a stored blob is immutable'); END;
CREATE TRIGGER uploaded_file_terms_immutable BEFORE UPDATE OF seq, id, account_seq, blob_seq, created_at_ms ON uploaded_file
BEGIN SELECT RAISE(ABORT, 'the content of an uploaded file is immutable'); END;
CREATE TRIGGER uploaded_file_requires_blob BEFORE INSERT ON uploaded_file
WHEN NEW.deleted_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM upload_blob WHERE seq = NEW.blob_seq AND account_seq = NEW.account_seq
  AND stored_at_ms IS NOT NULL AND retired_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an uploaded file has a stored blob of its account'); END;
CREATE TRIGGER uploaded_file_final BEFORE UPDATE ON uploaded_file WHEN OLD.deleted_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a deleted file stays deleted'); END;
CREATE TRIGGER uploaded_file_needed BEFORE UPDATE OF deleted_at_ms ON uploaded_file
WHEN NEW.deleted_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM generation g CROSS JOIN input_file i
  WHERE g.completed_at_ms IS NULL AND i.generation_seq = g.seq AND i.file_seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'an open generation needs the file'); END;
CREATE TRIGGER upload_blob_needed BEFORE UPDATE OF retired_at_ms ON upload_blob
WHEN NEW.retired_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM uploaded_file WHERE blob_seq = NEW.seq AND deleted_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'a file needs the stored blob'); END;
CREATE TRIGGER upload_blob_final BEFORE UPDATE ON upload_blob
WHEN (OLD.retired_at_ms IS NOT NULL AND (NEW.retired_at_ms IS NULL OR NEW.stored_at_ms IS NOT OLD.stored_at_ms))
  OR OLD.removed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a retired blob stays retired'); END;
CREATE TRIGGER input_file_requires_file BEFORE INSERT ON input_file
WHEN NEW.file_seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM uploaded_file WHERE seq = NEW.file_seq AND deleted_at_ms IS NULL)
  AND EXISTS (SELECT 1 FROM generation WHERE seq = NEW.generation_seq AND completed_at_ms IS NULL)
BEGIN SELECT RAISE(ABORT, 'an open generation takes files that are stored'); END;
