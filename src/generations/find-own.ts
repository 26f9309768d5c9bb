// Finds the generation that a caller may change.
import { refuse } from "../domain/api-errors.ts";
import type { Caller } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";

type Found = NonNullable<Awaited<ReturnType<StoreReads["findGeneration"]>>>;

/**
 * A generation of the account; a limited key finds only those that it submitted.
 * @throws ApiError `not_found`, the same for an unknown and a foreign generation
 */
export const findOwn = async (
  reads: Pick<StoreReads, "findGeneration">,
  id: string,
  { accountId, keyId, isLimited }: Pick<Caller, "accountId" | "keyId" | "isLimited">,
): Promise<Found> => {
  const found = await reads.findGeneration(id);
  if (found?.accountId !== accountId || (isLimited && found.key.id !== keyId))
    return refuse("not_found", "No generation with this id on the account.");
  return found;
};
