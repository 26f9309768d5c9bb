// Derives the client's address and host from a request and its socket.

/** Path and query of a request. The origin is left out, because the client chooses it and over HTTP/1.0 it may be absent. */
export const urlOf = (request: Request): URL =>
  new URL(`http://unnamed.invalid${request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "")}`);

/** A host name or an address, with or without a port. It may be empty over HTTP/1.0 or if the target has no authority. */
const HOST = /^(?:\[[\w:.%~-]+\]|[\w.~%-]*)(?::\d{0,5})?$/;

/**
 * Describes the fault of the Host header (RFC 9112, 3.2); undefined if it is valid. The runtime joins several headers by commas.
 */
export const hostFault = ({ headers }: Request): string | undefined => {
  const host = headers.get("host");
  if (host === null || HOST.test(host)) return undefined;
  // A proxy in front may have routed the request by a different one of the names.
  return host.includes(",") ? "Host: the request names more than one." : "Host: it is not the name of a host.";
};

/** True if the address is a loopback address. */
export const isLoopback = (address: string): boolean => /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";

/** True if a request has a header that proxies add. The value of the header is ignored. */
export const isForwarded = ({ headers }: Request): boolean => {
  if (headers.has("forwarded") || headers.has("via") || headers.has("x-real-ip")) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
};

/** Names that no name server resolves, so that a foreign page cannot be served under them. */
export const isOwnName = (host: string | null): boolean => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? "");

/** The /64 network of an IPv6 address, because one machine controls all of it. Other addresses are returned unchanged. */
export const machineOf = (address: string): string => {
  if (!address.includes(":") || /^::ffff:/i.test(address)) return address.replace(/^::ffff:/i, "");
  const [head = "", tail] = address.split("::");
  const first = head.split(":").filter((part) => part !== "");
  const last = (tail ?? "").split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
};
