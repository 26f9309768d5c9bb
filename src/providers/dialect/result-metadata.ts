// Metadata of responses: flags of a safety filter, and whether the provider billed.
import type { Failure } from "../../domain/types.ts";
import type { ProviderResponse } from "../port.ts";
import { seekOf } from "./pointers.ts";

/** Whether a response carries a sign. */
export type Sign = (r: ProviderResponse) => boolean;
const NEVER: Sign = () => false;

type Flag = { at: string | readonly string[]; is?: readonly (string | number | boolean)[] };

/**
 * Whether the provider reports that it withheld a result. One of several files is sufficient: the order is then incomplete, and
 * the replacement is not a result. @throws DialectError
 */
export const withheldFlag = (flags: readonly Flag[] = []): Sign => {
  const signs = flags.map(({ at, is = [true] }) => ({ seek: seekOf(at), words: is.map(String) }));
  return signs.length === 0
    ? NEVER
    : (r) => signs.some(({ seek, words }) => seek(r).some((value) => typeof value !== "object" && words.includes(String(value))));
};

/** Whether a response reports that it was billed. @throws DialectError */
export const billedSign = (pointers: readonly string[] = []): Sign => {
  const seeks = pointers.map((pointer) => seekOf(pointer));
  return (r) => seeks.some((seek) => seek(r).some((value) => typeof value !== "object" && Number(value) > 0));
};

/** Marks a failure that the provider billed nevertheless. The customer is not charged, and the operator is notified. */
export const withBill = <T extends { kind: string }>(outcome: T, isBilled: () => boolean): T => {
  const { failure } = outcome as { failure?: Failure };
  if ((outcome.kind !== "rejected" && outcome.kind !== "failed") || failure === undefined || !isBilled()) return outcome;
  return { ...outcome, failure: { ...failure, isBilled: true } };
};
