// Store contract of resumable uploads: lock, offset, parts, end, quota and the file at the end.
import { expect, test } from "bun:test";
import { newId } from "../../../src/domain/ids.ts";
import type { Stage } from "../conformance.ts";
import { commitOne, NOW_MS, openAccount } from "../fixture.ts";
import {
  append,
  appendMutations,
  beginMutation,
  contentOf,
  createResumable,
  DAY_MS,
  deletion,
  finishOf,
  QUOTA,
} from "../uploads.ts";

const ended = (accountSeq: number, uploadId: string, more: object = {}) =>
  ({ mutation: "end-resumable-upload", accountSeq, uploadId, error: null, atMs: NOW_MS + 1, ...more }) as const;

export const resumablePromises = (stage: Stage): void => {
  test("reads back every stored field of a resumable upload and of its parts in order", async () => {
    const { store, account } = stage;
    const create = createResumable(account.seq, { metadata: "filename Y2xpcA==,draft" });
    expect(await commitOne(store, create)).toEqual({ kind: "created" });
    const first = await append(store, create.uploadId, 0, 60);
    const second = appendMutations(create.uploadId, 60, 40);
    const part = { ...second.part, object: "1-abc" };
    await store.commit([second.lock, { ...second.begin, part }, { ...second.store, partId: part.id }]);
    expect(await store.resumableUpload(create.uploadId)).toEqual({
      ...{ seq: expect.any(Number), id: create.uploadId, accountSeq: account.seq, bytes: 100 },
      ...{ metadata: "filename Y2xpcA==,draft", receivedBytes: 100, parts: 2 },
      ...{ createdAtMs: NOW_MS, expiresAtMs: NOW_MS + DAY_MS, endedAtMs: null, fileId: null, error: null },
    });
    const { seq = 0 } = (await store.resumableUpload(create.uploadId)) ?? {};
    expect(await store.uploadParts(seq)).toEqual([
      { id: first, firstByte: 0, bytes: 60, sha256: Bun.SHA256.hash("0", "hex") },
      { id: part.id, firstByte: 60, bytes: 40, sha256: part.sha256, object: "1-abc" },
    ]);
    expect(await store.uploadPart(part.id)).toEqual({
      ...{ id: part.id, accountSeq: account.seq, sha256: part.sha256, bytes: 40, object: "1-abc" },
      ...{ mime: "application/octet-stream", life: "stored" },
    });
  });

  test("opens at most the given number of uploads within the quota, and does not count expired ones", async () => {
    const { store, account } = stage;
    const create = (changes = {}) => commitOne(store, createResumable(account.seq, { maxOpen: 2, ...changes }));
    expect(await create({ bytes: QUOTA + 1 })).toEqual({ kind: "quota_exceeded", usedBytes: 0 });
    expect((await create({ bytes: QUOTA - 100 })).kind).toBe("created");
    expect((await create()).kind).toBe("created");
    expect(await create({ bytes: 1 })).toEqual({ kind: "too_many_open", open: 2 });
    const atMs = NOW_MS + DAY_MS;
    expect(await create({ bytes: 1, atMs })).toEqual({ kind: "quota_exceeded", usedBytes: QUOTA });
    for (const { id } of await store.expiredResumableUploads(atMs, 10))
      expect((await commitOne(store, ended(account.seq, id, { isExpired: true, atMs }))).kind).toBe("ended");
    expect(await store.uploadedBytes(account.seq)).toBe(0);
    expect((await create({ bytes: 1, atMs })).kind).toBe("created");
  });

  test("gives the lock to one request, until it is released or expires", async () => {
    const { store, account } = stage;
    const { uploadId, ...create } = createResumable(account.seq);
    await store.commit([{ uploadId, ...create }]);
    const [one, two] = [appendMutations(uploadId, 0, 10, "lock_a"), appendMutations(uploadId, 0, 10, "lock_b")];
    expect((await commitOne(store, one.lock)).kind).toBe("locked");
    expect((await commitOne(store, one.lock)).kind).toBe("locked");
    expect((await commitOne(store, two.lock)).kind).toBe("gone");
    expect((await commitOne(store, two.begin)).kind).toBe("gone");
    expect((await commitOne(store, two.unlock)).kind).toBe("gone");
    expect((await commitOne(store, { ...two.lock, atMs: NOW_MS + 30_000 })).kind).toBe("locked");
    // The former holder appends nothing.
    expect((await commitOne(store, one.begin)).kind).toBe("gone");
    expect((await store.commit([two.begin, two.store])).map(({ kind }) => kind)).toEqual(["reserved", "stored"]);
    expect((await commitOne(store, two.unlock)).kind).toBe("unlocked");
    expect((await commitOne(store, one.lock)).kind).toBe("locked");
  });

  test("stores a part only with the lock and at the present offset, and never beyond the size", async () => {
    const { store, account } = stage;
    const { uploadId, ...create } = createResumable(account.seq);
    await store.commit([{ uploadId, ...create }]);
    const first = appendMutations(uploadId, 0, 60);
    const beside = appendMutations(uploadId, 0, 30);
    await store.commit([first.lock, first.begin, beside.begin]);
    expect((await commitOne(store, first.store)).kind).toBe("stored");
    expect((await commitOne(store, first.store)).kind).toBe("gone");
    expect((await commitOne(store, beside.store)).kind).toBe("gone");
    expect((await commitOne(store, appendMutations(uploadId, 50, 10).begin)).kind).toBe("gone");
    expect((await commitOne(store, appendMutations(uploadId, 60, 41).begin)).kind).toBe("gone");
    expect((await commitOne(store, appendMutations(uploadId, 60, 40).begin)).kind).toBe("reserved");
    expect((await store.resumableUpload(uploadId))?.receivedBytes).toBe(60);
    // Parts that were never stored can be removed after an hour, the stored one cannot.
    expect((await store.removableParts(NOW_MS, 10)).length).toBe(0);
    const left = await store.removableParts(NOW_MS + 1, 10);
    expect(left.map(({ bytes }) => bytes).sort()).toEqual([30, 40]);
    expect((await commitOne(store, { mutation: "remove-upload-part", partId: first.part.id })).kind).toBe("refused");
    for (const { id } of left)
      expect((await commitOne(store, { mutation: "remove-upload-part", partId: id })).kind).toBe("removed");
  });

  test("ends an upload once, releases its quota, and forgets it when its parts are removed", async () => {
    const { store, account } = stage;
    const { uploadId, ...create } = createResumable(account.seq);
    await store.commit([{ uploadId, ...create }]);
    const partId = await append(store, uploadId, 0, 60);
    const other = await openAccount(store, 0);
    expect((await commitOne(store, ended(other.seq, uploadId))).kind).toBe("gone");
    expect((await commitOne(store, ended(account.seq, uploadId, { isExpired: true }))).kind).toBe("gone");
    const error = { code: "invalid_input", status: 422, message: "file: is noise" };
    expect((await commitOne(store, ended(account.seq, uploadId, { error }))).kind).toBe("ended");
    expect((await commitOne(store, ended(account.seq, uploadId))).kind).toBe("gone");
    expect(await store.resumableUpload(uploadId)).toMatchObject({ error, endedAtMs: NOW_MS + 1, fileId: null });
    expect(await store.uploadedBytes(account.seq)).toBe(0);
    expect((await commitOne(store, appendMutations(uploadId, 60, 1).lock)).kind).toBe("gone");
    expect((await store.removableParts(NOW_MS, 10)).map(({ id }) => id)).toEqual([partId]);
    expect((await store.uploadPart(partId))?.life).toBe("retired");
    const forget = { mutation: "forget-resumable-upload", uploadId } as const;
    expect((await commitOne(store, forget)).kind).toBe("gone");
    await store.commit([{ mutation: "remove-upload-part", partId }]);
    expect(await store.forgettableUploads(NOW_MS + DAY_MS, 10)).toEqual([]);
    expect(await store.forgettableUploads(NOW_MS + DAY_MS + 1, 10)).toEqual([{ id: uploadId, accountSeq: account.seq }]);
    expect((await commitOne(store, forget)).kind).toBe("removed");
    expect(await store.resumableUpload(uploadId)).toBeUndefined();
  });

  test.each([false, true])(
    "names one file of an upload, in the transaction that ends it (bytes stored before: %p)",
    async (isSame) => {
      const { store, account } = stage;
      if (isSame) {
        const former = beginMutation(account.seq, contentOf("whole"));
        await store.commit([former, finishOf(former)]);
      }
      const { uploadId, ...create } = createResumable(account.seq);
      await store.commit([{ uploadId, ...create }]);
      await append(store, uploadId, 0, 100);
      const begin = beginMutation(account.seq, contentOf("whole"), { resumableId: uploadId });
      const again = beginMutation(account.seq, contentOf("whole"), { resumableId: uploadId });
      if (isSame) expect(await commitOne(store, begin)).toEqual({ kind: "uploaded" });
      else {
        await store.commit([begin, again]);
        expect(await store.uploadedBytes(account.seq)).toBe(300);
        expect(await commitOne(store, { ...finishOf(begin), resumableId: uploadId })).toEqual({ kind: "uploaded" });
        expect(await commitOne(store, { ...finishOf(again), resumableId: uploadId })).toEqual({ kind: "gone" });
      }
      expect(await commitOne(store, { ...again, blobId: newId("blob") })).toEqual({ kind: "gone" });
      expect(await store.uploadedBytes(account.seq)).toBe(100);
      expect(await store.resumableUpload(uploadId)).toMatchObject({ fileId: begin.fileId, error: null });
      expect(await store.uploadedFile(again.fileId)).toBeUndefined();
    },
  );

  test.each([false, true])(
    "forgets the upload of a deleted file with its metadata, once its parts are removed (before the deletion: %p)",
    async (isFirst) => {
      const { store, account } = stage;
      const { uploadId, ...create } = createResumable(account.seq, { metadata: "filename emFuemliYXIucG5n" });
      await store.commit([{ uploadId, ...create }]);
      const partId = await append(store, uploadId, 0, 100);
      const begin = beginMutation(account.seq, contentOf("named"), { resumableId: uploadId });
      await store.commit([begin, { ...finishOf(begin), resumableId: uploadId }]);
      const removal = { mutation: "remove-upload-part", partId } as const;
      if (isFirst) expect(await commitOne(store, removal)).toEqual({ kind: "removed" });
      expect(await store.resumableUpload(uploadId)).toMatchObject({ metadata: create.metadata, fileId: begin.fileId });
      expect(await commitOne(store, deletion(account.seq, begin.fileId))).toEqual({ kind: "deleted" });
      if (!isFirst) {
        expect(await store.resumableUpload(uploadId)).toMatchObject({ fileId: begin.fileId });
        expect(await commitOne(store, removal)).toEqual({ kind: "removed" });
      }
      expect(await store.resumableUpload(uploadId)).toBeUndefined();
      expect(await commitOne(store, removal)).toEqual({ kind: "gone" });
    },
  );

  test("names no file of an upload that was terminated meanwhile, and retires its blob", async () => {
    const { store, account } = stage;
    const { uploadId, ...create } = createResumable(account.seq);
    await store.commit([{ uploadId, ...create }]);
    await append(store, uploadId, 0, 100);
    const begin = beginMutation(account.seq, contentOf("whole"), { resumableId: uploadId });
    await store.commit([begin, ended(account.seq, uploadId)]);
    expect(await commitOne(store, { ...finishOf(begin), resumableId: uploadId })).toEqual({ kind: "gone" });
    expect(await store.uploadedBytes(account.seq)).toBe(0);
    expect((await store.retiredBlobs(10)).map(({ id }) => id)).toEqual([begin.blobId]);
  });
};
