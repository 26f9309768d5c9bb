// Whether two secrets are one, found out without telling by the time it takes how much of a wrong one is right.
import { timingSafeEqual } from "node:crypto";

const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();
/** Compared by digest, so that it takes as long whatever is right of it, its length included. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
