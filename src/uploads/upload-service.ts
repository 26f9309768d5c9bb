// The uploaded files of an account: upload, list, read and delete.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { Caller } from "../domain/types.ts";
import type { UploadedFile } from "../domain/upload-mutations.ts";
import type { Files } from "../files/port.ts";
import type { Log } from "../logging/events.ts";
import type { MeasureUpload } from "../media/measure-upload.ts";
import type { StoreReads } from "../store/store.ts";
import { createAdmissionCheck, createTakePlace, type UploadAdmissionDeps } from "./admission.ts";
import { receiveUpload, type UploadBody } from "./receive-upload.ts";
import { asBusy, createStore, FILE_NO, type StoreUploadDeps, unexpected } from "./store-upload.ts";
import { withinUploadTime } from "./time-limits.ts";

export type UploadServiceDeps = UploadAdmissionDeps &
  StoreUploadDeps & {
    reads: Pick<StoreReads, "account" | "uploadedFile" | "uploadedFiles" | "uploadedFileSeq" | "uploadedBytes">;
    clock: Clock;
    log: Log;
    storage: Pick<Files, "receive" | "objectOf">;
    measure: MeasureUpload;
    limits: { upload_bytes: number; upload_quota_bytes: number; upload_files: number; upload_retention_s: number };
  };

/** A page of files, newest first. `next`: the cursor of the following page; null at the end. */
export type FilePage = { files: UploadedFile[]; next: string | null };

export type UploadSpace = { usedBytes: number; quotaBytes: number; largestBytes: number };

export type UploadService = {
  /**
   * Stores the file of a request.
   * @param onReceived called when the body has arrived, before the file is measured and stored
   * @throws ApiError `restarting`, `busy`, `insufficient_credits`, `concurrency_limit`, `body_too_large`, `invalid_request`,
   * `invalid_input`, `upload_quota_exceeded`
   */
  create(body: UploadBody, caller: Caller, signal: AbortSignal, onReceived: () => void): Promise<UploadedFile>;
  /** @throws ApiError `not_found`, the same for an unknown file, an expired one and one of another account */
  find(id: string, caller: Pick<Caller, "accountSeq">): Promise<UploadedFile>;
  /** @param after the id of the file before the page; null: the newest. @throws ApiError `invalid_request` for an unknown one */
  list(caller: Pick<Caller, "accountSeq">, after: string | null, limit: number): Promise<FilePage>;
  /** What the files of an account take of its quota, and the largest file that is accepted. */
  space(caller: Pick<Caller, "accountSeq">): Promise<UploadSpace>;
  /** @throws ApiError `not_found`, `file_in_use` */
  remove(id: string, caller: Pick<Caller, "accountSeq">): Promise<void>;
};

/** Maximum number of files that are received concurrently, for each account and in total. */
const PLACES = { ofOwner: 4, inAll: 64 };

const UNKNOWN = "No file with this id on the account.";

/** Creates the function that receives, measures and stores the file of a request. @returns the id of the file */
const createReceive = (deps: UploadServiceDeps) => {
  const { storage, limits, measure, clock } = deps;
  const store = createStore(deps);
  return async (body: UploadBody, caller: Caller, signal: AbortSignal, onReceived: () => void): Promise<string> => {
    const blobId = newId("blob");
    const incoming = await storage.receive(blobId, FILE_NO);
    const time = withinUploadTime(clock, signal);
    try {
      const { bytes, sha256 } = await receiveUpload(body, incoming, { mostBytes: limits.upload_bytes, clock, signal });
      onReceived();
      const found = await measure({ path: incoming.path, bytes, account: String(caller.accountSeq) }, time.signal);
      if (time.signal.aborted) refuse("invalid_request", "The connection closed before the file was stored.");
      return await store({ blobId, incoming, content: { bytes, sha256, ...found } }, caller, time.signal);
    } finally {
      time.end();
      await incoming.discard();
    }
  };
};

export const createUploadService = (deps: UploadServiceDeps): UploadService => {
  const { reads, post, clock, log } = deps;
  const takePlace = createTakePlace(PLACES);
  const requireAdmission = createAdmissionCheck(deps);
  const receive = createReceive(deps);

  const find = async (id: string, { accountSeq }: Pick<Caller, "accountSeq">): Promise<UploadedFile> => {
    const file = await reads.uploadedFile(id);
    if (!file || file.accountSeq !== accountSeq || file.expiresAtMs <= clock.nowMs()) return refuse("not_found", UNKNOWN);
    return file;
  };

  return {
    create: async (body, caller, signal, onReceived) => {
      await requireAdmission(caller, body.contentLength ?? 0);
      const leave = takePlace(caller.accountSeq);
      try {
        const file = await find(await receive(body, caller, signal, onReceived), caller);
        log("file uploaded", { account_id: caller.accountId, file_id: file.id, kind: file.kind, bytes: file.bytes });
        return file;
      } catch (fault) {
        throw asBusy(fault);
      } finally {
        leave();
      }
    },
    find,
    list: async ({ accountSeq }, after, limit) => {
      const beforeSeq = after === null ? null : await reads.uploadedFileSeq(after, accountSeq);
      if (beforeSeq === undefined) return refuse("invalid_request", "after: no file with this id on the account.");
      const found = await reads.uploadedFiles(accountSeq, beforeSeq, clock.nowMs(), limit + 1);
      const files = found.slice(0, limit);
      return { files, next: found.length > limit ? (files.at(-1)?.id ?? null) : null };
    },
    space: async ({ accountSeq }) => ({
      usedBytes: await reads.uploadedBytes(accountSeq),
      quotaBytes: deps.limits.upload_quota_bytes,
      largestBytes: deps.limits.upload_bytes,
    }),
    remove: async (id, caller) => {
      await find(id, caller);
      const atMs = clock.nowMs();
      const outcome = await post({ mutation: "delete-file", accountSeq: caller.accountSeq, fileId: id, atMs });
      if (outcome.kind === "in_use")
        refuse("file_in_use", "A generation that has not ended needs the file; delete it when the generation has ended.");
      if (outcome.kind === "gone") refuse("not_found", UNKNOWN);
      if (outcome.kind !== "deleted") unexpected(outcome);
    },
  };
};
