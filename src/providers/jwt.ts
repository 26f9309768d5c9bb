// JSON Web Tokens for providers that require one token per request.
//
// The secret half of the operator's key signs the token.
import { createHmac } from "node:crypto";

/** Tolerance for clock differences: a token is valid from this long before its creation. */
const EARLY_S = 5;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * Creates an HS256 token for the key's id, signed with the key's secret.
 * @param key `ID:SECRET`; a key without a colon is sent unchanged as the token
 */
export const bearerToken = (key: string, livesS: number, nowMs: number): string => {
  const at = key.indexOf(":");
  if (at < 0) return key;
  const nowS = Math.floor(nowMs / 1000);
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: key.slice(0, at), exp: nowS + livesS, nbf: nowS - EARLY_S })}`;
  return `${text}.${createHmac("sha256", key.slice(at + 1))
    .update(text)
    .digest("base64url")}`;
};
