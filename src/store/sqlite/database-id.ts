// The lineage of a database: the same in all copies of it and in no other, and it tells nothing of the secret that it is made from.
import { createHmac } from "node:crypto";

const CHARS = 16;

/** What the store's secret of this name is cut to. */
export const LINEAGE = "lineage";
export const lineageFrom = (secretHex: string): string => secretHex.slice(0, CHARS);

/** That of a database whose `meta` has this secret. */
export const lineageOf = (secret: string): string =>
  lineageFrom(createHmac("sha256", Buffer.from(secret, "hex")).update(LINEAGE).digest("hex"));
