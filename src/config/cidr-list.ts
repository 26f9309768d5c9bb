// Networks as people write them: addresses and prefixes, separated by commas.
import { BlockList, isIP } from "node:net";

/** Whether an address is of them; anything else is not. */
export type IsWithin = (address: string) => boolean;

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** @returns undefined for a text that does not say networks; of an empty one nothing is within */
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

/** The /24 or /48 that an address is of: neighbours that one customer of a provider may have. */
export const networkOf = (address: string): string =>
  address.includes(":") ? `${address.split(":").slice(0, 3).join(":")}::/48` : address.replace(/\.\d+$/, ".0/24");

/** A network that a key is used from. `address`: the first of it that was seen. */
export type KeyNetwork = { keySeq: number; address: string; network: string };
/** Networks of one key that are told apart: with more it is used from everywhere, and another one says nothing. */
export const MOST_KEY_NETWORKS = 100;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;
/** Whether a host is one that only this machine reaches. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);
