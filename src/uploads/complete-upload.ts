// Makes the file of a resumable upload whose last part is stored: joins the parts, measures the whole and stores it.
import { ApiError } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { ResumableUpload, UploadPart } from "../domain/resumable-mutations.ts";
import type { Files, Incoming } from "../files/port.ts";
import type { MeasureUpload } from "../media/measure-upload.ts";
import type { StoreReads } from "../store/store.ts";
import { createStore, FILE_NO, type StoreUploadDeps } from "./store-upload.ts";
import { withinUploadTime } from "./time-limits.ts";

export type CompleteUploadDeps = StoreUploadDeps & {
  clock: Clock;
  reads: Pick<StoreReads, "uploadParts">;
  storage: Pick<Files, "receive" | "objectOf">;
  /** Reads a stored part from the disk or the bucket; undefined if it is missing. */
  readPart: (part: UploadPart) => Promise<Response | undefined>;
  measure: MeasureUpload;
};

const missingPart = () =>
  new ApiError("server_error", "The service has lost a part of the upload; create a new upload and send the file again.");

/** @returns the id of the file. @throws ApiError as for `POST /v1/files`, `server_error` for a part that is missing */
export const createCompleteUpload = (deps: CompleteUploadDeps) => {
  const { reads, storage, measure, readPart, clock } = deps;
  const store = createStore(deps);

  const copyPart = async (part: UploadPart, incoming: Incoming, hash: Bun.CryptoHasher): Promise<void> => {
    const response = await readPart(part);
    let bytes = 0;
    for await (const chunk of response?.body ?? []) {
      bytes += chunk.length;
      hash.update(chunk);
      await incoming.write(chunk);
    }
    if (bytes !== part.bytes) throw missingPart();
  };

  return async (upload: ResumableUpload): Promise<string> => {
    const { id, seq, accountSeq, bytes } = upload;
    const { signal, end } = withinUploadTime(clock);
    const blobId = newId("blob");
    const hash = new Bun.CryptoHasher("sha256");
    const incoming = await storage.receive(blobId, FILE_NO);
    try {
      for (const part of await reads.uploadParts(seq)) await copyPart(part, incoming, hash);
      const found = await measure({ path: incoming.path, bytes, account: String(accountSeq) }, signal);
      const content = { bytes, sha256: hash.digest("hex"), ...found };
      return await store({ blobId, incoming, content, resumableId: id }, { accountSeq }, signal);
    } finally {
      end();
      await incoming.discard();
    }
  };
};
