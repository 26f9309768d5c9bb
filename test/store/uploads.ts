// Uploads of store tests: content, mutations, and the whole life of a file.
import { expect } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import type { CreateResumableUpload } from "../../src/domain/resumable-mutations.ts";
import type { InputFile } from "../../src/domain/types.ts";
import type { BeginUpload, UploadContent, UploadedFile } from "../../src/domain/upload-mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { commitOne, NOW_MS } from "./fixture.ts";

export const DAY_MS = 86_400_000;
export const QUOTA = 1000;

/** A clip of 100 bytes, unless `changes` override it; `seed` makes its hash. */
export const contentOf = (seed: string, changes: Partial<UploadContent> = {}): UploadContent => ({
  sha256: Bun.SHA256.hash(seed, "hex"),
  bytes: 100,
  mime: "video/mp4",
  kind: "video",
  width: 1280,
  height: 720,
  ms: 4000,
  ...changes,
});

export const beginMutation = (accountSeq: number, content: UploadContent, changes: Partial<BeginUpload> = {}): BeginUpload => ({
  mutation: "begin-upload",
  accountSeq,
  fileId: newId("file"),
  blobId: newId("blob"),
  content,
  object: null,
  quotaBytes: QUOTA,
  maxFiles: 1000,
  atMs: NOW_MS,
  expiresAtMs: NOW_MS + 7 * DAY_MS,
  ...changes,
});

/** The second half of an upload that was reserved. */
export const finishOf = ({ accountSeq, fileId, blobId, maxFiles, atMs, expiresAtMs }: BeginUpload) =>
  ({
    mutation: "finish-upload",
    ...{ accountSeq, fileId, blobId, maxFiles, atMs: atMs + 10, expiresAtMs: expiresAtMs + 10 },
  }) as const;

/** Uploads a file, and expects that its bytes are new. */
export const upload = async (
  store: Store,
  accountSeq: number,
  seed: string,
  changes: Partial<UploadContent> = {},
  more: Partial<BeginUpload> = {},
): Promise<UploadedFile> => {
  const begin = beginMutation(accountSeq, contentOf(seed, changes), more);
  expect(await commitOne(store, begin)).toEqual({ kind: "reserved" });
  expect(await commitOne(store, finishOf(begin))).toEqual({ kind: "uploaded" });
  const file = await store.uploadedFile(begin.fileId);
  if (!file) throw new Error("the uploaded file is not there");
  return file;
};

/** The input that names an uploaded file. */
export const inputOf = ({ seq, blobId, sha256, bytes, mime, kind }: UploadedFile, n = 1): InputFile => ({
  ...{ n, field: `input.${kind}_url`, kind, fileSeq: seq, sourceSeq: null, storageId: blobId, fileNo: 1 },
  ...{ sha256, bytes, mime },
});

export const deletion = (accountSeq: number, fileId: string, atMs = NOW_MS + 20) =>
  ({ mutation: "delete-file", accountSeq, fileId, atMs }) as const;

/** The creation of a resumable upload of 100 bytes. */
export const createResumable = (accountSeq: number, changes: Partial<CreateResumableUpload> = {}): CreateResumableUpload => ({
  ...{ mutation: "create-resumable-upload", accountSeq, uploadId: newId("upl"), bytes: 100, metadata: null },
  ...{ quotaBytes: QUOTA, maxOpen: 5, maxFiles: 1000, atMs: NOW_MS, expiresAtMs: NOW_MS + DAY_MS },
  ...changes,
});

/** The mutations that append a part under a lock: take the lock, name the part, store it. */
export const appendMutations = (uploadId: string, firstByte: number, bytes: number, lockId = "lock_a") => {
  const part = { id: newId("blob"), firstByte, bytes, sha256: Bun.SHA256.hash(`${firstByte}`, "hex"), object: null };
  const holder = { uploadId, lockId, atMs: NOW_MS, untilMs: NOW_MS + 30_000 };
  return {
    part,
    lock: { mutation: "lock-resumable-upload", ...holder },
    begin: { mutation: "begin-upload-part", ...holder, part },
    store: { mutation: "store-upload-part", ...holder, partId: part.id },
    unlock: { mutation: "unlock-resumable-upload", uploadId, lockId },
  } as const;
};

/** Appends a part to a resumable upload. @returns the id of the part */
export const append = async (store: Store, uploadId: string, firstByte: number, bytes: number): Promise<string> => {
  const { part, ...steps } = appendMutations(uploadId, firstByte, bytes);
  const results = await store.commit([steps.lock, steps.begin, steps.store, steps.unlock]);
  expect(results.map(({ kind }) => kind)).toEqual(["locked", "reserved", "stored", "unlocked"]);
  return part.id;
};
