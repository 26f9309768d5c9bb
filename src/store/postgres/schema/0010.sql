DROP TRIGGER uploaded_file_no_delete ON uploaded_file;
DROP TRIGGER upload_blob_no_delete ON upload_blob;
CREATE TRIGGER uploaded_file_no_delete BEFORE DELETE ON uploaded_file FOR EACH ROW WHEN (OLD.deleted_at_ms IS NULL)
  EXECUTE FUNCTION reject('the row of an uploaded file cannot be deleted before the file');
CREATE TRIGGER upload_blob_no_delete BEFORE DELETE ON upload_blob FOR EACH ROW WHEN (OLD.retired_at_ms IS NULL)
  EXECUTE FUNCTION reject('a stored blob cannot be deleted');

CREATE INDEX uploaded_file_forgettable ON uploaded_file (deleted_at_ms) WHERE deleted_at_ms IS NOT NULL AND last_used_at_ms = created_at_ms;
DROP INDEX uploaded_file_blob;
CREATE INDEX uploaded_file_blob ON uploaded_file (blob_seq);
CREATE INDEX input_file_upload ON input_file (file_seq) WHERE file_seq IS NOT NULL;
CREATE INDEX resumable_upload_file ON resumable_upload (file_id) WHERE file_id IS NOT NULL;
