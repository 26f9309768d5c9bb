// Id of a database, equal in all copies and derived from its secret.
//
// The id does not reveal the secret.
import { createHmac } from "node:crypto";

const CHARS = 16;

/** Name of the secret from which the id is derived. */
export const LINEAGE = "lineage";
export const lineageFrom = (secretHex: string): string => secretHex.slice(0, CHARS);

/** The id of a database with this secret in `meta`. */
export const lineageOf = (secret: string): string =>
  lineageFrom(createHmac("sha256", Buffer.from(secret, "hex")).update(LINEAGE).digest("hex"));
