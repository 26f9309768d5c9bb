// An upload service in memory, for tests of HTTP without a store behind.
import { refuse } from "../../src/domain/api-errors.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { newId } from "../../src/domain/ids.ts";
import type { ResumableUpload } from "../../src/domain/resumable-mutations.ts";
import type { UploadedFile } from "../../src/domain/upload-mutations.ts";
import type { Files } from "../../src/files/port.ts";
import { receiveUpload } from "../../src/uploads/receive-upload.ts";
import type { ResumableService } from "../../src/uploads/resumable-service.ts";
import type { UploadService } from "../../src/uploads/upload-service.ts";

const DAY_MS = 86_400_000;

export type MemoryUploads = UploadService & {
  /** The next deletion finds the file in use. */
  use(): void;
  /** A file of any account. */
  any(id: string): UploadedFile | undefined;
};

/** @param mostBytes `limits.upload_bytes` */
export const memoryUploads = (storage: Files, clock: Clock, mostBytes: number): MemoryUploads => {
  const { nowMs } = clock;
  const files = new Map<string, UploadedFile>();
  let isInUse = false;
  const find: UploadService["find"] = async (id, { accountSeq }) => {
    const file = files.get(id);
    return file?.accountSeq === accountSeq ? file : refuse("not_found", "No file with this id on the account.");
  };
  return {
    create: async (body, { accountSeq }, signal, onReceived) => {
      const blobId = newId("blob");
      const incoming = await storage.receive(blobId, 1);
      try {
        const { bytes, sha256 } = await receiveUpload(body, incoming, { mostBytes, clock, signal });
        onReceived();
        await incoming.keep({ n: 1, sha256, bytes, mime: "image/png" });
        const id = newId("file");
        const times = { createdAtMs: nowMs(), expiresAtMs: nowMs() + 7 * DAY_MS };
        const content = { sha256, bytes, mime: "image/png", kind: "image", width: 2, height: 1 } as const;
        const file: UploadedFile = { seq: files.size + 1, id, accountSeq, blobId, ...content, ...times };
        files.set(id, file);
        return file;
      } finally {
        await incoming.discard();
      }
    },
    find,
    list: async ({ accountSeq }, after, limit) => {
      const all = [...files.values()].filter((file) => file.accountSeq === accountSeq).reverse();
      const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
      if (after !== null && from === 0) return refuse("invalid_request", "after: no file with this id on the account.");
      const page = all.slice(from, from + limit);
      return { files: page, next: from + limit < all.length ? (page.at(-1)?.id ?? null) : null };
    },
    space: async ({ accountSeq }) => {
      const usedBytes = [...files.values()].reduce((sum, file) => sum + (file.accountSeq === accountSeq ? file.bytes : 0), 0);
      return { usedBytes, quotaBytes: Number.MAX_SAFE_INTEGER, largestBytes: mostBytes };
    },
    remove: async (id, caller) => {
      await find(id, caller);
      if (isInUse) refuse("file_in_use", "A generation that has not ended needs the file.");
      files.delete(id);
    },
    use: () => {
      isInUse = true;
    },
    any: (id) => files.get(id),
  };
};

/** Resumable uploads in memory; none becomes a file. */
export const memoryResumable = (nowMs: () => number): ResumableService => {
  const uploads = new Map<string, ResumableUpload>();
  const find: ResumableService["find"] = async (id, { accountSeq }) => {
    const upload = uploads.get(id);
    return upload?.accountSeq === accountSeq ? upload : refuse("not_found", "No upload with this id on the account.");
  };
  return {
    create: async ({ bytes, metadata }, { accountSeq }) => {
      const times = { createdAtMs: nowMs(), expiresAtMs: nowMs() + DAY_MS, endedAtMs: null };
      const state = { receivedBytes: 0, parts: 0, fileId: null, error: null };
      const upload = { seq: uploads.size + 1, id: newId("upl"), accountSeq, bytes, metadata, ...times, ...state };
      uploads.set(upload.id, upload);
      return upload;
    },
    find,
    append: async (id, { stream, offset }, caller) => {
      const upload = await find(id, caller);
      if (offset !== upload.receivedBytes) refuse("invalid_request", "Upload-Offset: is wrong.", { status: 409 });
      for await (const chunk of stream ?? []) upload.receivedBytes += chunk.length;
      return upload;
    },
    resume: find,
    terminate: async (id, caller) => {
      await find(id, caller);
      uploads.delete(id);
    },
  };
};
