// Checks of an upload that need no byte of it: state of the service, credits and disk space.
import { statfs } from "node:fs/promises";
import { createPlaces } from "../collections/places.ts";
import { refuse } from "../domain/api-errors.ts";
import type { Caller, Credits } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import { BUSY, NO_SPACE } from "./store-upload.ts";

export type UploadAdmissionDeps = {
  reads: Pick<StoreReads, "account">;
  /** The directory that uploads are received in. */
  dir: string;
  /** Whether the service accepts new work. */
  admission: () => "open" | "restarting" | "busy";
  /** The price of the cheapest job of any model; undefined if no model is available. */
  cheapest: () => Credits | undefined;
  limits: { upload_bytes: number };
};

/** Space that uploads leave to the database and to results, bytes. */
const RESERVE_BYTES = 256 * 1024 * 1024;

const usd = (credits: Credits): string => `${(credits / 100).toFixed(2)} USD`;

/** @throws ApiError `restarting`, `busy` */
export const requireOpen = ({ admission }: Pick<UploadAdmissionDeps, "admission">): void => {
  const state = admission();
  if (state === "restarting") refuse("restarting", "The service is starting or about to stop; send the same file again.");
  if (state === "busy") refuse("busy", BUSY);
};

/** @throws ApiError `busy` if the disk has no space for so many bytes */
export const requireSpace = async ({ dir }: Pick<UploadAdmissionDeps, "dir">, bytes: number): Promise<void> => {
  const space = await statfs(dir).catch(() => undefined);
  if (space && space.bavail * space.bsize < bytes + RESERVE_BYTES) refuse("busy", NO_SPACE);
};

/** @throws ApiError `restarting`, `busy`, `insufficient_credits` */
export const createAdmissionCheck =
  (deps: UploadAdmissionDeps) =>
  async ({ accountId }: Pick<Caller, "accountId">, announcedBytes: number): Promise<void> => {
    const { reads, cheapest, limits } = deps;
    requireOpen(deps);
    const { availableCredits = 0, owedCredits = 0 } = (await reads.account(accountId)) ?? {};
    if (owedCredits > 0)
      refuse("insufficient_credits", `${usd(owedCredits)} of debt is open; add at least this amount to upload files.`);
    const leastCredits = cheapest() ?? 1;
    if (availableCredits < leastCredits)
      refuse(
        "insufficient_credits",
        `at least ${usd(leastCredits)} must be available to upload files and ${usd(availableCredits)} is; add credits.`,
      );
    await requireSpace(deps, Math.min(announcedBytes, limits.upload_bytes));
  };

/**
 * Bounds the requests that receive a file, for each account and in total.
 * @returns the function that takes a place and returns its release. It throws ApiError `concurrency_limit`, `busy`
 */
export const createTakePlace = (most: { ofOwner: number; inAll: number }) => {
  const places = createPlaces<number>(most);
  return (accountSeq: number): (() => void) => {
    const full = places.take(accountSeq);
    if (full === "owner")
      refuse(
        "concurrency_limit",
        `The account is sending ${most.ofOwner} files already; send this one when one of them has arrived.`,
      );
    if (full === "all") refuse("busy", BUSY);
    return () => places.release(accountSeq);
  };
};
