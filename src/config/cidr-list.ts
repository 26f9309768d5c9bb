// Parses comma-separated lists of IP addresses and CIDR prefixes.
import { BlockList, isIP } from "node:net";

/** Tests whether an address is within a list of networks; false for any other text. */
export type IsWithin = (address: string) => boolean;

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** @returns undefined if the text is not a list of networks; the predicate of an empty list is always false */
export const networksIn = (text: string): IsWithin | undefined => {
  const list = new BlockList();
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "" && text.trim() === "") break;
    const [, address = "", bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(part) ?? [];
    if (isIP(address) === 0 || Number(bits ?? 0) > (isIP(address) === 6 ? 128 : 32)) return undefined;
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
};

/** The /24 or /48 network of an address, which usually belongs to one customer of an internet provider. */
export const networkOf = (address: string): string =>
  address.includes(":") ? `${address.split(":").slice(0, 3).join(":")}::/48` : address.replace(/\.\d+$/, ".0/24");

/**
 * Maximum number of networks recorded per key. A key with more is used from everywhere, and a further network carries no
 * information.
 */
export const MAX_KEY_NETWORKS = 100;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;
/** True if only this machine can reach the host. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);
