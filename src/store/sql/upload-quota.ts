// The bytes and files that count against the upload quota of an account. The row is locked before anything of the account changes.
import type { Dialect } from "./dialect.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";

const OPEN_USAGE = "INSERT INTO upload_usage (account_seq, bytes) VALUES (?1, 0) ON CONFLICT (account_seq) DO NOTHING";
const FILES = `SELECT (SELECT count(*) FROM uploaded_file WHERE account_seq = ?1 AND deleted_at_ms IS NULL)
  + (SELECT count(*) FROM resumable_upload WHERE account_seq = ?1 AND ended_at_ms IS NULL) AS files`;
const TAKE = "UPDATE upload_usage SET bytes = bytes + ?2 WHERE account_seq = ?1 AND bytes + ?2 <= ?3";
const GIVE_BACK = "UPDATE upload_usage SET bytes = bytes - ?2 WHERE account_seq = ?1";

export const prepareUsageLock = ({ forUpdate }: Dialect) => {
  const lock = `SELECT bytes FROM upload_usage WHERE account_seq = ?1 ${forUpdate}`;
  /** @returns the bytes that count against the quota of the account */
  return function* (accountSeq: number): SqlProgram<number> {
    yield* change(OPEN_USAGE, accountSeq);
    return (yield* first<{ bytes: number }>(lock, accountSeq))?.bytes ?? 0;
  };
};

/** The files of an account that are not deleted, and its open resumable uploads, which may become files. */
export const countFiles = function* (accountSeq: number): SqlProgram<number> {
  return (yield* first<{ files: number }>(FILES, accountSeq))?.files ?? 0;
};

/** @returns whether the bytes fit into the quota */
export const takeQuota = function* (accountSeq: number, bytes: number, quotaBytes: number): SqlProgram<boolean> {
  return (yield* change(TAKE, accountSeq, bytes, quotaBytes)) > 0;
};

export const giveBackQuota = function* (accountSeq: number, bytes: number): SqlProgram<void> {
  yield* change(GIVE_BACK, accountSeq, bytes);
};
