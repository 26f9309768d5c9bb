// Deletes an ended generation at the request of its client: what a person wrote is erased, and its files are deleted.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import type { AdminResult, EraseGeneration, Principal } from "../domain/mutations.ts";
import type { Caller, GenerationRecord } from "../domain/types.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { findOwn } from "./find-own.ts";

/** A backup that may still contain the texts. `expiresAtMs`: when the service deletes it; null: it never does. */
export type OlderBackup = { name: string; takenAtMs: number; expiresAtMs: number | null };
export type Erased = { id: string; erasedAtMs: number; backups: readonly OlderBackup[] };
/** Who deletes: an account, or a limited key for what it submitted. `by` is recorded in the audit log. */
type Eraser = Pick<Caller, "accountId" | "keyId" | "isLimited"> & { by?: Principal };
export type Erase = (id: string, eraser: Eraser) => Promise<Erased>;

export type EraseDeps = {
  reads: Pick<StoreReads, "findGeneration">;
  post: (mutation: EraseGeneration & { by?: Principal }) => Promise<AdminResult>;
  /** Deletes the files of an erased generation. It rejects if storage is unavailable; the file sweeper then repeats it. */
  removeFiles: (generation: Pick<GenerationRecord, "seq" | "id">) => Promise<void>;
  /** The backups that were taken between two times. */
  olderBackups: (fromMs: number, untilMs: number) => readonly OlderBackup[];
  log: Log;
  clock: Pick<Clock, "nowMs">;
};

/** Creates the function that deletes. It throws ApiError `not_found` or `not_ended`. */
export const createErase = ({ reads, post, removeFiles, olderBackups, log, clock }: EraseDeps): Erase => {
  return async (id, eraser) => {
    const { seq, accountSeq, status, completedAtMs, createdAtMs } = await findOwn(reads, id, eraser);
    if (completedAtMs === null)
      return refuse("not_ended", `The generation is ${status}; cancel it or wait until it has ended, then delete it.`);
    const mutation: EraseGeneration = { mutation: "erase-generation", seq, accountSeq, withFiles: true, atMs: clock.nowMs() };
    const outcome = await post(eraser.by ? { ...mutation, by: eraser.by } : mutation);
    if (outcome.kind === "refused") throw new Error(`the store refused an erasure: ${outcome.reason}`);
    if (outcome.count === 1) log("generation erased", { generation_id: id, account_id: eraser.accountId });
    // A response does not wait for unavailable storage: the files are not served any more.
    await removeFiles({ seq, id }).catch(() => undefined);
    const erasedAtMs = (await findOwn(reads, id, eraser)).erasedAtMs ?? mutation.atMs;
    return { id, erasedAtMs, backups: olderBackups(createdAtMs, erasedAtMs) };
  };
};
