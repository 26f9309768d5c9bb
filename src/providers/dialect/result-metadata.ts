// What answers say beside their files: flags of a safety filter, and what was billed.
import type { Failure } from "../../domain/types.ts";
import type { ProviderResponse } from "../port.ts";
import { seekOf } from "./pointers.ts";

/** Says whether an answer has what is looked for. */
export type Sign = (r: ProviderResponse) => boolean;
const NEVER: Sign = () => false;

type Flag = { at: string | readonly string[]; is?: readonly (string | number | boolean)[] };

/**
 * Whether the provider says that it withheld something that it made. One file of several is enough: what was ordered is not there, and
 * what stands in its place is no result.
 * @throws DialectFault
 */
export const withheldFlag = (flags: readonly Flag[] = []): Sign => {
  const signs = flags.map(({ at, is = [true] }) => ({ seek: seekOf(at), words: is.map(String) }));
  return signs.length === 0
    ? NEVER
    : (r) => signs.some(({ seek, words }) => seek(r).some((value) => typeof value !== "object" && words.includes(String(value))));
};

/** Whether an answer says that something was billed for it. @throws DialectFault */
export const billedSign = (pointers: readonly string[] = []): Sign => {
  const seeks = pointers.map((pointer) => seekOf(pointer));
  return (r) => seeks.some((seek) => seek(r).some((value) => typeof value !== "object" && Number(value) > 0));
};

/** A failure whose answer says that it was billed all the same: nobody is charged for it, and the operator is told. */
export const withBill = <T extends { kind: string }>(outcome: T, isBilled: () => boolean): T => {
  const { failure } = outcome as { failure?: Failure };
  if ((outcome.kind !== "rejected" && outcome.kind !== "failed") || failure === undefined || !isBilled()) return outcome;
  return { ...outcome, failure: { ...failure, isBilled: true } };
};
