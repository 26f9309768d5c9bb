// Fetches external URLs with SSRF protection: every redirect is vetted before the connection.
//
// The request connects to the vetted address itself, so a second DNS response cannot change the target. Every media download and
// every webhook delivery uses this function.
import type { AllowsHost } from "./host-allowlist.ts";
import { literalAddress, type Resolve, systemResolve, type Vetted, vetAddresses, vetUrl } from "./ssrf-guard.ts";

export type FetchOptions = {
  headers?: Record<string, string>;
  /**
   * Headers that authorize the download of a URL. They are requested again for every redirect, so that no redirect carries a
   * credential along.
   */
  keyFor?: (address: string) => Record<string, string>;
  /** Sends this body with POST; absent: a GET. */
  body?: string;
  /** False: a redirect is returned as the response. */
  followsRedirects?: boolean;
  /** Whether the connection may stay open for later requests to the same server. */
  keepsConnection?: boolean;
  /** Aborts the name lookup, the connection and the body. */
  signal: AbortSignal;
  allows: AllowsHost;
  resolve?: Resolve;
  /** A certificate authority (PEM) that is trusted instead of the system's. */
  ca?: string;
  /** Only for the control test, which verifies that the forbidden listener is reachable without the guard. */
  guard?: "off";
};

export type Fetched =
  /** Any response of the server. Its body has not been read; the caller reads it within a bound or cancels it. */
  { kind: "answered"; response: Response } | { kind: "forbidden"; why: string } | { kind: "unreachable"; why: string };

/** Maximum number of redirects; a longer chain is an error. */
const MAX_REDIRECTS = 3;
/** Maximum number of addresses that are tried for one host name. */
const MAX_ADDRESSES = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A name lookup cannot be cancelled, so it races with the signal; a later result is discarded. */
const beforeEnd = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((fulfil, reject) => {
    const stop = () => reject(new Error("the time is over"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(fulfil, reject).finally(() => signal.removeEventListener("abort", stop));
  });

/** Connects to one vetted address. The host name is sent in `Host` and in TLS, which verifies the certificate against it. */
const connect = (vetted: Vetted, address: string, options: FetchOptions): Promise<Response> => {
  const { url } = vetted;
  const key = options.keyFor?.(url.href) ?? {};
  const port = url.port === "" ? "" : `:${url.port}`;
  const target = `${url.protocol}//${address.includes(":") ? `[${address}]` : address}${port}${url.pathname}${url.search}`;
  const init = {
    // Bodies are not decompressed here, so a decompression bomb has no effect.
    headers: {
      Accept: "*/*",
      "Accept-Encoding": "identity",
      "User-Agent": "genrouter",
      ...options.headers,
      ...key,
      Host: url.host,
    },
    ...(options.body === undefined ? {} : { method: "POST", body: options.body }),
    redirect: "manual",
    signal: options.signal,
    keepalive: options.keepsConnection ?? false,
    decompress: false,
    // Only `false` disables a proxy that is set in the environment; Bun's types do not declare this value yet.
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
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    if (options.signal.aborted) break;
    try {
      return { kind: "answered", response: await connect(vetted, address, options) };
    } catch {
      // The error contains the whole URL, which may be signed, so it is neither kept nor logged. The next address may be
      // reachable.
    }
  }
  return { kind: "unreachable", why: options.signal.aborted ? "it took too long" : "its server could not be reached" };
};

/**
 * Fetches a URL from an untrusted source. Returns every network or server failure as a value and never throws for one.
 * @param text the URL; each redirect (at most 3) is vetted in the same way
 */
export const guardedFetch = async (text: string, options: FetchOptions): Promise<Fetched> => {
  const allows = options.guard === "off" ? () => true : options.allows;
  let next = text;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const vetted = vetUrl(next, allows);
    if (vetted.kind === "forbidden") return vetted;
    const fetched = await hop(vetted, options);
    if (fetched.kind !== "answered" || options.followsRedirects === false || !REDIRECTS.has(fetched.response.status))
      return fetched;
    const location = fetched.response.headers.get("location");
    await fetched.response.body?.cancel().catch(() => {});
    if (location === null || !URL.canParse(location, vetted.url.href))
      return { kind: "unreachable", why: "it redirects to nowhere" };
    next = new URL(location, vetted.url).href;
  }
  return { kind: "unreachable", why: `it redirects more than ${MAX_REDIRECTS} times` };
};
