// Compares two secrets in constant time.
import { timingSafeEqual } from "node:crypto";

const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();
/** Compares digests, so that the duration is independent of matching characters and of the length. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
