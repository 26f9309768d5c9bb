// References of operator requests: ids are derived from them, so a repeated request creates once.
import { createHash } from "node:crypto";
import { newId } from "../domain/ids.ts";

const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";
const ID = new RegExp(`^(?:acc|key)_[${BASE32}]{26}$`);

/** A new unique reference; it becomes the id of the created object. */
export const newReference = (kind: "acc" | "key"): string => newId(kind);

/** The id for a reference: the reference itself if it is a genrouter id, else 128 bits of its hash. */
export const idFor = (kind: "acc" | "key", reference: string): string => {
  if (ID.test(reference) && reference.startsWith(kind)) return reference;
  const hash = createHash("sha256").update(`${kind}\n${reference}`).digest();
  let text = "";
  for (const byte of hash.subarray(0, 26)) text += BASE32.charAt(byte & 31);
  return `${kind}_${text}`;
};
