// Callback URLs: one signed address for each attempt, which only its provider receives.
import { timingSafeEqual } from "node:crypto";

export interface Callbacks {
  /** The callback URL of an attempt; undefined if the service has no public URL. */
  urlFor(ref: string): string | undefined;
  /** Whether this service signed the callback URL. */
  isGenuine(ref: string, mac: string): boolean;
}

/** Domain separation: a signature with this prefix is not valid for any other purpose. */
const PURPOSE = "callback";
const MAC_BYTES = 16;

/**
 * @param secretHex the signing key, at least 32 bytes in hex. @param publicUrl the public base URL of the service; empty if the
 * service has none. @throws RangeError if the key is shorter or is not hex.
 */
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
