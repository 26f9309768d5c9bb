// Short-lived links to result files: signed addresses that open one file of one generation until a moment.
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";

export type LinkOptions = {
  /** Key that signs, hex, at least 32 bytes. */
  secretHex: string;
  /** The key before it: its links stay good until they expire. */
  formerSecretHex?: string;
  /** Address of the service without a slash at its end; asked anew for each link. */
  baseUrl: () => string;
  /** Seconds a link is valid at most. */
  validS: number;
  clock: Pick<Clock, "nowMs">;
};

export type LinkVerdict = "good" | "expired" | "bad";

export interface Links {
  /** An absolute URL that opens file `n` (from 1) of a generation; the same text for up to a twelfth of its life. */
  sign(generationId: string, n: number): string;
  /** As long as it is the same, so are the links. */
  age(): string;
  /** Judges the parts of a link as they stand in its query. `expired` is said of links that were good once. */
  check(generationId: string, n: number, exp: string, kid: string, sig: string): LinkVerdict;
}

const VERSION = "1";
/** Keeps a signature made here from meaning anything elsewhere, and one made elsewhere from opening files. */
const PURPOSE = "file";
/** Links remembered between two polls; a few hundred bytes each. */
const MOST_REMEMBERED = 20_000;

type Key = { kid: string; secret: Buffer };

const keyOf = (hex: string): Key => {
  const secret = Buffer.from(hex, "hex");
  if (secret.length < 32 || secret.length * 2 !== hex.length) throw new RangeError("a link key is at least 32 bytes in hex");
  // The id is derived from the key, so nothing else has to be kept; a MAC says nothing about its key.
  const kid = new Bun.CryptoHasher("sha256", secret).update("genrouter link key id").digest("base64url").slice(0, 8);
  return { kid, secret };
};

const signature = (key: Key, generationId: string, n: number, exp: string): string =>
  new Bun.CryptoHasher("sha256", key.secret).update([VERSION, PURPOSE, generationId, n, exp].join("|")).digest("base64url");

/** Compares texts of equal length in constant time: as text, since two texts can decode to the same bytes. */
const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** Opens the maker and judge of links. @throws RangeError for keys that are too short. */
export const createSignedLinks = ({ secretHex, formerSecretHex, baseUrl, validS, clock }: LinkOptions): Links => {
  const key = keyOf(secretHex);
  const keys = [key, ...(formerSecretHex === undefined ? [] : [keyOf(formerSecretHex)])];
  // Polls within one step (5 min of 60) hand out the same link, so that a client sees one address and not a new one per poll.
  const stepS = Math.max(1, Math.floor(validS / 12));
  let rememberedExp = "";
  const remembered = new Map<string, string>();
  // Time as judged here never runs backwards: a clock set back does not revive a link.
  let latestMs = 0;
  const nowMs = () => {
    latestMs = Math.max(latestMs, clock.nowMs());
    return latestMs;
  };

  const expiry = () => String(Math.floor(nowMs() / 1000 / stepS) * stepS + validS);

  return {
    age: () => `${baseUrl()} ${expiry()}`,
    sign: (generationId, n) => {
      const exp = expiry();
      if (exp !== rememberedExp || remembered.size >= MOST_REMEMBERED) remembered.clear();
      rememberedExp = exp;
      const place = `/files/${generationId}/${n}`;
      let sig = remembered.get(place);
      if (sig === undefined) {
        sig = signature(key, generationId, n, exp);
        remembered.set(place, sig);
      }
      return `${baseUrl()}${place}?exp=${exp}&kid=${key.kid}&sig=${sig}`;
    },
    check: (generationId, n, exp, kid, sig) => {
      const signer = keys.find((each) => each.kid === kid);
      if (!signer || !/^[1-9][0-9]{0,11}$/.test(exp)) return "bad";
      if (!isSame(sig, signature(signer, generationId, n, exp))) return "bad";
      const leftMs = Number(exp) * 1000 - nowMs();
      if (leftMs <= 0) return "expired";
      // A link that outlives what may be handed out was made under another setting.
      return leftMs > validS * 1000 ? "bad" : "good";
    },
  };
};
