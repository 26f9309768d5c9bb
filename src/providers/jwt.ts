// Tokens for providers that want one per request: a JSON Web Token, signed with the secret half of the operator's key.
import { createHmac } from "node:crypto";

/** Clocks differ: a token counts as valid from this long before it was made. */
const EARLY_S = 5;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * A token of the key's id, signed with its secret (HS256).
 * @param key `ID:SECRET`; a key without a colon is a token itself and is used as it is
 */
export const bearerToken = (key: string, livesS: number, nowMs: number): string => {
  const at = key.indexOf(":");
  if (at < 0) return key;
  const nowS = Math.floor(nowMs / 1000);
  const said = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: key.slice(0, at), exp: nowS + livesS, nbf: nowS - EARLY_S })}`;
  return `${said}.${createHmac("sha256", key.slice(at + 1))
    .update(said)
    .digest("base64url")}`;
};
