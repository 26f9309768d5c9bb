// Links to copies of pinned inputs, for providers: each opens one copy for one attempt, until the time of its route is over.
import { timingSafeEqual } from "node:crypto";

export interface InputLinks {
  /** @param base address that it begins with. @param ref the reference of the attempt that it is for, `n` the number of the copy */
  sign(base: string, ref: string, n: number, untilMs: number): string;
  /** Judges the parts of a link. `expired` is said of links that were good once. */
  check(ref: string, n: number, exp: string, sig: string): "good" | "expired" | "bad";
}

const VERSION = "1";
const PURPOSE = "input";
/** No route takes longer, and a link is made a moment before its attempt is sent. */
const LONGEST_S = 2_400 + 600;

/** @param secretHex key that signs, hex */
export const createSignedInputLinks = (secretHex: string, nowMs: () => number): InputLinks => {
  const secret = Buffer.from(secretHex, "hex");
  const signature = (ref: string, n: number, exp: string): string =>
    new Bun.CryptoHasher("sha256", secret).update([VERSION, PURPOSE, ref, n, exp].join("|")).digest("base64url");
  return {
    sign: (base, ref, n, untilMs) => {
      const exp = String(Math.ceil(untilMs / 1000));
      return `${base}/inputs/${ref}/${n}?exp=${exp}&sig=${signature(ref, n, exp)}`;
    },
    check: (ref, n, exp, sig) => {
      if (!/^[1-9][0-9]{0,11}$/.test(exp)) return "bad";
      const [right, given] = [Buffer.from(signature(ref, n, exp)), Buffer.from(sig)];
      if (right.length !== given.length || !timingSafeEqual(right, given)) return "bad";
      const leftS = Number(exp) - nowMs() / 1000;
      if (leftS <= 0) return "expired";
      return leftS > LONGEST_S ? "bad" : "good";
    },
  };
};
