-- Indexes of generations that an admission writes fewer pages of. The list of one account's generations by model gets its row at the end.
CREATE INDEX generation_model_ended ON generation (account_seq, model) WHERE completed_at_ms IS NOT NULL;
DROP INDEX generation_model;
-- The key comes first: keys that rise with time, of all accounts, are added at the end of the index.
DROP INDEX generation_idempotency_key;
CREATE UNIQUE INDEX generation_idempotency_key ON generation (idempotency_key, account_seq) WHERE idempotency_key IS NOT NULL;
