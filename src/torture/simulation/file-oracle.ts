// File oracle: records uploaded files, their blobs and the generations that take them, from committed mutations.
//
// It checks at each commit and each deletion that nothing is removed that a file or an open generation needs.
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import type { InputFile } from "../../domain/types.ts";
import { isUploadMutation, type UploadMutation } from "../../domain/upload-mutations.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { type StoredBytes, sha256Of } from "./stored-uploads.ts";

/** `reserved`: its bytes are not durable yet. `retired`: no file names it, and its bytes may be deleted. */
export type KnownBlob = {
  id: string;
  accountSeq: number;
  sha256: string;
  bytes: number;
  life: "reserved" | "stored" | "retired";
  /** True time. */
  begunAtMs: number;
};
export type KnownFile = { id: string; accountSeq: number; blob: KnownBlob; expiresAtMs: number; isDeleted: boolean };
/** A generation with stored files among its inputs. */
export type TakingGeneration = { id: string; seq: number; fileId: string | null; inputs: readonly InputFile[]; isOpen: boolean };

export type FileOracle = {
  committed(mutation: Mutation, outcome: MutationResult): void;
  /** The bytes of a blob are about to be deleted. */
  removing(blobId: string): void;
  /** The stored file behind the link of an attempt's input, as its provider opens it; undefined: none. */
  input(generationId: string, n: number): { file: InputFile; isOpen: boolean } | undefined;
  isNeeded(fileId: string): boolean;
  files(): ReadonlyMap<string, KnownFile>;
  /** Blobs whose bytes are not marked as deleted. */
  blobs(): readonly KnownBlob[];
  taking(): readonly TakingGeneration[];
};

type Deps = {
  nowMs: () => number;
  stored: StoredBytes;
  quotaBytes: number;
  maxFiles: number;
  situations: CoverageCounters;
  fault: (text: string) => void;
};
/** An upload takes less than this time, so a reservation of this age was left by an ended process. */
const LEFT_MS = 3_600_000;
const FILE_ID = /file_[0-9a-z]{26}/;

/** Follows blobs and files. */
const createFiles = ({ nowMs, stored, quotaBytes, maxFiles, situations, fault }: Deps, isNeeded: (fileId: string) => boolean) => {
  const blobs = new Map<string, KnownBlob>();
  const files = new Map<string, KnownFile>();
  const storedBlob = (accountSeq: number, sha256: string) =>
    [...blobs.values()].find((blob) => blob.life === "stored" && blob.accountSeq === accountSeq && blob.sha256 === sha256);
  const name = (of: { fileId: string; accountSeq: number; expiresAtMs: number }, blob: KnownBlob) => {
    const bytes = stored.get(blob.id);
    if (!bytes || sha256Of(bytes) !== blob.sha256) fault(`${blob.id}: a file names it, and its bytes are not durable`);
    files.set(of.fileId, { id: of.fileId, accountSeq: of.accountSeq, blob, expiresAtMs: of.expiresAtMs, isDeleted: false });
    const own = [...files.values()].filter(({ accountSeq, isDeleted }) => accountSeq === of.accountSeq && !isDeleted);
    if (own.length > maxFiles) fault(`account ${of.accountSeq}: ${own.length} files are over the limit`);
  };
  const used = (accountSeq: number) =>
    [...blobs.values()].reduce(
      (sum, { accountSeq: of, bytes, life }) => sum + (of === accountSeq && life !== "retired" ? bytes : 0),
      0,
    );
  const begun = (mutation: Extract<UploadMutation, { mutation: "begin-upload" }>, isReserved: boolean) => {
    const { accountSeq, blobId: id, content } = mutation;
    const same = storedBlob(accountSeq, content.sha256);
    if (isReserved === (same !== undefined)) fault(`${id}: identical bytes were ${same ? "stored again" : "taken for stored"}`);
    if (same) situations.count("uploadsDeduplicated");
    if (same) return name(mutation, same);
    const { sha256, bytes } = content;
    blobs.set(id, { id, accountSeq, sha256, bytes, life: "reserved", begunAtMs: nowMs() });
    if (used(accountSeq) > quotaBytes) fault(`account ${accountSeq}: ${used(accountSeq)} bytes are over the quota`);
  };
  const finished = (mutation: Extract<UploadMutation, { mutation: "finish-upload" }>) => {
    const blob = blobs.get(mutation.blobId);
    if (!blob) return fault(`${mutation.blobId}: finished, and never begun`);
    const same = storedBlob(blob.accountSeq, blob.sha256);
    blob.life = same ? "retired" : "stored";
    name(mutation, same ?? blob);
  };
  const deleted = ({ fileId, isExpired, atMs }: Extract<UploadMutation, { mutation: "delete-file" }>) => {
    const file = files.get(fileId);
    if (!file || file.isDeleted) return fault(`${fileId}: deleted, and not there`);
    if (isNeeded(fileId)) fault(`${fileId}: deleted while an open generation needs it`);
    if (isExpired && atMs < file.expiresAtMs) fault(`${fileId}: expired ${file.expiresAtMs - atMs} ms early`);
    file.isDeleted = true;
    situations.count(isExpired ? "filesExpired" : "filesRemoved");
    if (![...files.values()].some(({ blob, isDeleted }) => blob === file.blob && !isDeleted)) file.blob.life = "retired";
  };
  const rejected = (blobId: string) => {
    const blob = blobs.get(blobId);
    if (blob) blob.life = "retired";
  };
  const abandoned = (blob: KnownBlob | undefined) => {
    if (blob?.life !== "reserved") return fault(`${blob?.id}: abandoned, and it is ${blob?.life}`);
    blob.life = "retired";
    if (nowMs() - blob.begunAtMs >= LEFT_MS) situations.count("uploadsLeft");
  };
  const committed = (mutation: UploadMutation, { kind }: MutationResult) => {
    if (kind === "too_many_files") situations.count("uploadsOverLimit");
    if (mutation.mutation === "begin-upload" && (kind === "uploaded" || kind === "reserved"))
      begun(mutation, kind === "reserved");
    else if (mutation.mutation === "finish-upload" && kind === "uploaded") finished(mutation);
    else if (mutation.mutation === "finish-upload" && kind === "too_many_files") rejected(mutation.blobId);
    else if (mutation.mutation === "abandon-upload" && kind === "abandoned") abandoned(blobs.get(mutation.blobId));
    else if (mutation.mutation === "delete-file" && kind === "deleted") deleted(mutation);
    else if (mutation.mutation === "remove-blob" && kind === "removed") {
      if (stored.has(mutation.blobId)) fault(`${mutation.blobId}: marked as deleted, and its bytes are stored`);
      blobs.delete(mutation.blobId);
    }
  };
  return { blobs, files, committed };
};

