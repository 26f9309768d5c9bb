// Whose machine a request comes from, as far as it can be known: the socket's peer, or whom a proxy that is believed names.
import { isIP } from "node:net";
import type { IsWithin } from "../networks.ts";

/** Whether an address is of this machine itself. */
export const isLoopback = (address: string): boolean => /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";

/** What proxies put into a request that came from elsewhere; it does not matter what they say. */
export const isForwarded = ({ headers }: Request): boolean => {
  if (headers.has("forwarded") || headers.has("via") || headers.has("x-real-ip")) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
};

/** The /64 that an IPv6 address is of: one machine has all of it. Other addresses are told as they are. */
const networkOf = (address: string): string => {
  if (!address.includes(":") || /^::ffff:/i.test(address)) return address.replace(/^::ffff:/i, "");
  const [head = "", tail] = address.split("::");
  const first = head.split(":").filter((part) => part !== "");
  const last = (tail ?? "").split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
};

/** @returns the address to count tries by; "" where it is not known */
export type CallerAddress = (request: Request, peer: string | undefined) => string;

/**
 * Proxies on this machine are believed, and those that are `trusted`: each puts the address that it was asked from last into
 * `X-Forwarded-For`, so that it is read from its end, and what stands before the first that is no proxy may be anybody's word.
 */
export const openCallerAddress = (trusted: IsWithin): CallerAddress => {
  const isProxy = (address: string) => isLoopback(address) || trusted(address);
  return (request, peer) => {
    if (peer === undefined) return "";
    let caller = peer;
    const named = (request.headers.get("x-forwarded-for") ?? "").split(",").map((part) => part.trim());
    while (isProxy(caller)) {
      const before = named.pop();
      if (before === undefined || isIP(before) === 0) break;
      caller = before;
    }
    return networkOf(caller);
  };
};
