// Whose machine a request comes from, as far as it can be known: the socket's peer, or whom a proxy on this machine names.
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

/**
 * The address to count tries by. Only a proxy on this machine is believed, and only what it put last into `X-Forwarded-For`: what stands before
 * that may be anybody's word.
 */
export const callerAddress = (request: Request, peer: string | undefined): string => {
  if (peer === undefined) return "";
  const named = request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  const isNamed = isLoopback(peer) && named !== undefined && /^[0-9a-f.:]{2,45}$/i.test(named);
  return networkOf(isNamed ? named : peer);
};
