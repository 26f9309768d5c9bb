// How metadata of generations is indexed: by digests of name and value.
//
// SQLite moves the keys of an index from page to page, where old bytes of a key can remain after its deletion (see 0006.sql). The texts
// themselves are with the request of the generation.
import { SHA256 } from "bun";

/** Hexadecimal characters of a digest, which is as unlikely to repeat as a random id. */
const DIGEST_CHARS = 32;
const digest = (text: string): string => SHA256.hash(text, "hex").slice(0, DIGEST_CHARS);

/** Name and value as they are in `generation_metadata`. */
export const metadataTerm = (name: string, value: string): [name: string, value: string] => [
  digest(name),
  digest(`${name}=${value}`),
];
