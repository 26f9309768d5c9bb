// The uploaded files of an account: upload, list, read and delete.
//
// A blob is reserved in the store before its bytes get their name, and the file exists when the bytes are durable. So a crash
// leaves no bytes that no row names, and no file without bytes.
import { statfs } from "node:fs/promises";
import { ApiError, refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Caller, Credits } from "../domain/types.ts";
import type { UploadContent, UploadedFile, UploadResult } from "../domain/upload-mutations.ts";
import { type Files, type Incoming, StillStoring, StorageRefused } from "../files/port.ts";
import type { Log } from "../logging/events.ts";
import type { MeasureUpload } from "../media/measure-upload.ts";
import type { StoreReads } from "../store/store.ts";
import { receiveUpload, type UploadBody } from "./receive-upload.ts";

export type UploadServiceDeps = {
  reads: Pick<StoreReads, "account" | "uploadedFile" | "uploadedFiles" | "uploadedFileSeq" | "uploadedBytes">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Clock;
  log: Log;
  storage: Pick<Files, "receive" | "objectOf">;
  /** The directory that uploads are received in. */
  dir: string;
  measure: MeasureUpload;
  /** Whether the service accepts new work. */
  admission: () => "open" | "restarting" | "busy";
  /** The price of the cheapest job of any model; undefined if no model is available. */
  cheapest: () => Credits | undefined;
  limits: { upload_bytes: number; upload_quota_bytes: number; upload_retention_s: number };
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
const PLACES_PER_ACCOUNT = 4;
const PLACES = 64;
/** Maximum duration of an upload. A reserved blob that is older than that, with a margin, is retired by the sweep. */
const UPLOAD_MS = 1_800_000;
/** Space that uploads leave to the database and to results, bytes. */
const RESERVE_BYTES = 256 * 1024 * 1024;

/** A blob has one file. */
const FILE_NO = 1;

const BUSY = "The service is overloaded; send the same file again.";
const NO_SPACE = "The service has no space for the file at present; send it again later.";
const UNKNOWN = "No file with this id on the account.";

const usd = (credits: Credits): string => `${(credits / 100).toFixed(2)} USD`;

/** Bounds concurrent uploads. @returns the function that takes a place and returns its release */
const createPlaces = () => {
  const taken = new Map<number, number>();
  let total = 0;
  return (accountSeq: number): (() => void) => {
    const own = taken.get(accountSeq) ?? 0;
    if (own >= PLACES_PER_ACCOUNT)
      refuse("concurrency_limit", `The account is sending ${own} files already; send this one when one of them has arrived.`);
    if (total >= PLACES) refuse("busy", BUSY);
    taken.set(accountSeq, own + 1);
    total += 1;
    return () => {
      const left = (taken.get(accountSeq) ?? 1) - 1;
      if (left > 0) taken.set(accountSeq, left);
      else taken.delete(accountSeq);
      total -= 1;
    };
  };
};

/** A defect of the service: the store rejected a mutation. */
const unexpected = (outcome: UploadResult): never => {
  throw new Error(`the store answered ${outcome.kind} to an upload${outcome.kind === "refused" ? `: ${outcome.reason}` : ""}`);
};

/** Checks everything that needs no byte of the body. @throws ApiError `restarting`, `busy`, `insufficient_credits` */
const createAdmissionCheck =
  ({ reads, admission, cheapest, dir, limits }: UploadServiceDeps) =>
  async ({ accountId }: Caller, { contentLength }: UploadBody): Promise<void> => {
    const state = admission();
    if (state === "restarting") refuse("restarting", "The service is starting or about to stop; send the same file again.");
    if (state === "busy") refuse("busy", BUSY);
    const { availableCredits = 0, owedCredits = 0 } = (await reads.account(accountId)) ?? {};
    if (owedCredits > 0)
      refuse("insufficient_credits", `${usd(owedCredits)} of debt is open; add at least this amount to upload files.`);
    const leastCredits = cheapest() ?? 1;
    if (availableCredits < leastCredits)
      refuse(
        "insufficient_credits",
        `at least ${usd(leastCredits)} must be available to upload files and ${usd(availableCredits)} is; add credits.`,
      );
    const space = await statfs(dir).catch(() => undefined);
    const announced = Math.min(contentLength ?? 0, limits.upload_bytes);
    if (space && space.bavail * space.bsize < announced + RESERVE_BYTES) refuse("busy", NO_SPACE);
  };

type Received = { blobId: string; incoming: Incoming; content: UploadContent };

/** Makes the bytes durable under the name of the blob. A running upload to the bucket is joined. @throws StorageRefused */
const keep = async ({ incoming, content }: Received, object: string | undefined, signal: AbortSignal): Promise<void> => {
  const { sha256, bytes, mime } = content;
  const file = { n: FILE_NO, sha256, bytes, mime, ...(object === undefined ? {} : { object }) };
  for (;;)
    try {
      return await incoming.keep(file);
    } catch (fault) {
      if (!(fault instanceof StillStoring) || signal.aborted) throw fault;
    }
};

/**
 * Creates the function that names a received file, and stores its bytes unless the account has them already.
 * @returns the id of the file
 */
const createStore = ({ post, clock, storage, limits }: UploadServiceDeps) => {
  const times = () => {
    const atMs = clock.nowMs();
    return { atMs, expiresAtMs: atMs + limits.upload_retention_s * 1000 };
  };
  const quotaBytes = limits.upload_quota_bytes;

  return async (received: Received, { accountSeq }: Caller, signal: AbortSignal): Promise<string> => {
    const { blobId, content } = received;
    const fileId = newId("file");
    const ids = { accountSeq, fileId, blobId };
    const object = storage.objectOf?.({ n: FILE_NO, sha256: content.sha256 }) ?? null;
    const begun = await post({ mutation: "begin-upload", ...ids, content, object, quotaBytes, ...times() });
    if (begun.kind === "uploaded") return fileId;
    if (begun.kind === "quota_exceeded")
      refuse(
        "upload_quota_exceeded",
        `The account stores ${begun.usedBytes} bytes and this file has ${content.bytes}; limits.upload_quota_bytes is ${quotaBytes}. Delete files that are not needed.`,
      );
    if (begun.kind !== "reserved") return unexpected(begun);
    try {
      await keep(received, object ?? undefined, signal);
    } catch (fault) {
      await post({ mutation: "abandon-upload", accountSeq, blobId, atMs: clock.nowMs() });
      throw fault;
    }
    const finished = await post({ mutation: "finish-upload", ...ids, ...times() });
    if (finished.kind === "gone") refuse("busy", BUSY);
    return finished.kind === "uploaded" ? fileId : unexpected(finished);
  };
};

/** Converts faults of our storage and of the store to `busy`; nothing of the file is left. */
const asBusy = (fault: unknown): unknown => {
  if (fault instanceof StoreFull) return new ApiError("busy", BUSY);
  return fault instanceof StorageRefused ? new ApiError("busy", NO_SPACE) : fault;
};

/** Creates the function that receives, measures and stores the file of a request. @returns the id of the file */
const createReceive = (deps: UploadServiceDeps) => {
  const { storage, limits, measure } = deps;
  const store = createStore(deps);
  return async (body: UploadBody, caller: Caller, signal: AbortSignal, onReceived: () => void): Promise<string> => {
    const blobId = newId("blob");
    const incoming = await storage.receive(blobId, FILE_NO);
    try {
      const { bytes, sha256 } = await receiveUpload(body, incoming, limits.upload_bytes);
      onReceived();
      const found = await measure({ path: incoming.path, bytes, account: String(caller.accountSeq) }, signal);
      if (signal.aborted) refuse("invalid_request", "The connection closed before the file was stored.");
      return await store({ blobId, incoming, content: { bytes, sha256, ...found } }, caller, signal);
    } finally {
      await incoming.discard();
    }
  };
};

export const createUploadService = (deps: UploadServiceDeps): UploadService => {
  const { reads, post, clock, log } = deps;
  const takePlace = createPlaces();
  const requireAdmission = createAdmissionCheck(deps);
  const receive = createReceive(deps);

  const find = async (id: string, { accountSeq }: Pick<Caller, "accountSeq">): Promise<UploadedFile> => {
    const file = await reads.uploadedFile(id);
    if (!file || file.accountSeq !== accountSeq || file.expiresAtMs <= clock.nowMs()) return refuse("not_found", UNKNOWN);
    return file;
  };

  return {
    create: async (body, caller, signal, onReceived) => {
      await requireAdmission(caller, body);
      const leave = takePlace(caller.accountSeq);
      try {
        const whole = AbortSignal.any([signal, AbortSignal.timeout(UPLOAD_MS)]);
        const file = await find(await receive(body, caller, whole, onReceived), caller);
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
      const found = await reads.uploadedFiles(accountSeq, beforeSeq, limit + 1);
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
