// The machine that a request comes from: its socket's peer, and whether that stands for somebody else.

/** The address that a request names; over HTTP/1.0 without a Host it names no origin. */
export const urlOf = (request: Request): URL => new URL(request.url, "http://unnamed.invalid");

/** Whether a request names several hosts (RFC 9112, 3.2), which the runtime joins: whoever stands in front may have gone by another one. */
export const namesSeveralHosts = (request: Request): boolean => request.headers.get("host")?.includes(",") === true;

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
