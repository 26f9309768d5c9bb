// The machine that a request comes from: its socket's peer, and whether that stands for somebody else.

/** Path and query of a request. Its origin is left out: that is the caller's word, and over HTTP/1.0 there may be none. */
export const urlOf = (request: Request): URL =>
  new URL(`http://unnamed.invalid${request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "")}`);

/** A name or an address, with a port or without; over HTTP/1.0, or to nobody by name, it may be empty. */
const HOST = /^(?:\[[\w:.%~-]+\]|[\w.~%-]*)(?::\d{0,5})?$/;

/** What is wrong with the Host of a request (RFC 9112, 3.2); undefined when nothing is. The runtime joins several by commas. */
export const hostFault = ({ headers }: Request): string | undefined => {
  const host = headers.get("host");
  if (host === null || HOST.test(host)) return undefined;
  // Whoever stands in front may have gone by another one of them.
  return host.includes(",") ? "Host: the request names more than one." : "Host: it is not the name of a host.";
};

/** Whether an address is of this machine itself. */
export const isLoopback = (address: string): boolean => /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";

/** What proxies put into a request that came from elsewhere; it does not matter what they say. */
export const isForwarded = ({ headers }: Request): boolean => {
  if (headers.has("forwarded") || headers.has("via") || headers.has("x-real-ip")) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
};

/** Names that no name server answers for, so that no page elsewhere can be made to bear them. */
export const isOwnName = (host: string | null): boolean => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? "");

/** The /64 that an IPv6 address is of: one machine has all of it. Other addresses are told as they are. */
export const machineOf = (address: string): string => {
  if (!address.includes(":") || /^::ffff:/i.test(address)) return address.replace(/^::ffff:/i, "");
  const [head = "", tail] = address.split("::");
  const first = head.split(":").filter((part) => part !== "");
  const last = (tail ?? "").split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
};
