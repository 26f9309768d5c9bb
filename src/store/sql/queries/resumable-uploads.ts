// Queries of resumable uploads and their parts.
import type { ResumableUpload, UploadError, UploadPart } from "../../../domain/resumable-mutations.ts";
import type { ResumableReads } from "../../upload-reads.ts";
import type { Query } from "../sql-program.ts";

type UploadRow = Omit<ResumableUpload, "error"> & { error: string | null };
type PartRow = Omit<UploadPart, "object"> & { object: string | null; isStored: number; isOpen: number; accountSeq: number };

const BY_ID = `SELECT seq, id, account_seq AS "accountSeq", bytes, metadata, received_bytes AS "receivedBytes", parts,
    created_at_ms AS "createdAtMs", expires_at_ms AS "expiresAtMs", ended_at_ms AS "endedAtMs", file_id AS "fileId", error
  FROM resumable_upload WHERE id = ?1`;
const PART = `SELECT p.id, p.first_byte AS "firstByte", p.bytes, p.sha256, p.object, u.account_seq AS "accountSeq",
    CASE WHEN p.stored_at_ms IS NULL THEN 0 ELSE 1 END AS "isStored", CASE WHEN u.ended_at_ms IS NULL THEN 1 ELSE 0 END AS "isOpen"
  FROM resumable_part p JOIN resumable_upload u ON u.seq = p.upload_seq`;
const STORED = `${PART} WHERE p.upload_seq = ?1 AND p.stored_at_ms IS NOT NULL ORDER BY p.first_byte`;
const PART_BY_ID = `${PART} WHERE p.id = ?1`;
const REMOVABLE = `${PART} WHERE (u.ended_at_ms IS NOT NULL AND p.stored_at_ms IS NOT NULL)
  OR (p.stored_at_ms IS NULL AND p.created_at_ms < ?1) ORDER BY p.seq LIMIT ?2`;
const EXPIRED = `SELECT id, account_seq AS "accountSeq" FROM resumable_upload
  WHERE ended_at_ms IS NULL AND expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT ?2`;
const FORGETTABLE = `SELECT u.id, u.account_seq AS "accountSeq" FROM resumable_upload u
  WHERE u.ended_at_ms IS NOT NULL AND u.expires_at_ms < ?1
    AND NOT EXISTS (SELECT 1 FROM resumable_part p WHERE p.upload_seq = u.seq) ORDER BY u.expires_at_ms LIMIT ?2`;

const toPart = ({ id, firstByte, bytes, sha256, object }: PartRow): UploadPart => ({
  ...{ id, firstByte, bytes, sha256 },
  ...(object === null ? {} : { object }),
});

export const resumableReads = (query: Query): ResumableReads => ({
  resumableUpload: async (id) => {
    const [row] = await query<UploadRow>(BY_ID, id);
    return row && { ...row, error: row.error === null ? null : (JSON.parse(row.error) as UploadError) };
  },
  uploadParts: async (uploadSeq) => (await query<PartRow>(STORED, uploadSeq)).map(toPart),
  uploadPart: async (id) => {
    const [row] = await query<PartRow>(PART_BY_ID, id);
    if (!row) return undefined;
    const { firstByte: _, ...part } = toPart(row);
    const life = row.isOpen === 0 ? "retired" : row.isStored === 0 ? "reserved" : "stored";
    return { ...part, accountSeq: row.accountSeq, mime: "application/octet-stream", life };
  },
  removableParts: async (beforeMs, limit) => (await query<PartRow>(REMOVABLE, beforeMs, limit)).map(toPart),
  expiredResumableUploads: (nowMs, limit) => query<{ id: string; accountSeq: number }>(EXPIRED, nowMs, limit),
  forgettableUploads: (beforeMs, limit) => query<{ id: string; accountSeq: number }>(FORGETTABLE, beforeMs, limit),
});
