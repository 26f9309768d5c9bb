// Queries of uploaded files, of blobs whose bytes can be deleted, and of the stored files that generations take.
import type { InputFile } from "../../../domain/types.ts";
import type { StoredBlob, UploadedFile } from "../../../domain/upload-mutations.ts";
import type { UploadReads } from "../../upload-reads.ts";
import type { Query } from "../sql-program.ts";
import { resumableReads } from "./resumable-uploads.ts";

type FileRow = Pick<UploadedFile, "seq" | "id" | "accountSeq" | "blobId" | "sha256" | "bytes" | "mime" | "kind"> & {
  createdAtMs: number;
  expiresAtMs: number;
  width: number | null;
  height: number | null;
  ms: number | null;
  pictureMs: number | null;
  object: string | null;
};
type InputRow = Omit<InputFile, "object"> & { object: string | null };
type BlobRow = Omit<StoredBlob, "object"> & { object: string | null };

const FILE = `SELECT f.seq, f.id, f.account_seq AS "accountSeq", b.id AS "blobId", b.sha256, b.bytes, b.mime, b.kind, b.width, b.height,
    b.duration_ms AS ms, b.picture_ms AS "pictureMs", b.object, f.created_at_ms AS "createdAtMs", f.expires_at_ms AS "expiresAtMs"
  FROM uploaded_file f JOIN upload_blob b ON b.seq = f.blob_seq WHERE f.deleted_at_ms IS NULL`;
const BY_ID = `${FILE} AND f.id = ?1`;
const OF_ACCOUNT = `${FILE} AND f.account_seq = ?1 AND f.seq < ?2 AND f.expires_at_ms > ?3 ORDER BY f.seq DESC LIMIT ?4`;
const SEQ = "SELECT seq FROM uploaded_file WHERE id = ?1 AND account_seq = ?2";
const USED = "SELECT bytes FROM upload_usage WHERE account_seq = ?1";
const BLOB = `SELECT id, account_seq AS "accountSeq", sha256, bytes, mime, object,
    CASE WHEN retired_at_ms IS NOT NULL THEN 'retired' WHEN stored_at_ms IS NOT NULL THEN 'stored' ELSE 'reserved' END AS life
  FROM upload_blob`;
const BLOB_BY_ID = `${BLOB} WHERE id = ?1`;
const RETIRED = `${BLOB} WHERE retired_at_ms IS NOT NULL AND removed_at_ms IS NULL ORDER BY seq LIMIT ?1`;
const LEFT = `${BLOB} WHERE stored_at_ms IS NULL AND retired_at_ms IS NULL AND created_at_ms < ?1 ORDER BY created_at_ms LIMIT ?2`;
const EXPIRED = `SELECT f.id, f.account_seq AS "accountSeq" FROM uploaded_file f WHERE f.deleted_at_ms IS NULL AND f.expires_at_ms <= ?1
    AND NOT EXISTS (SELECT 1 FROM generation g CROSS JOIN input_file i
      WHERE g.completed_at_ms IS NULL AND i.generation_seq = g.seq AND i.file_seq = f.seq)
  ORDER BY f.expires_at_ms LIMIT ?2`;
const FORGETTABLE = `SELECT f.id, f.account_seq AS "accountSeq" FROM uploaded_file f
  WHERE f.deleted_at_ms < ?1 AND f.last_used_at_ms = f.created_at_ms
    AND NOT EXISTS (SELECT 1 FROM input_file i WHERE i.file_seq = f.seq)
    AND NOT EXISTS (SELECT 1 FROM resumable_upload u WHERE u.file_id = f.id)
  ORDER BY f.deleted_at_ms LIMIT ?2`;
const INPUTS = `SELECT input_no AS n, field, kind, file_seq AS "fileSeq", source_generation_seq AS "sourceSeq", storage_id AS "storageId",
    file_no AS "fileNo", object, sha256, bytes, mime FROM input_file WHERE generation_seq = ?1 ORDER BY input_no`;

const toFile = ({ width, height, ms, pictureMs, object, ...row }: FileRow): UploadedFile => ({
  ...row,
  ...(width === null ? {} : { width }),
  ...(height === null ? {} : { height }),
  ...(ms === null ? {} : { ms }),
  ...(pictureMs === null ? {} : { pictureMs }),
  ...(object === null ? {} : { object }),
});
const withObject = <T extends object>({ object, ...row }: T & { object: string | null }) => ({
  ...row,
  ...(object === null ? {} : { object }),
});

export const uploadReads = (query: Query): UploadReads => {
  const blobs = async (sql: string, ...values: (string | number)[]): Promise<StoredBlob[]> =>
    (await query<BlobRow>(sql, ...values)).map(withObject<Omit<StoredBlob, "object">>);
  return {
    ...resumableReads(query),
    uploadedFile: async (id) => {
      const [row] = await query<FileRow>(BY_ID, id);
      return row && toFile(row);
    },
    uploadedFiles: async (accountSeq, beforeSeq, nowMs, limit) =>
      (await query<FileRow>(OF_ACCOUNT, accountSeq, beforeSeq ?? Number.MAX_SAFE_INTEGER, nowMs, limit)).map(toFile),
    uploadedFileSeq: async (id, accountSeq) => (await query<{ seq: number }>(SEQ, id, accountSeq))[0]?.seq,
    uploadedBytes: async (accountSeq) => (await query<{ bytes: number }>(USED, accountSeq))[0]?.bytes ?? 0,
    blob: async (id) => (await blobs(BLOB_BY_ID, id))[0],
    retiredBlobs: (limit) => blobs(RETIRED, limit),
    leftBlobs: (beforeMs, limit) => blobs(LEFT, beforeMs, limit),
    expiredUploads: (nowMs, limit) => query<{ id: string; accountSeq: number }>(EXPIRED, nowMs, limit),
    forgettableFiles: (beforeMs, limit) => query<{ id: string; accountSeq: number }>(FORGETTABLE, beforeMs, limit),
    inputFilesOf: async (seq) => (await query<InputRow>(INPUTS, seq)).map(withObject<Omit<InputFile, "object">>),
  };
};
