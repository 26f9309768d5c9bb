// Tests the simulation's oracle of uploaded files: it reports each loss of bytes that a file or an open generation needs.
import { expect, test } from "bun:test";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import { createCoverageCounters } from "../../src/torture/simulation/coverage-counters.ts";
import { createFileOracle } from "../../src/torture/simulation/file-oracle.ts";
import { type StoredBytes, sha256Of } from "../../src/torture/simulation/stored-uploads.ts";

const BYTES = new Uint8Array(100);
const FILES = ["a", "b"].map((letter) => `file_${letter.repeat(26)}`);
const [FIRST = "", SECOND = ""] = FILES;
const content = { sha256: sha256Of(BYTES), bytes: BYTES.length };

const openScene = () => {
  const found: string[] = [];
  const stored: StoredBytes = new Map();
  const situations = createCoverageCounters();
  const oracle = createFileOracle({
    nowMs: () => 0,
    stored,
    quotaBytes: 150,
    maxFiles: 2,
    situations,
    fault: (text) => void found.push(text),
  });
  const commit = (mutation: object, kind: string, more: object = {}) =>
    oracle.committed({ accountSeq: 1, expiresAtMs: 1_000, ...mutation } as Mutation, { kind, ...more } as MutationResult);
  const begin = (fileId: string, blobId: string, kind: string, of = content) =>
    commit({ mutation: "begin-upload", fileId, blobId, content: of }, kind);
  const finish = (fileId: string, blobId: string) => commit({ mutation: "finish-upload", fileId, blobId }, "uploaded");
  const upload = () => {
    begin(FIRST, "blob_1", "reserved");
    stored.set("blob_1", BYTES);
    finish(FIRST, "blob_1");
  };
  const take = () =>
    commit(
      {
        mutation: "admit",
        seq: 5,
        id: "gen_a",
        body: `{"video_url":"${FIRST}"}`,
        files: { inputs: [{ n: 1, storageId: "blob_1" }], expireAtMs: 9_000 },
      },
      "admitted",
    );
  const remove = (fileId: string, more: object = {}) =>
    commit({ mutation: "delete-file", fileId, atMs: 5_000, ...more }, "deleted");
  return { found, stored, oracle, commit, begin, finish, upload, take, remove };
};
type Scene = ReturnType<typeof openScene>;

test("accepts an upload, a second file of the same bytes, the deletion of both and the removal of the bytes", () => {
  const { found, stored, oracle, commit, begin, upload, remove } = openScene();
  upload();
  begin(SECOND, "blob_2", "uploaded");
  remove(FIRST);
  expect(oracle.blobs()).toMatchObject([{ id: "blob_1", life: "stored" }]);
  remove(SECOND, { isExpired: true });
  oracle.removing("blob_1");
  stored.delete("blob_1");
  commit({ mutation: "remove-blob", blobId: "blob_1", atMs: 0 }, "removed");
  expect([found, oracle.blobs()]).toEqual([[], []]);
});

test.each<[said: string, play: (scene: Scene) => unknown, found: RegExp]>([
  [
    "a file whose bytes are not durable",
    ({ begin, finish }) => [begin(FIRST, "blob_1", "reserved"), finish(FIRST, "blob_1")],
    /not durable/,
  ],
  [
    "identical bytes that are reserved again",
    ({ upload, begin }) => [upload(), begin(SECOND, "blob_2", "reserved")],
    /stored again/,
  ],
  ["bytes over the quota", ({ begin }) => begin(FIRST, "blob_1", "reserved", { sha256: "x", bytes: 151 }), /over the quota/],
  ["the deletion of a file in use", ({ upload, take, remove }) => [upload(), take(), remove(FIRST)], /needs it/],
  ["an early expiry", ({ upload, remove }) => [upload(), remove(FIRST, { isExpired: true, atMs: 999 })], /expired 1 ms early/],
  ["an admission with a deleted file", ({ upload, remove, take }) => [upload(), remove(FIRST), take()], /is deleted/],
  ["the removal of bytes that a file names", ({ upload, oracle }) => [upload(), oracle.removing("blob_1")], /it is stored/],
  [
    "bytes that are left behind their row",
    ({ upload, remove, commit }) => [upload(), remove(FIRST), commit({ mutation: "remove-blob", blobId: "blob_1" }, "removed")],
    /its bytes are stored/,
  ],
  [
    "a mutation that a constraint rejected",
    ({ commit }) => commit({ mutation: "delete-file", fileId: FIRST }, "refused"),
    /the store refused it/,
  ],
])("reports %s", (_, play, reported) => {
  const scene = openScene();
  play(scene);
  expect(scene.found.join("\n")).toMatch(reported);
});

test("a use prolongs the retention of a file", () => {
  const { found, upload, take, commit, remove } = openScene();
  upload();
  take();
  commit({ mutation: "step", seq: 5 }, "stepped", { record: { completedAtMs: 1 } });
  remove(FIRST, { isExpired: true, atMs: 8_999 });
  expect(found).toEqual([expect.stringContaining("expired 1 ms early")]);
});
