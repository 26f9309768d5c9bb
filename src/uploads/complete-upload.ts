// Makes the file of a resumable upload whose last part is stored: joins the parts, measures the whole and stores it.
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { ResumableUpload } from "../domain/resumable-mutations.ts";
import type { Files } from "../files/port.ts";
import type { MeasureUpload } from "../media/measure-upload.ts";
import type { StoreReads } from "../store/store.ts";
import { type CopyPartDeps, copyPart } from "./copy-part.ts";
import { createStore, FILE_NO, type StoreUploadDeps } from "./store-upload.ts";
import { withinUploadTime } from "./time-limits.ts";

export type CompleteUploadDeps = StoreUploadDeps &
  CopyPartDeps & {
    clock: Clock;
    reads: Pick<StoreReads, "uploadParts">;
    storage: Pick<Files, "receive" | "objectOf">;
    measure: MeasureUpload;
  };

/** @returns the id of the file. @throws ApiError as for `POST /v1/files`, and the faults of `copyPart` */
export const createCompleteUpload = (deps: CompleteUploadDeps) => {
  const { reads, storage, measure, clock } = deps;
  const store = createStore(deps);

  return async (upload: ResumableUpload): Promise<string> => {
    const { id, seq, accountSeq, bytes } = upload;
    const { signal, end } = withinUploadTime(clock);
    const blobId = newId("blob");
    const hash = new Bun.CryptoHasher("sha256");
    const incoming = await storage.receive(blobId, FILE_NO);
    try {
      for (const part of await reads.uploadParts(seq))
        await copyPart(part, deps, async (chunk) => {
          hash.update(chunk);
          await incoming.write(chunk);
        });
      const found = await measure({ path: incoming.path, bytes, account: String(accountSeq) }, signal);
      const content = { bytes, sha256: hash.digest("hex"), ...found };
      return await store({ blobId, incoming, content, resumableId: id }, { accountSeq }, signal);
    } finally {
      end();
      await incoming.discard();
    }
  };
};
