// Signs links to pinned inputs and stored files, for providers.
//
// A link opens one copy for one attempt and expires with the time of its route.
import { timingSafeEqual } from "node:crypto";
import { extensionOf } from "./serve.ts";

export interface InputLinks {
  /**
   * @param base the address prefix
   * @param ref the reference of the attempt, `n` the number of the copy
   * @param mime the path ends in the extension of this type; absent: no extension
   */
  sign(base: string, ref: string, n: number, untilMs: number, mime?: string): string;
  /** Verifies the parts of a link. `expired` is returned only for links that were valid. */
  check(ref: string, n: number, exp: string, sig: string): "good" | "expired" | "bad";
}

const VERSION = "1";
const PURPOSE = "input";
/** Maximum lifetime: the longest route, plus the time between signing and submission. */
const MAX_S = 2_400 + 600;

/** @param secretHex the signing key in hex */
export const createSignedInputLinks = (secretHex: string, nowMs: () => number): InputLinks => {
  const secret = Buffer.from(secretHex, "hex");
  const signature = (ref: string, n: number, exp: string): string =>
    new Bun.CryptoHasher("sha256", secret).update([VERSION, PURPOSE, ref, n, exp].join("|")).digest("base64url");
  return {
    sign: (base, ref, n, untilMs, mime) => {
      const exp = String(Math.ceil(untilMs / 1000));
      return `${base}/inputs/${ref}/${n}${mime === undefined ? "" : extensionOf(mime)}?exp=${exp}&sig=${signature(ref, n, exp)}`;
    },
    check: (ref, n, exp, sig) => {
      if (!/^[1-9][0-9]{0,11}$/.test(exp)) return "bad";
      const [right, given] = [Buffer.from(signature(ref, n, exp)), Buffer.from(sig)];
      if (right.length !== given.length || !timingSafeEqual(right, given)) return "bad";
      const leftS = Number(exp) - nowMs() / 1000;
      if (leftS <= 0) return "expired";
      return leftS > MAX_S ? "bad" : "good";
    },
  };
};
