// The only way out of this room: a GET whose every hop is vetted and which connects to the very address that was vetted.
import type { AllowsHost } from "./host-allowlist.ts";
import { literalAddress, type Resolve, systemResolve, type Vetted, vetAddresses, vetUrl } from "./ssrf-guard.ts";

export type FetchOptions = {
  headers?: Record<string, string>;
  /** What opens a file at an address; asked anew at every hop, so that no redirect takes a credential along. */
  keyFor?: (address: string) => Record<string, string>;
  /** Ends everything: look-up, connection and body. */
  signal: AbortSignal;
  allows: AllowsHost;
  resolve?: Resolve;
  /** A certificate authority to trust instead of the machine's, PEM. */
  ca?: string;
  /** Only for the control test, which shows that without the guard the forbidden listener would be reached. */
  guard?: "off";
};

export type Fetched =
  /** Whatever the server said, its body still on the wire: read it bounded, or cancel it. */
  { kind: "answered"; response: Response } | { kind: "forbidden"; why: string } | { kind: "unreachable"; why: string };

/** Redirects followed by hand; a longer chain is not followed. */
const MOST_REDIRECTS = 3;
/** Of a name with many addresses, how many are tried. */
const MOST_ADDRESSES = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A look-up cannot be called off, so it races the deadline; what it finds later is dropped. */
const beforeEnd = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((fulfil, reject) => {
    const stop = () => reject(new Error("the time is over"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(fulfil, reject).finally(() => signal.removeEventListener("abort", stop));
  });

/** Opens the URL at one address: the name travels in `Host` and in TLS, where the certificate is checked against it. */
const connect = (vetted: Vetted, address: string, options: FetchOptions): Promise<Response> => {
  const { url } = vetted;
  const key = options.keyFor?.(url.href) ?? {};
  const port = url.port === "" ? "" : `:${url.port}`;
  const target = `${url.protocol}//${address.includes(":") ? `[${address}]` : address}${port}${url.pathname}${url.search}`;
  const init = {
    // Bodies are taken as they are: what is not decompressed cannot be a decompression bomb.
    headers: {
      Accept: "*/*",
      "Accept-Encoding": "identity",
      "User-Agent": "genrouter",
      ...options.headers,
      ...key,
      Host: url.host,
    },
    redirect: "manual",
    signal: options.signal,
    keepalive: false,
    decompress: false,
    // Only `false` keeps a proxy named in the environment from being used; the types do not know it yet.
    proxy: false,
    tls: {
      ...(literalAddress(url) === undefined ? { serverName: url.hostname } : {}),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    },
  } as const;
  return fetch(target, init as unknown as BunFetchRequestInit);
};

const hop = async (vetted: Vetted, options: FetchOptions): Promise<Fetched> => {
  const resolve = options.resolve ?? systemResolve;
  const unguarded: Vetted = { ...vetted, trusted: true };
  const addresses = await beforeEnd(vetAddresses(options.guard === "off" ? unguarded : vetted, resolve), options.signal).catch(
    () => undefined,
  );
  if (addresses === undefined) return { kind: "unreachable", why: "its host was not found in time" };
  if (!("length" in addresses)) return addresses;
  for (const address of addresses.slice(0, MOST_ADDRESSES)) {
    if (options.signal.aborted) break;
    try {
      return { kind: "answered", response: await connect(vetted, address, options) };
    } catch {
      // The error holds the whole URL, which may be a signed one: it is neither kept nor logged. The next address may do.
    }
  }
  return { kind: "unreachable", why: options.signal.aborted ? "it took too long" : "its server could not be reached" };
};

/**
 * Fetches a URL that somebody else chose. Never throws for anything the outside does.
 * @param text the URL; redirects (at most 3) are vetted like it, each anew.
 */
export const guardedFetch = async (text: string, options: FetchOptions): Promise<Fetched> => {
  const allows = options.guard === "off" ? () => true : options.allows;
  let next = text;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const vetted = vetUrl(next, allows);
    if (vetted.kind === "forbidden") return vetted;
    const fetched = await hop(vetted, options);
    if (fetched.kind !== "answered" || !REDIRECTS.has(fetched.response.status)) return fetched;
    const location = fetched.response.headers.get("location");
    await fetched.response.body?.cancel().catch(() => {});
    if (location === null || !URL.canParse(location, vetted.url.href))
      return { kind: "unreachable", why: "it redirects to nowhere" };
    next = new URL(location, vetted.url).href;
  }
  return { kind: "unreachable", why: `it redirects more than ${MOST_REDIRECTS} times` };
};
