// Store contract of uploaded files: reservation, shared content, quota, use by generations and deletion.
import { expect, test } from "bun:test";
import { newId } from "../../../src/domain/ids.ts";
import type { Stage } from "../conformance.ts";
import { admit, admitMutation, commitOne, NOW_MS, openAccount, releasedMutation, succeed } from "../fixture.ts";
import {
  append,
  beginMutation,
  contentOf,
  createResumable,
  DAY_MS,
  deletion,
  finishOf,
  inputOf,
  QUOTA,
  upload,
} from "../uploads.ts";

export const uploadPromises = (stage: Stage): void => {
  test("reads back every stored field of an uploaded file, and no file before its bytes are stored", async () => {
    const { store, account } = stage;
    const content = contentOf("clip", { pictureMs: 3900 });
    const begin = beginMutation(account.seq, content, { object: "1-abc" });
    expect(await commitOne(store, begin)).toEqual({ kind: "reserved" });
    expect(await store.uploadedFile(begin.fileId)).toBeUndefined();
    expect(await store.uploadedBytes(account.seq)).toBe(100);
    expect(await commitOne(store, finishOf(begin))).toEqual({ kind: "uploaded" });
    expect(await store.uploadedFile(begin.fileId)).toEqual({
      ...content,
      seq: expect.any(Number),
      id: begin.fileId,
      accountSeq: account.seq,
      blobId: begin.blobId,
      object: "1-abc",
      createdAtMs: NOW_MS + 10,
      expiresAtMs: NOW_MS + 7 * DAY_MS + 10,
    });
    const { sha256, bytes, mime } = content;
    const blob = { id: begin.blobId, accountSeq: account.seq, sha256, bytes, mime, object: "1-abc", life: "stored" } as const;
    expect(await store.blob(begin.blobId)).toEqual(blob);
    const picture = await upload(store, account.seq, "picture", { kind: "image", mime: "image/png", ms: undefined } as never);
    expect(picture).not.toHaveProperty("ms");
    expect(picture).not.toHaveProperty("object");
  });

  test("stores identical bytes of one account once, and those of two accounts twice", async () => {
    const { store, account } = stage;
    const first = await upload(store, account.seq, "same");
    const again = beginMutation(account.seq, contentOf("same"));
    expect(await commitOne(store, again)).toEqual({ kind: "uploaded" });
    expect(await store.uploadedFile(again.fileId)).toMatchObject({ blobId: first.blobId });
    expect(await store.uploadedBytes(account.seq)).toBe(100);
    const other = await openAccount(store, 0);
    const foreign = await upload(store, other.seq, "same");
    expect(foreign.blobId).not.toBe(first.blobId);
    expect(await store.uploadedBytes(other.seq)).toBe(100);
  });

  test("names the bytes of the first of two concurrent uploads, and retires those of the second", async () => {
    const { store, account } = stage;
    const [one, two] = [beginMutation(account.seq, contentOf("same")), beginMutation(account.seq, contentOf("same"))];
    await store.commit([one, two]);
    expect(await commitOne(store, finishOf(two))).toEqual({ kind: "uploaded" });
    expect(await commitOne(store, finishOf(one))).toEqual({ kind: "uploaded" });
    expect((await store.uploadedFile(one.fileId))?.blobId).toBe(two.blobId);
    expect(await store.uploadedBytes(account.seq)).toBe(100);
    expect(await store.retiredBlobs(10)).toMatchObject([{ id: one.blobId, accountSeq: account.seq, life: "retired" }]);
    expect(await commitOne(store, { mutation: "remove-blob", blobId: one.blobId, atMs: NOW_MS })).toEqual({ kind: "removed" });
    expect(await commitOne(store, { mutation: "remove-blob", blobId: one.blobId, atMs: NOW_MS })).toEqual({ kind: "gone" });
    expect(await store.retiredBlobs(10)).toEqual([]);
  });

  test("accepts an upload that fills the quota exactly, rejects one byte more, and counts deleted bytes no longer", async () => {
    const { store, account } = stage;
    const half = await upload(store, account.seq, "half", { bytes: QUOTA / 2 });
    const over = beginMutation(account.seq, contentOf("over", { bytes: QUOTA / 2 + 1 }));
    expect(await commitOne(store, over)).toEqual({ kind: "quota_exceeded", usedBytes: QUOTA / 2 });
    await upload(store, account.seq, "rest", { bytes: QUOTA / 2 });
    // Identical bytes count once.
    expect((await commitOne(store, beginMutation(account.seq, contentOf("half", { bytes: QUOTA / 2 })))).kind).toBe("uploaded");
    expect((await commitOne(store, beginMutation(account.seq, contentOf("new", { bytes: 1 })))).kind).toBe("quota_exceeded");
    expect((await commitOne(store, deletion(account.seq, half.id))).kind).toBe("deleted");
    expect(await store.uploadedBytes(account.seq)).toBe(QUOTA);
    for (const { id } of await store.uploadedFiles(account.seq, null, NOW_MS, 10))
      await store.commit([deletion(account.seq, id)]);
    expect(await store.uploadedBytes(account.seq)).toBe(0);
  });

  test("accepts files up to their number, open resumable uploads included, and no race names one more", async () => {
    const { store, account } = stage;
    const bound = { maxFiles: 3 };
    const begin = (seed: string) => beginMutation(account.seq, contentOf(seed), bound);
    const first = await upload(store, account.seq, "one", {}, bound);
    const { uploadId, ...create } = createResumable(account.seq, bound);
    expect((await commitOne(store, { uploadId, ...create })).kind).toBe("created");
    const [two, three] = [begin("two"), begin("three")];
    expect((await store.commit([two, three])).map(({ kind }) => kind)).toEqual(["reserved", "reserved"]);
    expect((await commitOne(store, finishOf(two))).kind).toBe("uploaded");
    const usedBytes = await store.uploadedBytes(account.seq);
    expect(await commitOne(store, finishOf(three))).toEqual({ kind: "too_many_files", files: 3 });
    expect(await store.uploadedBytes(account.seq)).toBe(usedBytes - 100);
    expect((await store.retiredBlobs(10)).map(({ id }) => id)).toEqual([three.blobId]);
    // Identical bytes are a further file, too.
    expect(await commitOne(store, begin("one"))).toEqual({ kind: "too_many_files", files: 3 });
    expect(await commitOne(store, createResumable(account.seq, bound))).toEqual({ kind: "too_many_files", files: 3 });
    // The open upload was counted, so it becomes a file.
    await append(store, uploadId, 0, 100);
    const whole = beginMutation(account.seq, contentOf("whole"), { ...bound, resumableId: uploadId });
    expect((await commitOne(store, whole)).kind).toBe("reserved");
    expect((await commitOne(store, { ...finishOf(whole), resumableId: uploadId })).kind).toBe("uploaded");
    expect((await commitOne(store, begin("four"))).kind).toBe("too_many_files");
    expect((await commitOne(store, deletion(account.seq, first.id))).kind).toBe("deleted");
    expect((await commitOne(store, begin("four"))).kind).toBe("reserved");
    const other = await openAccount(store, 0);
    expect((await commitOne(store, beginMutation(other.seq, contentOf("one"), bound))).kind).toBe("reserved");
  });

  test("retires a blob with its last file, and gives new uploads of the same bytes a new blob", async () => {
    const { store, account } = stage;
    const first = await upload(store, account.seq, "same");
    const second = beginMutation(account.seq, contentOf("same"));
    await store.commit([second]);
    expect(await commitOne(store, deletion(account.seq, first.id))).toEqual({ kind: "deleted" });
    expect(await store.retiredBlobs(10)).toEqual([]);
    expect(await commitOne(store, deletion(account.seq, second.fileId))).toEqual({ kind: "deleted" });
    expect((await store.retiredBlobs(10)).map(({ id }) => id)).toEqual([first.blobId]);
    expect((await upload(store, account.seq, "same")).blobId).not.toBe(first.blobId);
  });

  test("releases the quota of an abandoned upload, and finishes it no more", async () => {
    const { store, account } = stage;
    const begin = beginMutation(account.seq, contentOf("left"));
    await store.commit([begin]);
    expect(await store.leftBlobs(NOW_MS, 10)).toEqual([]);
    expect(await store.leftBlobs(NOW_MS + 1, 10)).toMatchObject([{ id: begin.blobId, life: "reserved" }]);
    const abandon = { mutation: "abandon-upload", accountSeq: account.seq, blobId: begin.blobId, atMs: NOW_MS + 5 } as const;
    expect(await commitOne(store, abandon)).toEqual({ kind: "abandoned" });
    expect(await commitOne(store, abandon)).toEqual({ kind: "gone" });
    expect(await commitOne(store, finishOf(begin))).toEqual({ kind: "gone" });
    expect(await store.uploadedBytes(account.seq)).toBe(0);
    expect((await store.retiredBlobs(10)).map(({ id }) => id)).toEqual([begin.blobId]);
    expect(await store.leftBlobs(NOW_MS + 1, 10)).toEqual([]);
  });

  test("deletes no file of another account, no unknown one and none twice", async () => {
    const { store, account } = stage;
    const file = await upload(store, account.seq, "mine");
    const other = await openAccount(store, 0);
    expect(await commitOne(store, deletion(other.seq, file.id))).toEqual({ kind: "gone" });
    expect(await commitOne(store, deletion(account.seq, newId("file")))).toEqual({ kind: "gone" });
    expect(await commitOne(store, deletion(account.seq, file.id))).toEqual({ kind: "deleted" });
    expect(await commitOne(store, deletion(account.seq, file.id))).toEqual({ kind: "gone" });
    expect(await store.uploadedFile(file.id)).toBeUndefined();
    expect(await store.uploadedFileSeq(file.id, account.seq)).toBe(file.seq);
    expect(await store.uploadedFileSeq(file.id, other.seq)).toBeUndefined();
  });

  test("keeps a file while a generation that takes it is open, and prolongs its retention with each use", async () => {
    const { store, account } = stage;
    const file = await upload(store, account.seq, "input");
    const inputs = [inputOf(file)];
    const expireAtMs = NOW_MS + 30 * DAY_MS;
    const generation = await admit(store, account, { files: { inputs, expireAtMs } });
    expect(await store.inputFilesOf(generation.seq)).toEqual(inputs);
    expect((await store.uploadedFile(file.id))?.expiresAtMs).toBe(expireAtMs);
    await admit(store, account, { files: { inputs, expireAtMs: NOW_MS } });
    expect((await store.uploadedFile(file.id))?.expiresAtMs).toBe(expireAtMs);
    expect(await commitOne(store, deletion(account.seq, file.id))).toEqual({ kind: "in_use" });
    expect(await store.expiredUploads(expireAtMs, 10)).toEqual([]);
    for (const { seq } of await store.openGenerations(0, 10)) await store.commit([releasedMutation(seq, 1)]);
    expect(await store.expiredUploads(expireAtMs - 1, 10)).toEqual([]);
    expect(await store.expiredUploads(expireAtMs, 10)).toEqual([{ id: file.id, accountSeq: account.seq }]);
    const expiry = { ...deletion(account.seq, file.id), isExpired: true } as const;
    expect(await commitOne(store, { ...expiry, atMs: expireAtMs - 1 })).toEqual({ kind: "gone" });
    expect(await commitOne(store, { ...expiry, atMs: expireAtMs })).toEqual({ kind: "deleted" });
  });

  test("forgets deleted files that nothing names, with their blobs, and keeps those that a generation has used", async () => {
    const { store, account } = stage;
    const forget = (fileId: string) => commitOne(store, { mutation: "forget-file", accountSeq: account.seq, fileId });
    const removeBlob = (blobId: string) => commitOne(store, { mutation: "remove-blob", blobId, atMs: NOW_MS + 30 });
    const [unused, used] = [await upload(store, account.seq, "unused"), await upload(store, account.seq, "used")];
    const twin = beginMutation(account.seq, contentOf("unused"));
    await store.commit([twin]);
    const files = { inputs: [inputOf(used)], expireAtMs: NOW_MS + DAY_MS };
    const generation = await admit(store, account, { files, createdAtMs: NOW_MS + 15 });
    await store.commit([releasedMutation(generation.seq, 1)]);
    expect((await forget(unused.id)).kind).toBe("gone");
    for (const id of [unused.id, twin.fileId, used.id]) await store.commit([deletion(account.seq, id, NOW_MS + 20)]);
    expect(await store.forgettableFiles(NOW_MS + 20, 10)).toEqual([]);
    const forgettable = await store.forgettableFiles(NOW_MS + 21, 10);
    expect(forgettable.map(({ id }) => id).sort()).toEqual([unused.id, twin.fileId].sort());
    expect(await store.forgettableFiles(NOW_MS + 21, 1)).toHaveLength(1);
    expect((await forget(used.id)).kind).toBe("gone");
    expect((await forget(unused.id)).kind).toBe("removed");
    expect((await forget(unused.id)).kind).toBe("gone");
    // Another deleted file names the blob until it is forgotten, too.
    expect((await removeBlob(unused.blobId)).kind).toBe("removed");
    expect((await store.blob(unused.blobId))?.life).toBe("retired");
    expect((await forget(twin.fileId)).kind).toBe("removed");
    expect(await store.blob(unused.blobId)).toBeUndefined();
    expect((await removeBlob(used.blobId)).kind).toBe("removed");
    expect((await store.blob(used.blobId))?.life).toBe("retired");
    expect(await store.inputFilesOf(generation.seq)).toEqual([inputOf(used)]);
    // Bytes that no file has named leave no row.
    const left = beginMutation(account.seq, contentOf("left"));
    await store.commit([left, { mutation: "abandon-upload", accountSeq: account.seq, blobId: left.blobId, atMs: NOW_MS }]);
    expect((await removeBlob(left.blobId)).kind).toBe("removed");
    expect(await store.blob(left.blobId)).toBeUndefined();
  });

  test("admits no generation with a file that was deleted meanwhile, and holds nothing for it", async () => {
    const { store, account, balance } = stage;
    const file = await upload(store, account.seq, "input");
    await store.commit([deletion(account.seq, file.id)]);
    const inputs = [inputOf(file)];
    const files = { inputs, expireAtMs: NOW_MS + DAY_MS };
    const outcome = await commitOne(store, admitMutation(account, { files }));
    expect(outcome).toEqual({ kind: "file_deleted", field: "input.video_url" });
    expect(await balance()).toEqual([1000, 0, 0, 0]);
  });

  test("keeps the result files that an open generation takes, beyond their retention", async () => {
    const { store, account } = stage;
    const source = await succeed(store, account);
    const far = NOW_MS + 1000 * DAY_MS;
    expect((await store.expiredFiles(far, 10)).map(({ seq }) => seq)).toEqual([source.seq]);
    const file = { n: 1, field: "input.video_url", kind: "video", fileSeq: null, sourceSeq: source.seq } as const;
    const place = { storageId: source.id, fileNo: 1, sha256: "a".repeat(64), bytes: 10, mime: "video/mp4" };
    const open = await admit(store, account, { files: { inputs: [{ ...file, ...place }], expireAtMs: NOW_MS } });
    expect(await store.expiredFiles(far, 10)).toEqual([]);
    await store.commit([releasedMutation(open.seq, 1)]);
    expect((await store.expiredFiles(far, 10)).map(({ seq }) => seq)).toEqual([source.seq]);
  });

  test("lists the files of an account in pages, newest first, without deleted ones", async () => {
    const { store, account } = stage;
    const all = [];
    for (const seed of ["a", "b", "c", "d"]) all.unshift(await upload(store, account.seq, seed));
    const other = await openAccount(store, 0);
    await upload(store, other.seq, "a");
    expect(await store.uploadedFiles(account.seq, null, NOW_MS, 10)).toEqual(all);
    expect(await store.uploadedFiles(account.seq, null, NOW_MS, 2)).toEqual(all.slice(0, 2));
    await store.commit([deletion(account.seq, all[1]?.id ?? "")]);
    expect(await store.uploadedFiles(account.seq, all[1]?.seq ?? 0, NOW_MS, 10)).toEqual(all.slice(2));
    expect((await store.uploadedFiles(account.seq, null, NOW_MS, 10)).length).toBe(3);
    const { expiresAtMs = 0 } = all[0] ?? {};
    expect((await store.uploadedFiles(account.seq, null, expiresAtMs - 1, 10)).length).toBe(3);
    expect(await store.uploadedFiles(account.seq, null, expiresAtMs, 10)).toEqual([]);
  });
};
