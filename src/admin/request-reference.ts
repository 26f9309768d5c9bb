// References: one per wish of the operator, from which ids are made, so that a request sent twice creates once.
import { createHash } from "node:crypto";
import { newId } from "../domain/ids.ts";

const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";
const ID = new RegExp(`^(?:acc|key)_[${BASE32}]{26}$`);

/** A reference that nobody used before; it is the id of what it will create. */
export const newReference = (kind: "acc" | "key"): string => newId(kind);

/** The id that belongs to a reference: the reference itself where it is one of ours, else 128 bits of its hash. */
export const idFor = (kind: "acc" | "key", reference: string): string => {
  if (ID.test(reference) && reference.startsWith(kind)) return reference;
  const hash = createHash("sha256").update(`${kind}\n${reference}`).digest();
  let text = "";
  for (const byte of hash.subarray(0, 26)) text += BASE32.charAt(byte & 31);
  return `${kind}_${text}`;
};
