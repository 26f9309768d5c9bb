// Where providers may tell that something has happened to a job: an address for each attempt, which only its provider is told.
import { timingSafeEqual } from "node:crypto";

export interface Callbacks {
  /** The address for an attempt; undefined where the service cannot be reached from outside. */
  urlFor(ref: string): string | undefined;
  /** Whether an address was made here. */
  isGenuine(ref: string, mac: string): boolean;
}

/** Keeps a signature made here from meaning anything elsewhere. */
const PURPOSE = "callback";
const MAC_BYTES = 16;

/** @param secretHex signs, at least 32 bytes. @param publicUrl where the service is reached from outside; empty: nowhere */
export const createCallbackUrls = ({ secretHex, publicUrl }: { secretHex: string; publicUrl: string }): Callbacks => {
  const secret = Buffer.from(secretHex, "hex");
  if (secret.length < 32 || secret.length * 2 !== secretHex.length)
    throw new RangeError("a callback key is at least 32 bytes in hex");
  const baseUrl = publicUrl.replace(/\/+$/, "");
  const macOf = (ref: string): string =>
    new Bun.CryptoHasher("sha256", secret).update(`${PURPOSE}|${ref}`).digest().subarray(0, MAC_BYTES).toString("base64url");
  return {
    urlFor: (ref) => (baseUrl === "" ? undefined : `${baseUrl}/callbacks/${ref}/${macOf(ref)}`),
    isGenuine: (ref, mac) => {
      const [ours, theirs] = [Buffer.from(macOf(ref)), Buffer.from(mac)];
      return ours.length === theirs.length && timingSafeEqual(ours, theirs);
    },
  };
};
