-- Rows of deleted files and of their blobs can be deleted, unless a generation or a resumable upload names the file. The references hold that.
-- The triggers keep their names, which `verify` requires.
DROP TRIGGER uploaded_file_no_delete;
DROP TRIGGER upload_blob_no_delete;
CREATE TRIGGER uploaded_file_no_delete BEFORE DELETE ON uploaded_file WHEN OLD.deleted_at_ms IS NULL
BEGIN SELECT RAISE(ABORT, 'the row of an uploaded file cannot be deleted before the file'); END;
CREATE TRIGGER upload_blob_no_delete BEFORE DELETE ON upload_blob WHEN OLD.retired_at_ms IS NULL
BEGIN SELECT RAISE(ABORT, 'a stored blob cannot be deleted'); END;

-- Deleted files that no generation has used, which a use would show in `last_used_at_ms`.
CREATE INDEX uploaded_file_forgettable ON uploaded_file (deleted_at_ms) WHERE deleted_at_ms IS NOT NULL AND last_used_at_ms = created_at_ms;
-- The references to a row that is deleted.
DROP INDEX uploaded_file_blob;
CREATE INDEX uploaded_file_blob ON uploaded_file (blob_seq);
CREATE INDEX input_file_upload ON input_file (file_seq) WHERE file_seq IS NOT NULL;
CREATE INDEX resumable_upload_file ON resumable_upload (file_id) WHERE file_id IS NOT NULL;
