-- Lists of one account's generations by model and by result. Each row is added once: at the admission, or at the end. The columns of the
-- conditions are null until the end, so that no other update of a generation changes an index.
CREATE INDEX generation_model ON generation (account_seq, model);
CREATE INDEX generation_failed ON generation (account_seq) WHERE error IS NOT NULL;
CREATE INDEX generation_succeeded ON generation (account_seq) WHERE files_expire_at_ms IS NOT NULL;
