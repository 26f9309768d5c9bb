// Signs and verifies short-lived links to result files (HMAC-SHA256).
//
// A link opens one file of one generation until its expiry.
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";

export type LinkOptions = {
  /** Signing key in hex, at least 32 bytes. */
  secretHex: string;
  /** The previous key; its links remain valid until they expire. */
  formerSecretHex?: string;
  /** Address of the service without a trailing slash; evaluated for each link. */
  baseUrl: () => string;
  /** Maximum validity of a link, seconds. */
  validS: number;
  clock: Pick<Clock, "nowMs">;
};

export type LinkVerdict = "good" | "expired" | "bad";

export interface Links {
  /**
   * An absolute URL of file `n` (from 1) of a generation or of an uploaded file. The URL is identical for up to one twelfth of its
   * lifetime.
   * @param extension the end of its path, e.g. `.png`, which the signature does not cover
   */
  sign(id: string, n: number, extension?: string): string;
  /** Identifies the current signing interval; links are identical while it does not change. */
  age(): string;
  /** Verifies the query parameters of a link. `expired` is returned only for links that were valid. */
  check(generationId: string, n: number, exp: string, kid: string, sig: string): LinkVerdict;
}

const VERSION = "1";
/** Binds a signature to its purpose, so that signatures of other features do not open files and vice versa. */
const PURPOSE = "file";
/** Maximum number of cached links between two polls; each takes a few hundred bytes. */
const MAX_REMEMBERED = 20_000;

type Key = { kid: string; secret: Buffer };

const keyOf = (hex: string): Key => {
  const secret = Buffer.from(hex, "hex");
  if (secret.length < 32 || secret.length * 2 !== hex.length) throw new RangeError("a link key is at least 32 bytes in hex");
  // The id is derived from the key, so it needs no storage. A MAC reveals nothing about its key.
  const kid = new Bun.CryptoHasher("sha256", secret).update("genrouter link key id").digest("base64url").slice(0, 8);
  return { kid, secret };
};

const signature = (key: Key, generationId: string, n: number, exp: string): string =>
  new Bun.CryptoHasher("sha256", key.secret).update([VERSION, PURPOSE, generationId, n, exp].join("|")).digest("base64url");

/** Compares texts of equal length in constant time. The text is compared, because two texts can decode to the same bytes. */
const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** Creates the signer and verifier. @throws RangeError if a key is too short */
export const createSignedLinks = ({ secretHex, formerSecretHex, baseUrl, validS, clock }: LinkOptions): Links => {
  const key = keyOf(secretHex);
  const keys = [key, ...(formerSecretHex === undefined ? [] : [keyOf(formerSecretHex)])];
  // Polls within one step (5 min of 60) return the same link, so that a client receives one stable URL.
  const stepS = Math.max(1, Math.floor(validS / 12));
  let rememberedExp = "";
  const remembered = new Map<string, string>();
  // The clock of this component never runs backwards, so setting the system clock back does not revive a link.
  let latestMs = 0;
  const nowMs = () => {
    latestMs = Math.max(latestMs, clock.nowMs());
    return latestMs;
  };

  const expiry = () => String(Math.floor(nowMs() / 1000 / stepS) * stepS + validS);

  return {
    age: () => `${baseUrl()} ${expiry()}`,
    sign: (generationId, n, extension = "") => {
      const exp = expiry();
      if (exp !== rememberedExp || remembered.size >= MAX_REMEMBERED) remembered.clear();
      rememberedExp = exp;
      const place = `/files/${generationId}/${n}`;
      let sig = remembered.get(place);
      if (sig === undefined) {
        sig = signature(key, generationId, n, exp);
        remembered.set(place, sig);
      }
      return `${baseUrl()}${place}${extension}?exp=${exp}&kid=${key.kid}&sig=${sig}`;
    },
    check: (generationId, n, exp, kid, sig) => {
      const signer = keys.find((each) => each.kid === kid);
      if (!signer || !/^[1-9][0-9]{0,11}$/.test(exp)) return "bad";
      if (!isSame(sig, signature(signer, generationId, n, exp))) return "bad";
      const leftMs = Number(exp) * 1000 - nowMs();
      if (leftMs <= 0) return "expired";
      // A link with a longer lifetime than the maximum was signed under another configuration.
      return leftMs > validS * 1000 ? "bad" : "good";
    },
  };
};