export const createFileOracle = (deps: Deps): FileOracle => {
  const { fault } = deps;
  const taking = new Map<number, TakingGeneration>();
  const isNeeded = (fileId: string) => [...taking.values()].some((one) => one.isOpen && one.fileId === fileId);
  const { blobs, files, committed } = createFiles(deps, isNeeded);

  const admitted = ({ seq, id, body, files: taken }: Extract<Mutation, { mutation: "admit" }>) => {
    if (!taken) return;
    const fileId = FILE_ID.exec(body)?.[0] ?? null;
    taking.set(seq, { id, seq, fileId, inputs: taken.inputs, isOpen: true });
    const file = fileId === null ? undefined : files.get(fileId);
    if (fileId !== null && (!file || file.isDeleted)) fault(`${id}: admitted with ${fileId}, which is deleted`);
    if (file) file.expiresAtMs = Math.max(file.expiresAtMs, taken.expireAtMs);
  };
  return {
    committed: (mutation, outcome) => {
      if (isUploadMutation(mutation) && outcome.kind === "refused")
        fault(`${mutation.mutation}: the store refused it: ${outcome.reason}`);
      if (outcome.kind === "file_deleted") deps.situations.count("filesDeletedMeanwhile");
      if (mutation.mutation === "admit" && outcome.kind === "admitted") admitted(mutation);
      else if (mutation.mutation === "step" && outcome.kind === "stepped") {
        const one = taking.get(mutation.seq);
        if (one && outcome.record.completedAtMs !== null) one.isOpen = false;
      } else committed(mutation as UploadMutation, outcome);
    },
    removing: (blobId) => {
      const blob = blobs.get(blobId);
      if (blob && blob.life !== "retired") fault(`${blobId}: its bytes are deleted, and it is ${blob.life}`);
      for (const { id, inputs, isOpen } of taking.values())
        if (isOpen && inputs.some(({ storageId }) => storageId === blobId)) fault(`${id}: the bytes of its input are deleted`);
    },
    input: (generationId, n) => {
      const one = [...taking.values()].find(({ id }) => id === generationId);
      const file = one?.inputs.find((input) => input.n === n);
      return one && file && { file, isOpen: one.isOpen };
    },
    isNeeded,
    files: () => files,
    blobs: () => [...blobs.values()],
    taking: () => [...taking.values()],
  };
};
