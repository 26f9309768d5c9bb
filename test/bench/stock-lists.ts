// Adds files and webhook deliveries of an account to a stocked directory.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { addEndpoints } from "./endpoints.ts";
import type { Tenant } from "./service.ts";

const KEPT_MS = 7 * 86_400_000;
const BYTES = 1_048_576;

/** Stores one file of an account, whose bytes are never read. */
const addFile = async (dir: string, accountSeq: number): Promise<void> => {
  const store = await openSqliteStore({ dir, mode: "test" });
  const atMs = Date.now();
  const ids = { accountSeq, fileId: newId("file"), blobId: newId("blob"), maxFiles: 1, atMs, expiresAtMs: atMs + KEPT_MS };
  const content = { sha256: Bun.SHA256.hash("not there", "hex"), bytes: BYTES, mime: "image/png", kind: "image" } as const;
  await store.commit([
    { mutation: "begin-upload", ...ids, content: { ...content, width: 64, height: 64 }, object: null, quotaBytes: BYTES },
    { mutation: "finish-upload", ...ids },
  ]);
  await store.close();
};

const NUMBERS = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)";
/** Copies of the file, which name the same bytes. */
const COPY_FILES = `${NUMBERS} INSERT INTO uploaded_file (seq, id, account_seq, blob_seq, created_at_ms, last_used_at_ms, expires_at_ms)
  SELECT f.seq + n, f.id || n, f.account_seq, f.blob_seq, f.created_at_ms, f.last_used_at_ms, f.expires_at_ms
  FROM number CROSS JOIN (SELECT * FROM uploaded_file ORDER BY seq DESC LIMIT 1) f`;
/** Delivered events of the newest generation, each at the first try. */
const ADD_DELIVERIES = `${NUMBERS} INSERT INTO webhook_delivery
    (seq, token, account_seq, endpoint_seq, type, generation_seq, sequence, created_at_ms, state, tries, epoch)
  SELECT g.seq + n, lower(hex(randomblob(5))), ?2, ?3, 'generation.succeeded', g.seq, n, ?4, 'delivered', 1, w.epoch
  FROM number CROSS JOIN (SELECT seq FROM generation WHERE account_seq = ?2 ORDER BY seq DESC LIMIT 1) g
  CROSS JOIN (SELECT max(epoch) AS epoch FROM writer_epoch) w`;
const ADD_TRIES = `INSERT INTO webhook_try (delivery_seq, try_no, at_ms, status, answer, duration_ms)
  SELECT seq, 1, created_at_ms, 200, 'ok', 12 FROM webhook_delivery ORDER BY seq`;

/**
 * Adds them to an account of a directory without a running service.
 * @param count the number of files, and of deliveries
 */
export const stockLists = async (dir: string, tenant: Tenant, count: number): Promise<void> => {
  await addFile(dir, tenant.accountSeq);
  const [endpoint] = await addEndpoints(dir, [tenant]);
  const db = new Database(join(dir, DATABASE_FILE), { strict: true });
  // The service checkpoints what is left of it at its start.
  db.transaction(() => {
    db.prepare(COPY_FILES).run(count);
    db.prepare(ADD_DELIVERIES).run(count, tenant.accountSeq, endpoint?.seq ?? 0, Date.now());
    db.prepare(ADD_TRIES).run();
  })();
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
};
